package eval

import (
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
)

// silent is a scorer that looks at nothing.
type silent struct{}

func (silent) Plan() sample.Plan                          { return sample.Plan{} }
func (silent) Score(b *sample.Batch, out []float32) error { clear(out); return nil }

// The hash of negatives is that of the ones that an evaluation asks about.
func TestNegativesHash(t *testing.T) {
	set, err := dataset.Periodic(dataset.PeriodicOptions{Events: 2000})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{}, {BatchSize: 33, PerPositive: 3, Sampling: protocol.Native, Avoid: true}} {
		p, err := Open(set, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []Part{Val, NewTest} {
			for _, kind := range protocol.Published() {
				got, err := p.NegativesHash(t.Context(), part, kind)
				if err != nil {
					t.Fatal(err)
				}
				want, err := p.Evaluate(t.Context(), silent{}, part, kind)
				if err != nil || got != want.Negatives {
					t.Errorf("%v, %s: %s, want %s (%v)", part, kind, got, want.Negatives, err)
				}
			}
		}
	}
}
