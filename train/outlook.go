package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// Outlook is how long a training may still take. Patience decides: nothing better may come from now on, or always
// just in time.
type Outlook struct {
	Epoch       time.Duration // what one takes, with its validation; 0 while nobody knows
	Least, Most float64       // epochs to come, the rest of this one included
	Patience    int           // epochs without a better one that end it
	Epochs      int           // at most, from the beginning
}

// Range is what the rest takes at least and at most, and with it this many trainings more of the same.
func (o Outlook) Range(more int) (least, most time.Duration) {
	epochs := func(these float64, whole int) time.Duration {
		return time.Duration((these + float64(more*whole)) * float64(o.Epoch))
	}
	shortest := min(o.Patience+1, o.Epochs) // the first epoch is always the best so far
	return epochs(o.Least, shortest), epochs(o.Most, o.Epochs)
}

// outlook is how it looks when this many events of the epoch are done.
func (t *trainer) outlook(done int) Outlook {
	is, stop := t.Spec.Training, t.at.Stopper
	part := float64(done) / float64(max(1, t.events()))
	most := float64(is.Epochs-t.at.Epoch) - part
	least := float64(is.Patience-stop.Waited) - part
	if stop.Epoch == 0 {
		least++
	}
	return Outlook{Epoch: t.perEpoch(done), Least: min(least, most), Most: most, Patience: is.Patience,
		Epochs: is.Epochs}
}

// perEpoch is what an epoch takes: the mean of the last few here, or else what the speed of this one says.
func (t *trainer) perEpoch(done int) time.Duration {
	const few, soon, steps = 3, 2 * time.Second, 3 // sooner it would be a guess
	past := t.epochs[t.before:]
	past = past[max(0, len(past)-few):]
	sum := 0.0
	for _, e := range past {
		sum += e.Seconds.Train + e.Seconds.Evaluate
	}
	if len(past) > 0 {
		return inSeconds(sum / float64(len(past)))
	}
	spent, walked := time.Since(t.began), done-t.first
	if spent < soon || walked < steps*t.Spec.Training.BatchSize {
		return 0
	}
	const forwards = 0.4 // of a step's time is what answers alone take
	asked := t.asked(eval.Val, eval.NewVal)
	if t.Chooser() != nil {
		asked = min(asked, eval.NextValidation)
	}
	events := float64(t.events()) + forwards*float64(asked)
	return inSeconds(spent.Seconds() * events / float64(walked))
}

func inSeconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// errTimeUp is why a training ends that had only so much time.
var errTimeUp = errors.New("the time is up")

// within gives something the time that is left but for a reserve.
func (t *trainer) within(ctx context.Context, reserve time.Duration) (context.Context, context.CancelFunc) {
	if t.Deadline.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, t.Deadline.Add(-reserve), errTimeUp)
}

// asked is how many events some parts ask about.
func (t *trainer) asked(parts ...eval.Part) (events int) {
	for _, part := range parts {
		events += t.Protocol.Events(part).Len()
	}
	return events
}

// perQuestion is what an event that is asked about takes, in seconds, as far as the last validation or Fit tells; 0:
// nobody knows.
func (t *trainer) perQuestion() float64 {
	kinds := len(protocol.Selecting(t.Spec.Training.SelectBy))
	seen := t.asked(eval.Val, eval.NewVal) + (kinds-1)*t.asked(eval.Val)
	if len(t.epochs) == t.before || seen == 0 {
		return t.Pace.Score
	}
	return t.epochs[len(t.epochs)-1].Seconds.Evaluate / float64(seen)
}

// reserve is how long the final evaluation may take: all of the test, or its share where the events are limited.
func (t *trainer) reserve() time.Duration {
	kinds := max(1, len(t.Strategies))
	asked := inSeconds(t.perQuestion() * float64(kinds*t.asked(eval.Test, eval.NewTest)))
	if t.Deadline.IsZero() {
		return asked
	}
	all := t.Deadline.Sub(t.opened)
	if t.Chooser() != nil {
		return t.nextShare() + inSeconds(3*t.Pace.Save)
	}
	share := all / 2
	if t.Protocol.Limits().Any() {
		share = inSeconds(evaluationShare * all.Seconds())
	}
	return min(asked, share) + inSeconds(3*t.Pace.Save) + t.firstMeetings()
}

// nextShare is how long a validation, or the test, of the task "next" may take: as long as the last validation, of
// which nobody knows before the first.
func (t *trainer) nextShare() time.Duration {
	const most = 0.3 // of all time
	share := inSeconds(most * t.Deadline.Sub(t.opened).Seconds())
	if n := len(t.epochs); n > t.before {
		return min(share, inSeconds(1.2*t.epochs[n-1].Seconds.Evaluate))
	}
	return share
}

// firstMeetings is about how long it takes to find out which test events are the first of their pairs, for which all
// events are gone through, unless they are few and there are histories.
func (t *trainer) firstMeetings() time.Duration {
	const perEvent = 100 * time.Nanosecond
	if t.Protocol.Limits().Any() && t.Set.Log.Index() != nil {
		return 0
	}
	return time.Duration(t.Set.Log.Len()) * perEvent
}

