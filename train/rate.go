package train

import (
	"context"
	"errors"
	"time"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/rate"
	"github.com/dygmamba/dygmamba/model"
)

// measureWhen adds what validation says of the times of events, and calibrates the model by the way. Where it must be
// over at some time, rates come from fewer trees and windows, or from what sources did lately alone: a model always
// knows rates.
func (t *trainer) measureWhen(ctx context.Context, net *model.Net, to *eval.Next, until time.Time) error {
	timer := model.TimerOf(t.Learner.Model)
	if timer == nil {
		return nil
	}
	timed, done := withDeadline(ctx, until)
	defer done()
	rates, err := t.rates(timed, timer, until)
	if err == nil {
		var nats *float64
		if nats, err = t.Protocol.ValidateWhen(timed, net, rates, until); nats != nil {
			to.When = &eval.When{Nats: *nats}
		}
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		t.logger().Warn("the time limit left too little time to learn when sources act: rates and windows are rough")
		err = nil
	}
	if err != nil {
		return err
	}
	return model.WriteRates(timer, rates)
}

// rates are learned once, when they are measured for the first time: they do not depend on what the epochs learn. Where
// there was no time for a single tree, they are learned again.
func (t *trainer) rates(ctx context.Context, timer model.Timer, until time.Time) (*rate.Model, error) {
	if rates := model.ReadRates(timer); rates != nil && len(rates.Now) > 0 {
		return rates, nil
	}
	const share = 0.6 // of the time; the rest is for windows
	if !until.IsZero() {
		until = time.Now().Add(inSeconds(share * time.Until(until).Seconds()))
	}
	trees := timer.Rates().Now.Len() / rate.ForestLen(1)
	rates, err := t.Protocol.FitRates(ctx, timer.RateClock(), trees, t.Seed, until)
	if err != nil {
		rates = rate.Plain(timer.RateClock())
	}
	return rates, err
}

// withDeadline is ctx until some time; zero: without an end.
func withDeadline(ctx context.Context, until time.Time) (context.Context, context.CancelFunc) {
	if until.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, until)
}

// testNext measures the task "next" on test events. Where the time is up meanwhile, fewer are asked about, and what is
// said of times is left out.
func (t *trainer) testNext(ctx context.Context, net *model.Net) (eval.Next, error) {
	o := eval.NextOptions{Limit: eval.NextSample}
	var end time.Time
	if !t.Deadline.IsZero() {
		end = later(t.Deadline, time.Now().Add(time.Second))
		o.Until, o.Limit = time.Now().Add(time.Until(end)/2), t.nextEvents(time.Until(end)/2)
	}
	timed, done := withDeadline(ctx, end)
	defer done()
	r, err := t.Protocol.Next(ctx, net, o)
	timer := model.TimerOf(t.Learner.Model)
	if timer == nil || err != nil {
		return r, err
	}
	if rates := model.ReadRates(timer); rates != nil {
		r.When, err = t.Protocol.When(timed, net, rates, 0, end)
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		t.logger().Warn("the time limit left no time to test rates and windows")
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
