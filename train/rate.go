package train

import (
	"context"
	"errors"
	"time"

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

// testNext measures the task "next" on test events. Where the time is up meanwhile, fewer are asked about, and what is
// said of times is left out.
func (t *trainer) testNext(ctx context.Context, net *model.Net) (eval.Next, error) {
	o := eval.NextOptions{Limit: eval.NextSample}
	timed := ctx
	if !t.Deadline.IsZero() {
		end := later(t.Deadline, time.Now().Add(time.Second))
		o.Until, o.Limit = time.Now().Add(time.Until(end)/2), t.nextEvents(time.Until(end)/2)
		var done context.CancelFunc
		timed, done = context.WithDeadline(ctx, end)
		defer done()
	}
	r, err := t.Protocol.Next(ctx, net, o)
	timer := model.TimerOf(t.Learner.Model)
	if timer == nil || err != nil {
		return r, err
	}
	if rates := model.ReadRates(timer); rates != nil {
		r.When, err = t.Protocol.When(timed, net, rates, 0)
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		t.logger().Warn("there was no time to test what is said of times")
		r.When, err = nil, nil
	}
	return r, err
}

// nextEvents is how many test events can be asked about in some time, judging by the last validation.
func (t *trainer) nextEvents(d time.Duration) int {
	n := len(t.epochs)
	if n == t.before {
		return eval.NextSample
	}
	each := t.epochs[n-1].Seconds.Evaluate / eval.NextValidation
	return min(eval.NextSample, max(100, int(d.Seconds()/each)))
}
