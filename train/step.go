package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/tensor"
)

// ErrDiverged says that a training has lost its way: other settings may not.
var ErrDiverged = errors.New("the loss is not a number; a smaller learning_rate may help")

// pendingStep is one step of the optimizer, from its launch until its results are added up.
type pendingStep struct {
	batch     int // of the epoch
	positives int
	done      int       // events of the epoch, with these
	results   []float32 // a logit for each query, then the loss
	logits    device.Reading
	loss      device.Reading
}

// step launches a step, and only then looks at the results of the one before: the device has work while they are added
// up and while the next batch is prepared. Where results are there at once, they are looked at at once.
func (t *trainer) step(ctx context.Context, s *replay.Step, done int) error {
	n := len(s.Batch.Queries)
	if t.Chooser() != nil || t.Spec.Outputs() > 1 { // one choice among several, no answers to queries
		n = 0
	}
	next := &t.pending[t.at.Step%2]
	next.batch, next.positives, next.done = t.at.Batch, s.Span.Len(), done
	next.results = slices.Grow(next.results[:0], n+1)[:n+1]
	if t.Chooser() == nil {
		t.Stop = ctx.Done()
	}
	err := tensor.Guard(func() {
		t.Step(s.Batch, grad.Key(t.Seed, t.at.Step))
		if n > 0 {
			next.logits = device.ReadLater(t.Device, next.results[:n], t.Logits.Data)
		}
		next.loss = device.ReadLater(t.Device, next.results[n:], t.Loss.Data)
	})
	if ended := device.Ended(ctx, err); ended != nil {
		return fmt.Errorf("stopped within a step: %w", ended)
	}
	if err != nil {
		return t.failed(next, err)
	}
	t.at.Draws = s.AppendState(t.at.Draws[:0])
	t.at.Batch++
	t.at.Step++
	if err := t.settle(); err != nil {
		return err
	}
	t.underway = next
	if next.loss.Arrived() {
		return t.settle()
	}
	return nil
}

// settle waits for the results of the step under way, if there is one, and adds them up.
func (t *trainer) settle() error {
	l := t.underway
	if l == nil {
		return nil
	}
	t.underway = nil
	err := tensor.Guard(func() {
		l.logits.Wait()
		l.loss.Wait()
	})
	if err != nil {
		return t.failed(l, err)
	}
	scores, loss := l.results[:len(l.results)-1], float64(l.results[len(l.results)-1])
	if loss != loss {
		return t.failed(l, t.diverged(l))
	}
	ap, auc := 0.0, 0.0
	if t.Links() { // labels are too rare for the measures of a batch
		ap, auc = t.meter.Score(scores[:l.positives], scores[l.positives:])
	}
	t.at.Sums.add(loss, ap, auc)
	t.tell(loss, l.done)
	return nil
}

// diverged says what to do about a loss that is not a number: before anything was learned no learning rate is to blame.
func (t *trainer) diverged(l *pendingStep) error {
	if t.at.Epoch > 0 || l.batch > 0 {
		return ErrDiverged
	}
	text := "the loss is not a number before anything was learned"
	for _, f := range []struct {
		what     string
		features dataset.Features
	}{{"event", t.Set.Edge}, {"node", t.Set.Node}} {
		if i, size := largest(f.features.Data); size > moderateFeature {
			text += fmt.Sprintf("; a feature of %s %d, column %d, is %g: scale features to moderate numbers",
				f.what, i/f.features.Cols, i%f.features.Cols+1, f.features.Data[i])
		}
	}
	return neverGood(text)
}

// neverGood is an ErrDiverged that came before the first step.
type neverGood string

func (e neverGood) Error() string        { return string(e) }
func (e neverGood) Is(target error) bool { return target == ErrDiverged }

// moderateFeature is what a feature can be without overflowing as soon as it is squared and added up.
const moderateFeature = 1e12

func largest(x []float32) (at int, size float64) {
	for i, v := range x {
		if a := math.Abs(float64(v)); a > size {
			at, size = i, a
		}
	}
	return at, size
}

func (t *trainer) failed(l *pendingStep, err error) error {
	return fmt.Errorf("epoch %d, batch %d: %w", t.at.Epoch+1, l.batch, err)
}

func (t *trainer) tell(loss float64, done int) {
	if t.OnStep == nil {
		return
	}
	_, ap, _ := t.at.Sums.means()
	spent := Spent{}
	if t.sharded != nil {
		spent = t.sharded.spent
	}
	t.OnStep(Step{
		Spent: spent, Epoch: t.at.Epoch + 1, Epochs: t.Spec.Training.Epochs, Done: done, Total: t.events(),
		Loss: loss, AP: ap, Rate: float64(done-t.first) / time.Since(t.began).Seconds(), Outlook: t.outlook(done),
	})
}

// sums add up the batches of an unfinished epoch. They are part of the saved state, so that a resumed epoch ends with
// the same means.
type sums struct {
	Batches int     `json:"batches"`
	Loss    float64 `json:"loss"`
	AP      float64 `json:"ap"`
	AUC     float64 `json:"auc"`
}

func (s *sums) add(loss, ap, auc float64) {
	s.Batches++
	s.Loss += loss
	s.AP += ap
	s.AUC += auc
}

func (s *sums) means() (loss, ap, auc float64) {
	n := math.Max(1, float64(s.Batches))
	return s.Loss / n, s.AP / n, s.AUC / n
}
