package paper

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestStudy(t *testing.T) {
	for _, c := range []struct {
		exhibit, dataset, model, quantity string
		want                              Value
	}{
		{"ablation-transductive", "enron", "dygmamba-e", "inductive", Value{85.42, 0}},
		{"ablation-inductive", "uci", "dygmamba-e", "inductive", Value{74.64, 0}},
		{"efficiency", "SocialEvo", "cawn", "minutes", Value{85.66, 0}},
		{"total-time", "uci", "ctan", "epochs", Value{236, 0}},
		{"node-classification", "reddit", "tgat", "auc", Value{69.31, 2.18}},
		{"neighbor-statistics", "uci", "", "transductive historical mean", Value{261.31, 0}},
		{"canparl-neighbors", "CanParl", "dygmamba", "2048", Value{99.57, 0}},
		{"variant-g", "s2", "dygformer-mamba", "ap", Value{55.13, 0}},
		{"datasets", "mooc", "", "edge features", Value{4, 0}},
		{"synthetic-pairs", "s3", "", "period max", Value{274, 0}},
	} {
		if got, ok := Study(c.exhibit, c.dataset, c.model, c.quantity); !ok || got != c.want {
			t.Errorf("%+v: %+v, %v", c, got, ok)
		}
	}
	for _, name := range [][4]string{
		{"total-time", "SocialEvo", "ctan", "epochs"}, // a timeout
		{"efficiency", "uci", "edgebank", "minutes"},
		{"efficiency", "wikipedia", "dygmamba", "minutes"},
	} {
		if v, ok := Study(name[0], name[1], name[2], name[3]); ok {
			t.Errorf("%v: %+v, want nothing", name, v)
		}
	}
}

// Every number of these tables stands in the paper, and the paper's tables are here whole.
func TestNumbersAreThePapers(t *testing.T) {
	raw, err := os.ReadFile("../../../shared/paper/dygmamba.tex")
	if err != nil {
		t.Skip("the paper is not here:", err)
	}
	text := regexp.MustCompile(`(\d),(\d{3})`).ReplaceAllString(string(raw), "$1$2")
	text = regexp.MustCompile(`(\d),(\d{3})`).ReplaceAllString(text, "$1$2") // millions
	found := map[float64]bool{}
	for _, n := range regexp.MustCompile(`\d+(\.\d+)?`).FindAllString(text, -1) {
		v, err := strconv.ParseFloat(n, 64)
		if err != nil {
			t.Fatal(err)
		}
		found[v] = true
	}
	cells := 0
	for name, table := range map[string]string{"results": resultTable, "studies": studyTable} {
		for i, row := range rows(table) {
			for _, cell := range row[4:] {
				if cell == "" {
					continue
				}
				cells++
				if !found[number(cell)] {
					t.Errorf("%s.csv, row %d: the paper has no %s", name, i+2, cell)
				}
			}
		}
	}
	t.Logf("%d numbers", cells)
	// Rows of the studies are rows of the paper: all numbers of a row come one after the other.
	flat := regexp.MustCompile(`[^\d.]+`).ReplaceAllString(text, " ")
	for _, start := range []string{"ablation-transductive", "ablation-inductive", "efficiency", "total-time"} {
		exhibits, _ := Find(start)
		for _, model := range exhibits[0].Models {
			var line []string
			for _, row := range rows(studyTable) {
				if row[0] == start && row[2] == model {
					if row[4] == "" {
						break
					}
					line = append(line, row[4])
				}
			}
			if want := strings.Join(line, " "); want != "" && !strings.Contains(flat, want) {
				t.Errorf("%s: the paper has no row %s", start, want)
			}
		}
	}
}

func TestExhibits(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range Exhibits() {
		if seen[e.ID] || e.Number == "" || e.Title == "" || e.Kind == "" || len(e.Datasets) == 0 {
			t.Errorf("%+v", e)
		}
		seen[e.ID] = true
		if e.Kind != Links && e.Kind != Labels {
			continue
		}
		for _, d := range e.Datasets {
			for _, m := range e.Models {
				for _, n := range append(slices.Clone(e.Negatives), "auc")[:max(1, len(e.Negatives))] {
					if v, timeout, ok := e.Published(n, d, m); !ok || !timeout && !(20 < v.Mean && v.Mean < 100) {
						t.Errorf("%s, %s, %s, %s: %+v %v", e.ID, n, d, m, v, ok)
					}
				}
			}
		}
	}
	for name, want := range map[string]string{
		"transductive-ap": "transductive-ap", "Table-1": "transductive-ap", "table-5": "synthetic-ap",
		"figure-6": "efficiency-figure",
	} {
		if found, ok := Find(name); !ok || found[0].ID != want {
			t.Errorf("%s is %v", name, found)
		}
	}
	if _, ok := Find("table-9"); ok {
		t.Error("a table of hyper-parameters is no exhibit")
	}
	if all, _ := Find("all"); len(all) != len(seen) {
		t.Errorf("all are %d of %d", len(all), len(seen))
	}
}
