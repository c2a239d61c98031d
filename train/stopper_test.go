package train

import (
	"testing"

	"github.com/dygmamba/dygmamba/run"
)

func TestStopper(t *testing.T) {
	type epoch struct {
		ap, auc  float64
		improved bool
	}
	for name, c := range map[string]struct {
		byAP   bool
		epochs []epoch
		best   int
		done   bool
	}{
		"the first epoch always counts": {false, []epoch{{0.1, 0.1, true}}, 1, false},
		"a tie resets the patience": {false,
			[]epoch{{0.5, 0.5, true}, {0.4, 0.9, false}, {0.5, 0.5, true}, {0.4, 0.4, false}}, 3, false},
		"better AP with worse AUC does not": {false,
			[]epoch{{0.5, 0.5, true}, {0.9, 0.49, false}, {0.9, 0.49, false}}, 1, true},
		"unless AP alone decides": {true,
			[]epoch{{0.5, 0.5, true}, {0.9, 0.49, true}, {0.8, 0.9, false}}, 2, false},
		"the stored pair stems from one epoch": {false,
			[]epoch{{0.5, 0.6, true}, {0.6, 0.6, true}, {0.55, 0.7, false}}, 2, false},
		"patience counts epochs without a best": {false,
			[]epoch{{0.5, 0.5, true}, {0.4, 0.4, false}, {0.4, 0.4, false}}, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := Stopper{Patience: 2, ByAP: c.byAP}
			for i, e := range c.epochs {
				if got := s.Improved(i+1, run.Score{AP: e.ap, AUC: e.auc}); got != e.improved {
					t.Errorf("epoch %d improved: %v, want %v", i+1, got, e.improved)
				}
			}
			if s.Epoch != c.best || s.Done() != c.done {
				t.Errorf("best epoch %d, done %v; want %d, %v", s.Epoch, s.Done(), c.best, c.done)
			}
		})
	}
}
