package study

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

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
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

// tally counts the epochs that were trained, by run, and can stop everything after this many.
type tally struct {
	mu     sync.Mutex
	epochs map[string]int
	all    int
	after  int // this many, call stop; 0: never
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
		Names:    []string{"transductive-ap", "inductive-auc", "datasets", "total-time"},
		Datasets: []string{"uci", "enron"}, Models: []string{"jodie", "dyrep", "edgebank"}, Seeds: 2, Epochs: 3,
		Out: t.TempDir(), DataDir: data, Device: "cpu", Threads: 2, Jobs: 2, Version: "of a test",
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
			if first.Counted(Done) == len(first.Runs) {
				t.Fatal("all was done before it was interrupted")
			}
			spentOf(t, o.Out, true)
			report, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			spentOf(t, o.Out, false)
			const runs, epochs = 8, 3 // two models on two data sets with two seeds
			if report.Stopped || len(report.Runs) != runs || report.Counted(Done) != runs {
				t.Fatalf("%d of %d runs are done", report.Counted(Done), len(report.Runs))
			}
			for id, n := range count.epochs {
				if n != epochs {
					t.Errorf("%s was trained for %d epochs, want %d", id, n, epochs)
				}
			}
			if len(count.epochs) != runs {
				t.Errorf("%d runs were trained, want %d", len(count.epochs), runs)
			}
			o.Launch = func(context.Context, Order, func(News)) error {
				t.Error("something was done again")
				return nil
			}
			if _, err := Run(t.Context(), o); err != nil {
				t.Error(err)
			}
			complete(t, o, report)
		})
	}
}

// spentOf says whether a part of the budget is noted as used, which is so after an interruption alone.
func spentOf(t *testing.T, out string, want bool) {
	t.Helper()
	var s stateFile
	raw, err := os.ReadFile(filepath.Join(out, PlanFile))
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	if err != nil || s.Spent > 0 != want {
		t.Errorf("%v s are noted as spent, %v", s.Spent, err)
	}
}

// A classifier comes after its model, and is shown in its own table.
func TestNodeClassification(t *testing.T) {
	dir := t.TempDir()
	log := event.NewLog(0)
	for i := range 1000 {
		e := event.Event{Src: event.Node(100 + i/8), Dst: event.Node(1 + i*7%13), Time: float64(i),
			Label: float32(i % 8 / 7)}
		if _, err := log.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	set := dataset.Featureless("wikipedia", log)
	set.Sampling = protocol.Native
	if err := dataset.Save(filepath.Join(dir, "wikipedia.dgm"), set); err != nil {
		t.Fatal(err)
	}
	o := options(t, dir)
	o.Names, o.Datasets, o.Models, o.Seeds = []string{"node-classification"}, []string{"wikipedia"},
		[]string{"jodie"}, 1
	report, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Runs) != 2 || report.Counted(Done) != 2 {
		t.Fatalf("%+v", report.Runs)
	}
	runDir := filepath.Join(o.Out, "runs", "wikipedia-jodie-paper-node-classification-num_epochs=3")
	r, err := run.ReadResult(run.SeedDir(runDir, 0))
	if err != nil {
		t.Fatal(err)
	}
	row := report.Exhibits[0].Tables[0].Rows[0]
	i := slices.IndexFunc(row, func(c Cell) bool { return c.Value != nil })
	if i < 0 || *row[i].Value != r.Results[0].AUC || row[i+1].Text != "88.10 ± 1.57" {
		t.Errorf("%+v, the run has %v", row, r.Results[0].AUC)
	}
	if run.Exists(filepath.Join(runDir, "link")) {
		t.Error("its model was trained twice")
	}
}

