package rate_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/dygmamba/dygmamba/internal/rate"
	"github.com/dygmamba/dygmamba/internal/streamtest"
)

// An interruption ends the way to a far time, and a later question goes on from there.
func TestReachIsInterrupted(t *testing.T) {
	events := streamtest.Generate(streamtest.Shape{Events: 9000, Sources: 5, Dests: 5, Instants: 9000}, 1).All()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	walk := rate.NewWalk(events, rate.Plain(rate.Clock{Span: 100}))
	if _, err := walk.Reach(ctx, math.Inf(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted walk ends with %v", err)
	}
	if n := walk.Before(math.Inf(1)).Len(); n != 9000 {
		t.Errorf("%d events are known afterwards, want 9000", n)
	}
}
