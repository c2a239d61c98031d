package eval_test

import (
	"math"
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
