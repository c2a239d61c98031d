package train

import (
	"context"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/rate"
	"github.com/dygmamba/dygmamba/model"
)

// measureWhen adds what validation says of the times of events, and calibrates the model by the way. Rates are learned
// once, when they are measured for the first time: they do not depend on what the epochs learn.
func (t *trainer) measureWhen(ctx context.Context, net *model.Net, to *eval.Next) error {
	timer := model.TimerOf(t.Learner.Model)
	if timer == nil {
		return nil
	}
	rates := model.ReadRates(timer)
	if rates == nil {
		var err error
		trees := timer.Rates().Now.Len() / rate.ForestLen(1)
		if rates, err = t.Protocol.FitRates(ctx, timer.RateClock(), trees, t.Seed); err != nil {
			return err
		}
	}
	nats, err := t.Protocol.ValidateWhen(ctx, net, rates)
	if err != nil {
		return err
	}
	if nats != nil {
		to.When = &eval.When{Nats: *nats}
	}
	return model.WriteRates(timer, rates)
}

// testNext measures the task "next" on test events.
func (t *trainer) testNext(ctx context.Context, net *model.Net) (eval.Next, error) {
	r, err := t.Protocol.Next(ctx, net, eval.NextOptions{Limit: eval.NextSample})
	if timer := model.TimerOf(t.Learner.Model); timer != nil && err == nil {
		if rates := model.ReadRates(timer); rates != nil {
			r.When, err = t.Protocol.When(ctx, net, rates, 0)
		}
	}
	return r, err
}
