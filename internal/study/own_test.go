package study

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// ownOptions is a small study on two sets.
func ownOptions(t *testing.T) Options {
	data := smallData(t, "uci", "enron")
	return Options{
		Own:   &Own{Data: []string{"uci", "enron"}, Models: []string{"jodie", "dyrep"}},
		Seeds: 2, Epochs: 2, Out: t.TempDir(), DataDir: data, Device: "cpu", Threads: 2, Jobs: 2, Version: "of a test",
	}
}

func ownDocument(t *testing.T, out string) (d OwnDocument) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(out, "study.json"))
	if err == nil {
		err = json.Unmarshal(raw, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A study has every number once: of each model, data set, seed, setting and kind of negatives, and of the rules; in all
// formats. Done again, it trains nothing.
func TestOwnStudy(t *testing.T) {
	o := ownOptions(t)
	o.Launch = Here
	o.Own.Models = append(o.Own.Models, "edgebank") // which is there anyway
	report, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if n := report.Counted(Done); n != 8 {
		t.Fatalf("%d runs are done, want 8: %+v", n, report.Runs)
	}
	d := ownDocument(t, o.Out)
	seen := map[string]int{}
	for _, c := range d.Cells {
		if c.Model == "jodie" || c.Model == "dyrep" {
			if c.Seed == nil || c.State != Done {
				t.Errorf("%+v: want a seed and the state %s", c, Done)
			}
			seen[c.Data+" "+c.Model+" "+string(c.Scenario)+" "+string(c.Negatives)]++
		}
		if c.AP <= 0 || c.AP > 1 || c.AUC <= 0 || c.AUC > 1 || c.FirstAP == nil {
			t.Errorf("%+v: want AP, AUC and the AP of first meetings", c)
		}
	}
	for key, n := range seen {
		if n != 2 {
			t.Errorf("%s has %d cells, want one for each of 2 seeds", key, n)
		}
	}
	if len(seen) != 2*2*3 { // the sets have no nodes that are new in the test
		t.Errorf("%d kinds of cells, want 12: %v", len(seen), seen)
	}
	if !slices.ContainsFunc(d.Cells, func(c Result) bool { return c.Model == "edgebank" }) ||
		!slices.ContainsFunc(d.Cells, func(c Result) bool { return c.Model == "rule: what comes next" }) {
		t.Error("EdgeBank or a rule of audits is missing")
	}
	for _, ending := range Formats {
		raw, err := os.ReadFile(filepath.Join(o.Out, "study"+ending))
		if err != nil || !strings.Contains(string(raw), "dyrep") {
			t.Errorf("study%s: %v, or without a model", ending, err)
		}
	}
	for _, c := range d.Runs {
		if !strings.Contains(c.Command, "dygmamba train --data ") || len(c.Hashes) == 0 {
			t.Errorf("%+v: want a command and hashes", c)
		}
	}
	tex, _ := os.ReadFile(filepath.Join(o.Out, "study.tex"))
	if !strings.Contains(string(tex), `\textbf{`) || !strings.Contains(string(tex), `\underline{`) {
		t.Error("study.tex marks no best and no second")
	}
	o.Launch = func(context.Context, Order, func(News)) error {
		t.Error("something was done again")
		return nil
	}
	if _, err := Run(t.Context(), o); err != nil {
		t.Error(err)
	}
}

// Batches of the same test are compared in pairs: a model with itself shows no difference.
func TestOwnPairs(t *testing.T) {
	o := ownOptions(t)
	o.Own.Data, o.Seeds, o.Launch = []string{"uci"}, 1, Here
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	for _, p := range ownDocument(t, o.Out).Parts {
		if p.ID != "on-uci" {
			continue
		}
		columns := p.Tables[0].Columns
		i, found := slices.Index(columns, "difference"), 0
		for _, row := range p.Tables[0].Rows {
			if i > 0 && row[i].Value != nil && !math.IsNaN(*row[i].Value) {
				found++
			}
		}
		if found < 5 { // the other model, EdgeBank, three rules at least
			t.Errorf("%d rows have a paired difference: %v", found, columns)
		}
		return
	}
	t.Error("no part about uci")
}

// Of several settings the one that does best on validation data is shown, whatever the test says.
func TestOwnTrials(t *testing.T) {
	o := ownOptions(t)
	o.Own.Data, o.Own.Models, o.Seeds, o.Launch = []string{"uci"}, []string{"jodie"}, 1, Here
	o.Own.Axes = []run.Axis{{Key: "learning_rate", Values: []string{"0.0001", "0.000001", "0.003"}}}
	report, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if n := report.Counted(Done); n != 3 {
		t.Fatalf("%d runs are done, want 3", n)
	}
	records, err := ReadRecords(o.Out)
	if err != nil || len(records) != 3 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	best := slices.MaxFunc(records, func(a, b Record) int {
		return int(math.Copysign(1, a.Result.Val.AP-b.Result.Val.AP))
	})
	for _, c := range ownDocument(t, o.Out).Cells {
		if c.Model != "jodie" || c.Scenario != protocol.Transductive || c.Negatives != protocol.RandomNegatives {
			continue
		}
		if want := best.Result.Results[0].AP; c.AP != want {
			t.Errorf("AP %v with %v is shown, want that of the best validation, %v", c.AP, c.Settings, want)
		}
		return
	}
	t.Error("jodie has no cell")
}

// Where the budget is a time, every training gets the same, and what is interrupted goes on with what is left of it.
func TestOwnEqualTime(t *testing.T) {
	o := ownOptions(t)
	o.Epochs, o.Budget, o.Jobs = 0, 40*time.Minute, 1
	var mu sync.Mutex
	given := map[string][]float64{}
	o.Launch = func(_ context.Context, order Order, _ func(News)) error {
		mu.Lock()
		defer mu.Unlock()
		id := order.Tasks[0].Job.id()
		given[id] = append(given[id], order.Tasks[0].MaxTime)
		return nil
	}
	plan, err := Preview(t.Context(), o)
	if err != nil || math.Abs(plan.Share-300) > 1 {
		t.Fatalf("the plan gives every training %v s, want a share of 300: %v", plan.Share, err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	// Nothing is ever trained, so that rounds would go on: the first one says enough.
	launch := o.Launch
	o.Launch = func(c context.Context, order Order, tell func(News)) error {
		if launch(c, order, tell); len(given) == 8 {
			stop()
		}
		return nil
	}
	if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for id, list := range given {
		if math.Abs(list[0]-298) > 4 {
			t.Errorf("%s had %v s, want nearly 300 as all others", id, list)
		}
	}
}

// Models that cannot be compared under equal conditions are refused before anything is trained.
func TestOwnRefusals(t *testing.T) {
	for name, change := range map[string]func(o *Options){
		"no model \"nonsense\"":    func(o *Options) { o.Own.Models = []string{"nonsense"} },
		"one model that learns":    func(o *Options) { o.Own.Models = []string{"edgebank"} },
		"dyrep is named twice":     func(o *Options) { o.Own.Models = []string{"dyrep", "dyrep"} },
		"has no preset \"quick\"":  func(o *Options) { o.Own.Preset = "quick" },
		"two data sets are called": func(o *Options) { o.Own.Data = []string{"uci", "uci"} },
		"countnet learns the task": func(o *Options) { o.Own.Models = []string{"countnet"} },
		"at least one data set":    func(o *Options) { o.Own.Data = nil },
	} {
		o := ownOptions(t)
		change(&o)
		if _, err := Preview(t.Context(), o); !errors.Is(err, ErrName) || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want an error that says %s", err, name)
		}
	}
}
