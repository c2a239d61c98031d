package report

import (
	"errors"
	"math"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// A page about a run of the task next: the test comes out as the run has noted it, and shares sum to 1.
func TestNext(t *testing.T) {
	set, err := dataset.Periodic(dataset.PeriodicOptions{Events: 900, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	o := dygmamba.TrainOptions{Set: set, Task: protocol.Next, Dir: t.TempDir(), Seeds: []uint64{0, 1},
		Settings: []string{"num_epochs=2", "rate_trees=4", "hidden_dim=8"}}
	sum, err := dygmamba.Train(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	dir := run.SeedDir(o.Dir, 0)
	if _, err := predict.Load(dir, predict.Options{Set: set}); !errors.Is(err, predict.ErrNext) {
		t.Fatalf("a model of the task next was loaded for links: %v", err)
	}
	c, err := predict.LoadChooser(dir, predict.Options{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := Make(t.Context(), Options{Dir: dir, Set: set, Chooser: c, Cases: 3,
		Seeds: []string{dir, run.SeedDir(o.Dir, 1)}})
	if err != nil {
		t.Fatal(err)
	}
	n := r.Next
	if noted := sum.Runs[0].Next; r.Repeats == nil || !*r.Repeats || n.WhoBits != noted.WhoBits || n.MRR == nil {
		t.Errorf("measured %v bits, noted is %v", n.WhoBits, noted.WhoBits)
	}
	if len(n.Rules) != 3 || n.Judged == 0 || len(n.Surprising) == 0 || len(n.Upcoming) == 0 || len(r.Seeds) != 2 {
		t.Errorf("%d rules, %d of %d events are surprising, %d sources, %d seeds", len(n.Rules), len(n.Surprising),
			n.Judged, len(n.Upcoming), len(r.Seeds))
	}
	for i, x := range n.Surprising {
		if i > 0 && x.Bits > n.Surprising[i-1].Bits || len(x.Reasons) == 0 {
			t.Errorf("event %d carried %v bits, reasons %q", i, x.Bits, x.Reasons)
		}
	}
	for _, x := range n.Upcoming {
		all := x.Others + x.New
		for _, s := range x.Items {
			all += s.Share
		}
		if math.Abs(all-1) > 1e-9 || x.Rate == nil {
			t.Errorf("the shares of %s sum to %v; rate %v", x.U, all, x.Rate)
		}
	}
	checkPage(t, r, exact(n.WhoBits), exact(*n.MRR), "Who is the next destination?", "When does a source act?",
		"The most surprising events", "What comes next", "seed 1", n.Surprising[0].U, n.Upcoming[0].Items[0].I)
}
