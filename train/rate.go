package train

import (
	"context"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/rate"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// rateInputs are the examples of a timer, on its device.
type rateInputs struct {
	timer      model.Timer
	now, ahead rateRows
	events     int
}

// rateRows are the rows of one network: [n, rate.Width] and four times [n, 1].
type rateRows struct{ x, offset, bound, weight, count *tensor.Tensor }

// newRateInputs brings the examples of a batch to the device.
func newRateInputs(tp *grad.Tape, t model.Timer, b *sample.Batch) rateInputs {
	e := b.Extras[len(b.Extras)-1].(*rate.Examples)
	return rateInputs{t, newRateRows(tp, &e.Now), newRateRows(tp, &e.Ahead), b.Positives}
}

func newRateRows(tp *grad.Tape, r *rate.Rows) rateRows {
	n := r.Len()
	return rateRows{tp.Floats(r.X, n, rate.Width), tp.Floats(r.Offset, n, 1), tp.Floats(r.Bound, n, 1),
		tp.Floats(r.Weight, n, 1), tp.Floats(r.Count, n, 1)}
}

// loss is −ln of the likelihood of the batch's events, and of the silence between them, in nats per event; and the same
// of what came later. Both are shifted by a constant.
func (r *rateInputs) loss(tp *grad.Tape) *tensor.Tensor {
	now := r.now.loss(tp, r.timer.Rate)      // [1]
	ahead := r.ahead.loss(tp, r.timer.Ahead) // [1]
	return grad.Scale(tp, grad.Add(tp, now, ahead), 1/float32(r.events))
}

// loss is Σ weight·λ − count·ln λ.
func (r *rateRows) loss(tp *grad.Tape, net func(*grad.Tape, *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
	z := grad.Add(tp, net(tp, r.x), r.offset) // [n, 1]
	over := grad.Apply(tp, device.Softplus, grad.Sub(tp, z, r.bound))
	log := grad.Sub(tp, z, over)                                            // [n, 1]
	expected := grad.Mul(tp, grad.Apply(tp, device.Exp, log), r.weight)     // [n, 1]
	return grad.Sum(tp, grad.Sub(tp, expected, grad.Mul(tp, log, r.count))) // [1]
}

// beginFeeds says which epoch the next batches belong to, and what they are batches of.
func beginFeeds(c model.Chooser, epoch int, events event.Span) {
	c.Feed().Begin(epoch, events)
	if t := model.TimerOf(c); t != nil {
		t.Rates().Begin(epoch, events)
	}
}

// measureWhen adds what validation says of the times of events, and calibrates the model by the way.
func (t *trainer) measureWhen(ctx context.Context, net *model.Net, to *eval.Next) error {
	timer := model.TimerOf(t.Learner.Model)
	if timer == nil {
		return nil
	}
	times := model.NewRateNet(timer)
	defer times.Close()
	nats, err := t.Protocol.ValidateWhen(ctx, net, times)
	if nats != nil {
		to.When = &eval.When{Nats: *nats}
	}
	return err
}

// testNext measures the task "next" on test events.
func (t *trainer) testNext(ctx context.Context, net *model.Net) (eval.Next, error) {
	r, err := t.Protocol.Next(ctx, net, eval.NextOptions{Limit: eval.NextSample})
	if timer := model.TimerOf(t.Learner.Model); timer != nil && err == nil {
		times := model.NewRateNet(timer)
		defer times.Close()
		r.When, err = t.Protocol.When(ctx, net, times, 0)
	}
	return r, err
}
