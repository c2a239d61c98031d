package serve

import (
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/predict"
)

// Every model answers through a server, event by event, as it does offline: to the last bit.
func TestVerify(t *testing.T) {
	for _, name := range models.Names(true) {
		orders := []string{""}
		if models.All[name].Remembers {
			orders = model.Orders()
		}
		for _, order := range orders {
			t.Run(name+"/"+order, func(t *testing.T) {
				w := newWorld(t, name, order)
				v, err := Verify(t.Context(), Verification{Set: w.whole, Checkpoint: w.run,
					Load: predict.Options{Threads: 1}, From: w.whole.Log.Len() * 2 / 3})
				if err != nil {
					t.Fatal(err)
				}
				if !v.Same(0) || v.Queries != 2*v.Replayed || v.Replayed < 20 || v.Model != name || v.Order != order {
					t.Errorf("%+v", v)
				}
			})
		}
	}
}

// It notices a server that answers with another model.
func TestVerifyNotices(t *testing.T) {
	w, other := newWorld(t, dygmamba.DefaultModel), newWorld(t, models.Names(true)[0])
	v := Verification{Set: w.whole, Checkpoint: w.run, Load: predict.Options{Threads: 1}}
	from := testStart(w.whole.Log)
	groups := questions(w.whole, from)
	want, _, err := v.offline(t.Context(), from, groups)
	if err != nil {
		t.Fatal(err)
	}
	v.Checkpoint = other.run
	var verdict Verdict
	if err := v.online(t.Context(), from, groups, want.logits, &verdict); err != nil || verdict.Same(1e-4) ||
		verdict.First == "" {
		t.Errorf("%+v, %v", verdict, err)
	}
}
