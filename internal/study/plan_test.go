package study

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/internal/paper"
	"github.com/dygmamba/dygmamba/model"
)

func TestUnknownNames(t *testing.T) {
	for want, o := range map[string]Options{
		"no table or figure \"tabel-1\"":      {Names: []string{"tabel-1"}},
		"there are transductive-ap":           {Names: []string{"nothing"}},
		"no data set \"usi\"":                 {Names: []string{"all"}, Datasets: []string{"usi"}},
		"no model \"dygmama\"":                {Names: []string{"all"}, Models: []string{"dygmama"}},
		"no table or figure was named":        {},
		"did you mean":                        {Names: []string{"transductve-ap"}},
		"the paper has no data set \"myket\"": {Names: []string{"all"}, Datasets: []string{"myket"}},
	} {
		_, err := Preview(t.Context(), o)
		if !errors.Is(err, ErrName) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
}

// Whatever is missing is said, with the command that brings it.
func TestMissingData(t *testing.T) {
	o := options(t, smallData(t, "uci"))
	o.Datasets, o.Models = []string{"uci", "UNtrade", "s1"}, []string{"edgebank"}
	o.Names = append(o.Names, "dtdg-transductive-ap", "synthetic-datasets")
	report, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Missing) != 1 || report.Missing[0].Command != "dygmamba data fetch UNtrade" {
		t.Errorf("missing: %+v", report.Missing)
	}
	raw, err := os.ReadFile(filepath.Join(o.Out, MarkdownFile))
	if err != nil || !strings.Contains(string(raw), "dygmamba data fetch UNtrade") {
		t.Errorf("the report does not say it: %v", err)
	}
	i := slices.IndexFunc(report.Exhibits, func(s Shown) bool { return s.ID == "synthetic-datasets" })
	if rows := report.Exhibits[i].Tables[0].Rows; rows[0][3].Text != "100000" || rows[0][4].Text != "100000" {
		t.Errorf("s1 was not made: %+v", rows)
	}
}

// All exhibits name models and settings that there are.
func TestExhibitsCanBeTrained(t *testing.T) {
	for _, e := range paper.Exhibits() {
		for _, m := range e.Models {
			f, err := model.Find(m)
			if err != nil {
				t.Errorf("%s: %v", e.ID, err)
				continue
			}
			if !f.Trains {
				continue
			}
			for _, d := range e.Datasets {
				for _, p := range append([]paper.Point{{}}, e.Points...) {
					if _, err := f.Spec(preset, model.Data{Name: d}, p.Settings(m)...); err != nil {
						t.Errorf("%s, %s on %s: %v", e.ID, m, d, err)
					}
				}
			}
			if costOf(m).family == "" {
				t.Errorf("nobody knows what %s costs", m)
			}
		}
	}
}

// A study's point that is the preset is the run that other tables have.
func TestTheSameRunOnce(t *testing.T) {
	data := smallData(t, "enron")
	p, err := Preview(t.Context(),
		Options{Names: []string{"transductive-ap", "patch-enron"}, Datasets: []string{"enron"},
			Models: []string{"dygmamba"}, Out: t.TempDir(), DataDir: data, Device: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range p.Runs {
		names = append(names, r.Run)
	}
	slices.Sort(names)
	want := []string{"enron-dygmamba-paper-patch_size=1/seed-0", "enron-dygmamba-paper-patch_size=2/seed-0",
		"enron-dygmamba-paper-patch_size=4/seed-0", "enron-dygmamba-paper/seed-0"}
	if !slices.Equal(names, want) {
		t.Errorf("runs are %q, want %q", names, want)
	}
}

// The most telling runs come first, and all first seeds before all second ones.
func TestOrderOfRuns(t *testing.T) {
	data := smallData(t, "uci", "enron")
	p, err := Preview(t.Context(), Options{Names: []string{"all"}, Datasets: []string{"uci", "enron"}, Seeds: 2,
		Out: t.TempDir(), DataDir: data, Device: "cpu", Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	place := func(run string) int {
		i := slices.IndexFunc(p.Runs, func(r Planned) bool { return r.Run == run })
		if i < 0 {
			t.Fatalf("no run %s", run)
		}
		return i
	}
	for _, pair := range [][2]string{
		{"uci-dygmamba-paper/seed-0", "uci-dygformer-paper/seed-0"},
		{"uci-dygmamba-paper/seed-0", "uci-dygmamba-a-paper/seed-0"},
		{"enron-dygmamba-paper/seed-0", "enron-dygmamba-paper-patch_size=4/seed-0"},
		{"uci-jodie-paper/seed-0", "uci-cawn-paper/seed-0"},
		{"enron-cawn-paper-num_neighbors=256/seed-0", "uci-jodie-paper/seed-1"},
	} {
		if place(pair[0]) > place(pair[1]) {
			t.Errorf("%s comes after %s", pair[0], pair[1])
		}
	}
}

// Records survive a round trip, and files that are none are refused.
func TestPlanFile(t *testing.T) {
	o := options(t, smallData(t, "uci", "enron"))
	o.Names, o.Models = []string{"datasets"}, nil
	if err := os.WriteFile(filepath.Join(o.Out, PlanFile), []byte(`{"format": "another"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "choose another directory") {
		t.Errorf("a foreign file: %v", err)
	}
	raw, _ := os.ReadFile(filepath.Join(o.Out, PlanFile))
	if !json.Valid(raw) || !strings.Contains(string(raw), "another") {
		t.Error("it was overwritten")
	}
}
