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
	left := 0
	err := l.ask(&job{ctx: context.Background(), do: func(p *predict.Predictor, _ *resolver) (err error) {
		left, err = p.CatchUp(context.Background(), 0)
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// TestReadyMeansWarm: what WalkMamba derives from the events is there when the server is ready, when another model
// takes over, and soon after events came, late ones too.
func TestReadyMeansWarm(t *testing.T) {
	w := newWorld(t, "walkmamba")
	s := w.server(t, nil)
	check := func(when string) {
		t.Helper()
		g := s.models.current.Load()
		for name, l := range map[string]*lane{"quick": g.quick, "slow": g.slow} {
			if !l.predictor.Derives() {
				t.Fatal("WalkMamba derives nothing from the events")
			}
			if left := cold(t, l); left > 0 {
				t.Errorf("%s the %s lane has %d events to go through", when, name, left)
			}
		}
	}
	check("when the server is ready,")
	if err := s.Reload(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
	check("after a reload")
	known := w.early.Log.Len()
	for _, lo := range []int{known + 20, known} { // the second ones are late
		ask[receiptDoc](t, s, "POST", "/v1/events", w.body(lo, lo+20))
		time.Sleep(200 * time.Millisecond)
		check("200 ms after events came")
	}
}
