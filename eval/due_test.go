package eval_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
)

// due knows when everybody meets: what it gives a meeting is more than 0, and says nothing else.
type due map[meeting]float32

type meeting struct {
	src, dst event.Node
	at       float64
}

func (due) Plan() sample.Plan { return sample.Plan{} }
func (due) RankOnly()         {}

func (is due) Score(b *sample.Batch, out []float32) error {
	for i, q := range b.Queries {
		out[i] = is[meeting{q.Src, q.Dst, q.Time}]
	}
	return nil
}

// TestSynthBound: one in seven random negatives of the synthetic sets is the positive itself, so that knowing every
// meeting is not worth 100.
func TestSynthBound(t *testing.T) {
	for _, name := range []string{"s1", "s2", "s3"} {
		split, meetings := synthetic(t, name)
		all := due{}
		for _, m := range meetings {
			all[m] = 1
		}
		for _, part := range []eval.Part{eval.Val, eval.Test} {
			r := all.measure(t, split, part)
			t.Logf("%s %v: AP %.4f, AUC %.4f", name, part, r.AP, r.AUC)
			if math.Abs(r.AP-0.875) > 0.01 || math.Abs(r.AUC-13./14) > 0.005 {
				t.Errorf("%s %v: AP %.4f, AUC %.4f, want about 0.875 and 0.929", name, part, r.AP, r.AUC)
			}
		}
	}
}

// TestSynthLuck: who knows every meeting and gives no two of them the same score, as models do, has a fifth of a point
// of AP more on average, and by luck up to two thirds. AP is a mean over the beginnings of a ranking, and of a short
// one more than 7 in 8 are right on average.
func TestSynthLuck(t *testing.T) {
	split, meetings := synthetic(t, "s2")
	one := due{}
	for _, m := range meetings {
		one[m] = 1
	}
	alike, draw := one.measure(t, split, eval.Test).AP, rand.New(rand.NewPCG(1, 2))
	mean, least, most := 0., 1., 0.
	const draws = 50
	for range draws {
		apart := due{}
		for _, m := range meetings {
			apart[m] = 1 + draw.Float32()
		}
		more := apart.measure(t, split, eval.Test).AP - alike
		mean, least, most = mean+more/draws, min(least, more), max(most, more)
	}
	t.Logf("%.4f more, %.4f to %.4f", mean, least, most)
	if math.Abs(mean-0.002) > 0.001 || most > 0.01 {
		t.Errorf("%.4f more AP on average, want about 0.002; %.4f at the most, want less than 0.01", mean, most)
	}
}

func synthetic(t *testing.T, name string) (*dataset.Split, []meeting) {
	t.Helper()
	set, err := dataset.Synth(name, dataset.SynthOptions{})
	if err != nil {
		t.Fatal(err)
	}
	split, err := dataset.NewSplit(set.Log, dataset.SplitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	meetings := make([]meeting, set.Log.Len())
	for i := range meetings {
		e := set.Log.At(i)
		meetings[i] = meeting{e.Src, e.Dst, e.Time}
	}
	return split, meetings
}

func (is due) measure(t *testing.T, split *dataset.Split, part eval.Part) eval.Result {
	t.Helper()
	r, err := eval.NewProtocol(split, eval.Options{}).Evaluate(t.Context(), is, part, protocol.RandomNegatives)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
