package eval_test

import (
	"math"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/sample"
)

// due knows when everybody meets.
type due map[meeting]bool

type meeting struct {
	src, dst event.Node
	at       float64
}

func (due) Plan() sample.Plan { return sample.Plan{} }
func (due) RankOnly()         {}

func (is due) Score(b *sample.Batch, out []float32) error {
	for i, q := range b.Queries {
		out[i] = 0
		if is[meeting{q.Src, q.Dst, q.Time}] {
			out[i] = 1
		}
	}
	return nil
}

// TestSynthBound: one in seven random negatives of the synthetic sets is the positive itself, so that knowing every
// meeting is not worth 100.
func TestSynthBound(t *testing.T) {
	for _, name := range []string{"s1", "s2", "s3"} {
		set, err := dataset.Synth(name, dataset.SynthOptions{})
		if err != nil {
			t.Fatal(err)
		}
		split, err := dataset.NewSplit(set.Log, dataset.SplitOptions{})
		if err != nil {
			t.Fatal(err)
		}
		all := due{}
		for i := range set.Log.Len() {
			e := set.Log.At(i)
			all[meeting{e.Src, e.Dst, e.Time}] = true
		}
		for _, part := range []eval.Part{eval.Val, eval.Test} {
			r, err := eval.NewProtocol(split, eval.Options{}).Evaluate(t.Context(), all, part, sample.Random)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s %v: AP %.4f, AUC %.4f", name, part, r.AP, r.AUC)
			if math.Abs(r.AP-0.875) > 0.01 || math.Abs(r.AUC-13./14) > 0.005 {
				t.Errorf("%s %v: AP %.4f, AUC %.4f, want about 0.875 and 0.929", name, part, r.AP, r.AUC)
			}
		}
	}
}

// oracle knows how likely every visit of a stream of habits is, and which have been made today.
type oracle struct {
	*dataset.Routine
	visits map[[2]event.Node][]float64 // times, ascending
}

func (oracle) Plan() sample.Plan { return sample.Plan{} }
func (oracle) RankOnly()         {}

func (o oracle) Score(b *sample.Batch, out []float32) error {
	for i, q := range b.Queries {
		out[i] = float32(o.Rate(q.Src, q.Dst, q.Time))
		met := o.visits[[2]event.Node{q.Src, q.Dst}]
		if k, _ := slices.BinarySearch(met, q.Time); k > 0 && q.Time-met[k-1] < 3*2*o.Spread {
			out[i] = 0 // the same visit is not made twice
		}
	}
	return nil
}

// TestHabitsBound: knowing the routine, but neither the draw of minutes nor the visits that follow none, is worth as
// much as this. docs/PROTOCOL.md has the numbers.
func TestHabitsBound(t *testing.T) {
	set, routine, err := dataset.Habits(dataset.HabitsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	knows := oracle{routine, map[[2]event.Node][]float64{}}
	for i := range set.Log.Len() {
		e := set.Log.At(i)
		pair := [2]event.Node{e.Src, e.Dst}
		knows.visits[pair] = append(knows.visits[pair], e.Time)
	}
	protocol, err := eval.Open(set, eval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		negatives string
		ap, auc   float64
	}{{eval.Time, 0.9819, 0.9875}, {eval.Random, 0.9546, 0.9708}} {
		r, err := protocol.Evaluate(t.Context(), knows, eval.Test, c.negatives)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s negatives: AP %.4f, AUC %.4f of %d", c.negatives, r.AP, r.AUC, r.Positives)
		if math.Abs(r.AP-c.ap) > 0.001 || math.Abs(r.AUC-c.auc) > 0.001 {
			t.Errorf("%s negatives: AP %.4f, AUC %.4f, want %.4f and %.4f", c.negatives, r.AP, r.AUC, c.ap, c.auc)
		}
	}
}
