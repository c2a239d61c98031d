package await_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/dygmamba/dygmamba/internal/await"
)

func TestDo(t *testing.T) {
	n, err := await.Do(t.Context(), func() (int, error) { return 7, nil })
	if n != 7 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	wrong := errors.New("wrong")
	if _, err := await.Do(t.Context(), func() (int, error) { return 0, wrong }); err != wrong {
		t.Errorf("%v", err)
	}
	defer func() {
		if p := recover(); p != "broken" {
			t.Errorf("recovered %v", p)
		}
	}()
	await.Do(t.Context(), func() (int, error) { panic("broken") })
}

// The end of the context is obeyed at once. What goes on is known until it has ended, whatever becomes of it.
func TestDoAbandons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		goOn := make(chan struct{})
		go func() {
			synctest.Wait()
			stop()
		}()
		n, err := await.Do(ctx, func() (int, error) { <-goOn; panic("for nobody") })
		if n != 0 || !errors.Is(err, context.Canceled) || !await.Abandoned() {
			t.Errorf("%d, %v, abandoned: %v", n, err, await.Abandoned())
		}
		close(goOn)
		synctest.Wait()
		if await.Abandoned() {
			t.Error("still under way")
		}
		if _, err := await.Do(ctx, func() (int, error) { t.Error("begun"); return 0, nil }); err == nil {
			t.Error("no error of a context that has ended")
		}
	})
}