// validation is how long it may take.
func (t *trainer) validation() time.Duration {
	if t.Chooser() != nil && !t.Deadline.IsZero() {
		return t.nextShare()
	}
	if n := len(t.epochs); n > t.before {
		return inSeconds(1.1 * t.epochs[n-1].Seconds.Evaluate)
	}
	kinds := len(protocol.Selecting(t.Spec.Training.SelectBy))
	asked := t.asked(eval.Val, eval.NewVal) + (kinds-1)*t.asked(eval.Val)
	return inSeconds(1.1 * (t.Pace.Score*float64(asked) + t.Pace.Save))
}

// noTime says whether an epoch of limited events would not be over in time: these were chosen to fit once, and what is
// left is better spent on the test.
func (t *trainer) noTime() bool {
	if t.Deadline.IsZero() || !t.Protocol.Limits().Any() || t.at.Epoch == 0 || t.at.Batch > 0 {
		return false
	}
	left := time.Until(t.Deadline.Add(-t.reserve() - t.validation()))
	if t.perEpochTraining() <= left {
		return false
	}
	t.ended = run.EndedByTime
	t.logger().Info(fmt.Sprintf("there is no time for epoch %d; the test measures epoch %d, the best so far",
		t.at.Epoch+1, t.at.Stopper.Epoch))
	return true
}

// perEpochTraining is what the training of an epoch took last.
func (t *trainer) perEpochTraining() time.Duration {
	return inSeconds(t.epochs[len(t.epochs)-1].Seconds.Train)
}

// timeUp says whether an epoch ended for want of time alone, and sees to it that there is something to measure.
func (t *trainer) timeUp(outer context.Context, err error) (bool, error) {
	// Where both come at once, what came from outside counts.
	if stopped := outer.Err(); stopped != nil && errors.Is(err, context.DeadlineExceeded) {
		return false, fmt.Errorf("stopped when the time was up: %w", stopped)
	}
	if err == nil || outer.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
		return false, err
	}
	share := float64(t.done()) / float64(max(1, t.events()))
	place := fmt.Sprintf("the time limit ended epoch %d after %.0f %% of it", t.at.Epoch+1, 100*share)
	t.ended = run.EndedByTime
	if t.at.Stopper.Epoch > 0 {
		t.logger().Info(fmt.Sprintf("%s; the test measures epoch %d, the best so far", place, t.at.Stopper.Epoch))
		return true, nil
	}
	t.logger().Warn(place + ": validation has chosen no epoch; kept and measured are the weights as they are")
	if err := t.calibrateNext(outer); err != nil {
		return false, err
	}
	return true, t.saveBest(run.Epoch{})
}

// calibrateNext fits the probabilities and rates of the task "next" to validation events where no epoch was validated.
// A model that remembers then knows what comes before the test.
func (t *trainer) calibrateNext(ctx context.Context) error {
	if t.Chooser() == nil {
		return nil
	}
	net := t.net()
	defer net.Close()
	err := t.Protocol.BeforeVal(ctx, net, func() error {
		third := func() time.Time { return time.Now().Add(max(time.Second, time.Until(t.Deadline)/3)) }
		val, err := t.Protocol.CalibrateNext(ctx, net, third())
		if err != nil {
			return err
		}
		return t.measureWhen(ctx, net, &val, third())
	})
	if m, remembers := net.Scorer().(model.StatefulScorer); remembers && err == nil {
		err = t.Protocol.Warm(ctx, m)
	}
	return err
}

// tested is the protocol of the test: with as many events as there is time for.
func (t *trainer) tested(ctx context.Context) (*eval.Protocol, error) {
	p := t.Protocol
	if t.Deadline.IsZero() {
		return p, nil
	}
	each := t.perQuestion()
	if each == 0 {
		few := p.Tested(2 * t.Spec.Training.BatchSize)
		began := time.Now()
		r, err := few.Evaluate(ctx, t.evaluator(), eval.Test, t.strategies()[0])
		if err != nil {
			return nil, err
		}
		each = time.Since(began).Seconds() / float64(max(1, r.Positives))
	}
	const atLeast = 500 * time.Millisecond // also where the time is up: a test of one batch tells nothing
	left := max(atLeast, time.Until(t.Deadline)-inSeconds(0.1*t.Pace.Save)-t.firstMeetings())
	b := budget{pace: Pace{Score: 1.1 * each}, batch: t.Spec.Training.BatchSize}
	parts := [2]int{p.Events(eval.Test).Len(), p.Events(eval.NewTest).Len()}
	kinds := len(t.strategies())
	if b.asking(math.MaxInt, parts, kinds) > left.Seconds() {
		p = p.Tested(b.fitting(left.Seconds(), parts, kinds))
	}
	return p, nil
}

// strategies are the negatives of the final evaluation.
func (t *trainer) strategies() []protocol.Negatives {
	if t.Strategies == nil {
		return []protocol.Negatives{protocol.RandomNegatives}
	}
	return t.Strategies
}
