package reproduce

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/paper"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/train"
)

// TestMain makes a worker of the test program where it is started as one.
func TestMain(m *testing.M) {
	switch {
	case slices.Contains(os.Args, "die"):
		os.Stderr.WriteString("no more memory, says the driver\n")
		os.Exit(3)
	case slices.Contains(os.Args, "be-a-worker"):
		if err := Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// smallData is a directory with small streams under the names of data sets of the paper.
func smallData(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i, name := range names {
		set, err := dataset.Periodic(dataset.PeriodicOptions{Seed: uint64(i), Sources: 4, Targets: 4, Events: 800})
		if err != nil {
			t.Fatal(err)
		}
		set.Name = name
		if err := dataset.Save(filepath.Join(dir, name+".dgm"), set); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// tally counts the epochs that were trained, by run, and can stop everything after so many.
type tally struct {
	mu     sync.Mutex
	epochs map[string]int
	all    int
	after  int // so many, call stop; 0: never
	stop   func()
}

func (c *tally) launch(inner Launch) Launch {
	return func(ctx context.Context, o Order, tell func(News)) error {
		return inner(ctx, o, func(n News) {
			if n.Epoch != nil {
				c.mu.Lock()
				if c.epochs == nil {
					c.epochs = map[string]int{}
				}
				c.epochs[o.Tasks[n.Task].Job.id()]++
				if c.all++; c.all == c.after {
					c.stop()
				}
				c.mu.Unlock()
			}
			tell(n)
		})
	}
}

func options(t *testing.T, data string) Options {
	return Options{
		Names: []string{"transductive-ap", "inductive-auc", "datasets", "total-time"}, Datasets: []string{"uci", "enron"},
		Models: []string{"jodie", "dyrep", "edgebank"}, Seeds: 2, Epochs: 3, Out: t.TempDir(), DataDir: data, Device: "cpu",
		Threads: 2, Jobs: 2, Version: "of a test",
	}
}

// Interrupted in the middle, it goes on: no epoch is trained twice, and the report is complete.
func TestInterruptedAndResumed(t *testing.T) {
	for name, inner := range map[string]Launch{"here": Here, "processes": Process(os.Args[0], "be-a-worker")} {
		t.Run(name, func(t *testing.T) {
			o := options(t, smallData(t, "uci", "enron"))
			ctx, cancel := context.WithCancel(t.Context())
			count := &tally{after: 5, stop: cancel}
			o.Launch = count.launch(inner)
			first, err := Run(ctx, o)
			if !errors.Is(err, context.Canceled) || first == nil || !first.Stopped {
				t.Fatalf("interrupted: %v, %+v", err, first)
			}
			if first.counted(Done) == len(first.Runs) {
				t.Fatal("all was done before it was interrupted")
			}
			report, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			const runs, epochs = 8, 3 // two models on two data sets with two seeds
			if report.Stopped || len(report.Runs) != runs || report.counted(Done) != runs {
				t.Fatalf("%d of %d runs are done", report.counted(Done), len(report.Runs))
			}
			for id, n := range count.epochs {
				if n != epochs {
					t.Errorf("%s was trained for %d epochs, want %d", id, n, epochs)
				}
			}
			if len(count.epochs) != runs {
				t.Errorf("%d runs were trained, want %d", len(count.epochs), runs)
			}
			o.Launch = func(context.Context, Order, func(News)) error { t.Error("something was done again"); return nil }
			if _, err := Run(t.Context(), o); err != nil {
				t.Error(err)
			}
			complete(t, o, report)
		})
	}
}

// complete compares the report's numbers with the records of the runs.
func complete(t *testing.T, o Options, report *Report) {
	t.Helper()
	table := report.Exhibits[0].Tables[0]
	if want := "model enron, leaking paper off by uci, leaking paper off by"; !strings.HasPrefix(
		strings.Join(table.Columns, " "), want) && !strings.Contains(strings.Join(table.Columns, " "), "uci, leaking") {
		t.Errorf("columns are %q, want %q", table.Columns, want)
	}
	column := slices.Index(table.Columns, "uci, leaking")
	var cell Cell
	for _, row := range table.Rows {
		if row[0].Text == "jodie" {
			cell = row[column]
		}
	}
	sum := 0.0
	for seed := range uint64(2) {
		r, err := train.ReadResult(dygmamba.SeedDir(filepath.Join(o.Out, "runs", "uci-jodie-paper-num_epochs=3"), seed))
		if err != nil {
			t.Fatal(err)
		}
		sum += r.Results[0].AP / 2
	}
	if cell.Value == nil || *cell.Value-sum > 1e-12 || sum-*cell.Value > 1e-12 || cell.Std == nil ||
		!strings.Contains(cell.Text, "(2)") || !strings.Contains(cell.Conditions, "order arrival") {
		t.Errorf("the table has %+v, the runs %v", cell, sum)
	}
	if !exists(filepath.Join(o.Out, filepath.FromSlash(cell.Link), train.ConfigFile)) {
		t.Errorf("%s leads nowhere", cell.Link)
	}
	for _, name := range []string{PageFile, MarkdownFile, ReportFile, PlanFile} {
		raw, err := os.ReadFile(filepath.Join(o.Out, name))
		if err != nil || len(raw) == 0 {
			t.Errorf("%s: %v", name, err)
		}
		if name == MarkdownFile && (!strings.Contains(string(raw), cell.Text) || !strings.Contains(string(raw),
			"at most 3 epochs")) {
			t.Errorf("%s has no %s, or does not say that it is shortened", name, cell.Text)
		}
	}
}

// Runs that were made elsewhere count, if they are what is asked for.
func TestEarlierRuns(t *testing.T) {
	o := options(t, smallData(t, "uci", "enron"))
	o.Names, o.Models, o.Seeds = []string{"transductive-ap"}, []string{"jodie"}, 1
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	again := o
	again.Out, again.Earlier = t.TempDir(), []string{filepath.Join(o.Out, "runs")}
	again.Launch = func(context.Context, Order, func(News)) error { t.Error("something was done again"); return nil }
	report, err := Run(t.Context(), again)
	if err != nil {
		t.Fatal(err)
	}
	if report.counted(Done) != 2 || exists(filepath.Join(again.Out, "runs")) {
		t.Errorf("%d done", report.counted(Done))
	}
	again.Epochs, again.Launch = 2, nil // another schedule is another run
	if report, err = Run(t.Context(), again); err != nil || !exists(filepath.Join(again.Out, "runs",
		"uci-jodie-paper-num_epochs=2")) {
		t.Errorf("%v, %+v", err, report)
	}
}

// A directory that has the right name and the wrong run in it is not a result.
func TestForeignRunIsNoResult(t *testing.T) {
	o := options(t, smallData(t, "uci", "enron"))
	o.Names, o.Models, o.Seeds = []string{"transductive-ap"}, []string{"jodie"}, 1
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(o.Out, "runs", "uci-jodie-paper-num_epochs=3", "seed-0", train.ConfigFile)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	forged := strings.Replace(string(raw), `"learning_rate": 0.0001`, `"learning_rate": 0.0002`, 1)
	if forged == string(raw) {
		t.Fatal("nothing was changed")
	}
	if err := os.WriteFile(file, []byte(forged), 0o644); err != nil {
		t.Fatal(err)
	}
	report, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if report.counted(Done) != 1 || report.counted(Failed) != 1 {
		t.Errorf("%d done, %d failed", report.counted(Done), report.counted(Failed))
	}
	for _, run := range report.Runs {
		if run.State == Failed && !strings.Contains(run.Words, "learning_rate 0.0002 and 0.0001") {
			t.Errorf("it says %s", run.Words)
		}
	}
}

// A worker that dies takes nothing with it but its own run.
func TestWorkerDies(t *testing.T) {
	o := options(t, smallData(t, "uci", "enron"))
	o.Names, o.Seeds = []string{"transductive-ap"}, 1
	dead, alive := Process(os.Args[0], "die"), Launch(Here)
	o.Launch = func(ctx context.Context, order Order, tell func(News)) error {
		if order.Tasks[0].Job.Model == "dyrep" {
			return dead(ctx, order, tell)
		}
		return alive(ctx, order, tell)
	}
	report, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if report.counted(Done) != 2 || report.counted(Failed) != 2 {
		t.Errorf("%d done, %d failed", report.counted(Done), report.counted(Failed))
	}
	for _, run := range report.Runs {
		if run.State == Failed && !strings.Contains(run.Words, "says the driver") {
			t.Errorf("it says %s", run.Words)
		}
	}
}

// What cannot be over within the budget is not begun, and reported as such; the budget is kept.
func TestBudget(t *testing.T) {
	o := options(t, smallData(t, "uci", "enron"))
	o.Models, o.Epochs, o.Seeds = []string{"edgebank", "cawn"}, 0, 1
	o.Budget = 12 * time.Second
	o.Launch = func(context.Context, Order, func(News)) error { t.Error("something was begun"); return nil }
	began := time.Now()
	report, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if time.Since(began) > o.Budget || report.counted(NotBegun) != 2 {
		t.Errorf("took %v, %d not begun", time.Since(began), report.counted(NotBegun))
	}
	for _, run := range report.Runs {
		if run.Expects < 12 || !strings.Contains(run.Words, "not begun; about") {
			t.Errorf("%+v", run)
		}
	}
}

// A budget that ends in the middle keeps the state, and nothing unfinished is a result.
func TestBudgetEndsInTheMiddle(t *testing.T) {
	o := options(t, smallData(t, "uci", "enron"))
	o.Names, o.Models, o.Seeds, o.Jobs, o.Epochs = []string{"transductive-ap"}, []string{"jodie"}, 1, 1, 0
	o.Budget = 10 * time.Second
	o.Launch = func(ctx context.Context, order Order, tell func(News)) error {
		within, cancel := context.WithTimeout(ctx, 700*time.Millisecond) // as if the deadline came now
		defer cancel()
		return Here(within, order, tell)
	}
	report, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if report.counted(Done) == 2 {
		t.Skip("this machine is too fast to be cut off")
	}
	for _, run := range report.Runs {
		if run.State == Unfinished && (!strings.Contains(run.Words, "interrupted after epoch") || !exists(filepath.Join(o.Out,
			filepath.FromSlash(run.Dir), train.LastFile))) {
			t.Errorf("%+v", run)
		}
	}
	for _, row := range report.Exhibits[0].Tables[0].Rows {
		for _, c := range row {
			if strings.HasPrefix(c.Text, "epoch ") && (c.Value != nil || !c.Faint) {
				t.Errorf("an unfinished run is shown as a result: %+v", c)
			}
		}
	}
}

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
			f, ok := models.All[m]
			if !ok {
				t.Errorf("%s: no model %s", e.ID, m)
				continue
			}
			if !f.Trains {
				continue
			}
			for _, d := range e.Datasets {
				for _, p := range append([]paper.Point{{Settings: func(string) []string { return nil }}}, e.Points...) {
					if _, err := f.Spec(preset, model.Data{Name: d}, p.Settings(m)...); err != nil {
						t.Errorf("%s, %s on %s: %v", e.ID, m, d, err)
					}
				}
			}
			if costOf(m) == (cost{350, 5, 50}) {
				t.Errorf("nobody knows what %s costs", m)
			}
		}
	}
}

// A study's point that is the preset is the run that other tables have.
func TestTheSameRunOnce(t *testing.T) {
	data := smallData(t, "enron")
	p, err := Preview(t.Context(), Options{Names: []string{"transductive-ap", "patch-enron"}, Datasets: []string{"enron"},
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

// Results of a training and of the table agree on what is random and what is not.
func TestOrderOfRuns(t *testing.T) {
	data := smallData(t, "uci", "enron")
	p, err := Preview(t.Context(), Options{Names: []string{"all"}, Datasets: []string{"uci", "enron"}, Seeds: 2, Out: t.TempDir(),
		DataDir: data, Device: "cpu", Threads: 2})
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
	if raw, _ := os.ReadFile(filepath.Join(o.Out, PlanFile)); !json.Valid(raw) || !strings.Contains(string(raw), "another") {
		t.Error("it was overwritten")
	}
}