// complete compares the report's numbers with the records of the runs.
func complete(t *testing.T, o Options, report *Report) {
	t.Helper()
	table := report.Exhibits[0].Tables[0]
	if want := "model enron paper off by uci paper off by"; !strings.HasPrefix(strings.Join(table.Columns, " "), want) {
		t.Errorf("columns are %q, want %q", table.Columns, want)
	}
	column := slices.Index(table.Columns, "uci")
	var cell Cell
	for _, row := range table.Rows {
		if row[0].Text == "jodie" {
			cell = row[column]
		}
	}
	sum := 0.0
	for seed := range uint64(2) {
		r, err := run.ReadResult(run.SeedDir(filepath.Join(o.Out, "runs", "uci-jodie-paper-num_epochs=3"), seed))
		if err != nil {
			t.Fatal(err)
		}
		sum += r.Results[0].AP / 2
	}
	if cell.Value == nil || *cell.Value-sum > 1e-12 || sum-*cell.Value > 1e-12 || cell.Std == nil ||
		!strings.Contains(cell.Text, "(2)") || !strings.Contains(cell.Marks, "a") ||
		!strings.Contains(cell.Conditions, "order arrival") {
		t.Errorf("the table has %+v, the runs %v", cell, sum)
	}
	if !run.Exists(filepath.Join(o.Out, filepath.FromSlash(cell.Link), run.ConfigFile)) {
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
	o.Names, o.Models, o.Seeds, o.Into = []string{"transductive-ap"}, []string{"jodie"}, 1, t.TempDir()
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if records, err := ReadRecords(o.Into); len(records) != 2 || err != nil {
		t.Errorf("%d runs were recorded, want 2; %v", len(records), err)
	}
	again := o
	for _, earlier := range []string{filepath.Join(o.Out, "runs"), o.Into} {
		again.Out, again.Earlier = t.TempDir(), []string{earlier}
		again.Launch = func(context.Context, Order, func(News)) error {
			t.Error("something was done again")
			return nil
		}
		report, err := Run(t.Context(), again)
		if err != nil {
			t.Fatal(err)
		}
		if report.Counted(Done) != 2 || run.Exists(filepath.Join(again.Out, "runs")) {
			t.Errorf("%d done", report.Counted(Done))
		}
	}
	again.Epochs, again.Launch = 2, nil // another schedule is another run
	if report, err := Run(t.Context(), again); err != nil || !run.Exists(filepath.Join(again.Out, "runs",
		"uci-jodie-paper-num_epochs=2")) {
		t.Errorf("%v, %+v", err, report)
	}
}

// Another seed of a training is rounded if the first was, and only then; a new training is.
func TestSeedsAreRoundedAlike(t *testing.T) {
	o := options(t, smallData(t, "uci"))
	o.Names, o.Models, o.Seeds, o.Datasets = []string{"transductive-ap"}, []string{"jodie"}, 1, []string{"uci"}
	exact := false
	o.Launch = func(ctx context.Context, order Order, tell func(News)) error {
		exact = order.Exact
		return Here(ctx, order, tell)
	}
	do := func(want bool, done int) {
		t.Helper()
		report, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if exact != want || report.Counted(Done) != done {
			t.Errorf("exact: %v, %d done, want %d", exact, report.Counted(Done), done)
		}
	}
	do(false, 1)
	o.Seeds = 2
	do(true, 2) // as the CPU made the first

	first := filepath.Join(o.Out, "runs", "uci-jodie-paper-num_epochs=3", "seed-0", run.ConfigFile)
	raw, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	rounded := strings.Replace(string(raw), `"by_ap"`, `"tf32": true, "by_ap"`, 1)
	if err := os.WriteFile(first, []byte(rounded), 0o644); err != nil {
		t.Fatal(err)
	}
	o.Seeds = 3
	o.Launch = func(_ context.Context, order Order, _ func(News)) error { exact = order.Exact; return nil }
	do(false, 2) // rounded or not, what is done is done
}

// A directory that has the right name and the wrong run in it is not a result.
func TestForeignRunIsNoResult(t *testing.T) {
	o := options(t, smallData(t, "uci", "enron"))
	o.Names, o.Models, o.Seeds = []string{"transductive-ap"}, []string{"jodie"}, 1
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(o.Out, "runs", "uci-jodie-paper-num_epochs=3", "seed-0", run.ConfigFile)
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
	if report.Counted(Done) != 1 || report.Counted(Failed) != 1 {
		t.Errorf("%d done, %d failed", report.Counted(Done), report.Counted(Failed))
	}
	for _, record := range report.Runs {
		if record.State == Failed && !strings.Contains(record.Words, "learning_rate 0.0002 and 0.0001") {
			t.Errorf("it says %s", record.Words)
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
	if report.Counted(Done) != 2 || report.Counted(Failed) != 2 {
		t.Errorf("%d done, %d failed", report.Counted(Done), report.Counted(Failed))
	}
	for _, record := range report.Runs {
		if record.State == Failed && !strings.Contains(record.Words, "says the driver") {
			t.Errorf("it says %s", record.Words)
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
	if time.Since(began) > o.Budget || report.Counted(NotBegun) != 2 {
		t.Errorf("took %v, %d not begun", time.Since(began), report.Counted(NotBegun))
	}
	for _, record := range report.Runs {
		if record.Expects < 12 || !strings.Contains(record.Words, "not begun; typically") {
			t.Errorf("%+v", record)
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
	if report.Counted(Done) == 2 {
		t.Skip("this machine is too fast to be cut off")
	}
	for _, record := range report.Runs {
		if record.State == Unfinished && (!strings.Contains(record.Words, "interrupted after epoch") ||
			!run.Exists(filepath.Join(o.Out, filepath.FromSlash(record.Dir), run.LastFile))) {
			t.Errorf("%+v", record)
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

// What every interrupted invocation used of the budget counts, not that of the last alone.
func TestSpentAddsUp(t *testing.T) {
	o := options(t, smallData(t, "uci"))
	o.Names, o.Models, o.Datasets, o.Budget = []string{"transductive-ap"}, []string{"jodie"}, []string{"uci"}, time.Hour
	spent := 0.0
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		o.Launch = func(ctx context.Context, _ Order, _ func(News)) error {
			time.Sleep(50 * time.Millisecond)
			cancel()
			return nil
		}
		if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		var s stateFile
		raw, err := os.ReadFile(filepath.Join(o.Out, PlanFile))
		if err == nil {
			err = json.Unmarshal(raw, &s)
		}
		if err != nil || s.Spent < spent+0.05 {
			t.Errorf("%v s are noted as spent after %v s, %v", s.Spent, spent, err)
		}
		spent = s.Spent
	}
}
