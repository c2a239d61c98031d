package train

import (
	"context"
	"errors"
	"fmt"
	"time"

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
	split := t.Protocol.Split()
	const forwards = 0.4 // of a step's time is what answers alone take
	events := float64(split.Train.Len()) + forwards*float64(split.Val.Len()+split.NewVal.Len())
	return inSeconds(spent.Seconds() * events / float64(walked))
}

func inSeconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// errTimeUp is why a training ends that had only so much time.
var errTimeUp = errors.New("the time is up")

// within gives the next epoch the time that is left, but for what the final evaluation takes.
func (t *trainer) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if t.Deadline.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, t.Deadline.Add(-t.reserve()), errTimeUp)
}

// reserve is how long the final evaluation may take, as far as the last validation tells.
func (t *trainer) reserve() time.Duration {
	split := t.Protocol.Split()
	seen := split.Val.Len() + split.NewVal.Len()
	if len(t.epochs) == t.before || seen == 0 {
		return 0
	}
	kinds := max(1, len(t.Strategies))
	asked := float64(kinds) * float64(split.Test.Len()+split.NewTest.Len()) / float64(seen)
	return inSeconds(t.epochs[len(t.epochs)-1].Seconds.Evaluate * asked)
}

// timeUp says whether an epoch ended for want of time alone, and sees to it that there is something to measure.
func (t *trainer) timeUp(outer, inner context.Context, err error) (bool, error) {
	// Where both come at once, what came from outside counts.
	if stopped := outer.Err(); stopped != nil && errors.Is(err, context.DeadlineExceeded) {
		return false, fmt.Errorf("stopped when the time was up: %w", stopped)
	}
	if err == nil || outer.Err() != nil || context.Cause(inner) != errTimeUp ||
		!errors.Is(err, context.DeadlineExceeded) {
		return false, err
	}
	share := float64(t.done()) / float64(max(1, t.events()))
	place := fmt.Sprintf("the time limit ended epoch %d after %.0f %% of it", t.at.Epoch+1, 100*share)
	t.ended = run.EndedByTime
	if t.at.Stopper.Epoch > 0 {
		t.logger().Info(fmt.Sprintf("%s; measured is epoch %d, the best so far", place, t.at.Stopper.Epoch))
		return true, nil
	}
	t.logger().Warn(place + ": validation has chosen no epoch; kept and measured are the weights as they are")
	return true, t.saveBest(run.Epoch{})
}
