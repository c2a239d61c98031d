package serve

import (
	"context"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/predict"
)

// cold is how many events a lane's model has still to go through before it can answer.
func cold(t *testing.T, l *lane) int {
	t.Helper()
	left, j := 0, &job{ctx: context.Background()}
	if l.chooser != nil {
		j.choose = func(c *predict.Chooser, _ *resolver) (err error) {
			left, err = c.CatchUp(context.Background(), 0)
			return err
		}
	} else {
		j.do = func(p *predict.Predictor, _ *resolver) (err error) {
			left, err = p.CatchUp(context.Background(), 0)
			return err
		}
	}
	err := l.ask(j)
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// TestReadyMeansWarm: what a model derives from the events, such as WalkMamba's walks or TGN's memory, is there when
// the server is ready, when another model takes over, and soon after events came, late ones too.
func TestReadyMeansWarm(t *testing.T) {
	for _, name := range []string{"walkmamba", "tgn", "countnet"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, name)
			s := w.server(t, nil)
			check := func(when string, patience time.Duration) {
				t.Helper()
				g := s.models.current.Load()
				for name, l := range map[string]*lane{"quick": g.quick, "slow": g.slow} {
					if !l.model().Derives() {
						t.Fatal("the model derives nothing from the events")
					}
					left := cold(t, l)
					for began := time.Now(); left > 0 && time.Since(began) < patience; left = cold(t, l) {
						time.Sleep(20 * time.Millisecond)
					}
					if left > 0 {
						t.Errorf("%s the %s lane has %d events to go through", when, name, left)
					}
				}
			}
			check("when the server is ready,", 0)
			if err := s.Reload(context.Background(), ""); err != nil {
				t.Fatal(err)
			}
			check("after a reload", 0)
			known := w.early.Log.Len()
			for _, lo := range []int{known + 20, known} { // the second ones are late
				ask[receiptDoc](t, s, "POST", "/v1/events", w.body(lo, lo+20))
				check("a while after events came", 5*time.Second)
			}
		})
	}
}
