package dygmamba_test

import (
	"context"
	"math"
	"os"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
)

// TestHawkesIsRecovered learns a process whose rates and probabilities are known: bits come near those of whoever knows
// it, and so do nats and the number of events in windows. DYGMAMBA_HAWKES=1 (make hawkes) learns from more events, and
// asks for more.
func TestHawkesIsRecovered(t *testing.T) {
	days, bitsOff, natsOff, countsOff := 16, 0.35, 0.15, 0.25
	hour := 1 // few steps do not teach what follows within an hour
	settings := []string{"num_epochs=4", "learning_rate=0.005", "num_candidates=10", "hidden_dim=16"}
	if os.Getenv("DYGMAMBA_HAWKES") != "" {
		days, bitsOff, natsOff, countsOff = 400, 0.05, 0.02, 0.02
		settings, hour = []string{"num_epochs=12"}, 0
	}
	set, truth, err := dataset.Hawkes(dataset.HawkesOptions{Days: days})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range model.MadeFor(protocol.Next) {
		dir := t.TempDir()
		if _, err := dygmamba.Train(context.Background(), dygmamba.TrainOptions{Set: set, Model: name, Dir: dir,
			Settings: settings}); err != nil {
			t.Fatal(err)
		}
		c, err := predict.LoadChooser(dir, predict.Options{Set: set})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		p, err := c.Protocol()
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Evaluate(context.Background(), p, eval.NextOptions{Windows: eval.WindowDraws / 10})
		if err != nil {
			t.Fatal(err)
		}
		bits, nats := mean(truth, set, p.Split().Test.Len())
		t.Logf("%s: %.3f bits, the process has %.3f; %.3f nats, the process has %.3f; windows %+v", name, got.WhoBits,
			bits, got.Nats, nats, got.Windows)
		if math.Abs(got.WhoBits-bits) > bitsOff {
			t.Errorf("%s: %v bits, the process has %v", name, got.WhoBits, bits)
		}
		if math.Abs(got.Nats-nats) > natsOff || math.Abs(got.Total.Expected/got.Total.Observed-1) > countsOff {
			t.Errorf("%s: %v nats, the process has %v; %+v events", name, got.Nats, nats, got.Total)
		}
		for _, w := range got.Windows[hour:2] {
			off := math.Abs(w.Source.Expected/w.Source.Observed - 1)
			if off > max(countsOff, 3/math.Sqrt(w.Source.Observed)) {
				t.Errorf("%s: in windows of %v s %v events are expected, %v happened", name, w.Window,
					w.Source.Expected, w.Source.Observed)
			}
		}
	}
}

// mean is what the last n events carry for whoever knows the process: bits of destinations, and nats of times.
func mean(truth *dataset.Truth, set *dataset.Set, n int) (bits, nats float64) {
	all := set.Log.All()
	list, logs := truth.Bits(all)
	from, sources := all.Len()-n, float64(truth.Sources)
	for i := from; i < all.Len(); i++ {
		bits += list[i] / float64(n)
		nats += logs[i] / float64(n)
	}
	// the integral of the rate is about the number of events, which its mean is closest to over the long run
	period := all.Time[all.Len()-1] - all.Time[from]
	return bits, nats + sources*truth.PerDay/(1-truth.Branching)*period/86400/float64(n)
}
