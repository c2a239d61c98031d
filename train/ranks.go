package train

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/collective"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// DefaultShards is the number of parts that a batch is cut into when ranks share it.
const DefaultShards = 8

// Sharded takes steps on batches that are cut into shards. Each rank finds the gradients of its own shards; they are
// added along a tree over all shards, and every rank takes the same step. So the number of ranks changes no bit.
type Sharded struct {
	*Learner
	group  *collective.Group
	shards collective.Shards
	sum    *collective.Sum
	blocks []int     // of the gradient: the first parameter of each, from the end
	joined bool      // blocks are as the first step has shown to be useful
	total  []float32 // what was touched, loss, seconds of each rank, a logit for each query, and the gradient
	body   func()

	// seconds that each rank computed, and how many steps they are of
	seconds []float64
	steps   int
	spent   Spent
}

// Spent is what this rank did with its time since a shared training began.
type Spent struct {
	Compute  time.Duration // gradients of its own shards, and sums of what was final meanwhile
	Exchange time.Duration // rest of the sums over all ranks after that, waiting for the slowest included
	Commit   time.Duration // a memory that learns of the batch
	Update   time.Duration // the optimizer's step
}

// NewSharded lets a learner share its steps with the other ranks of a group.
func NewSharded(l *Learner, g *collective.Group, shards int) (*Sharded, error) {
	cut, err := collective.NewShards(shards, g.Rank(), g.Size())
	if err != nil {
		return nil, err
	}
	l.memory = nil // it learns of a batch when all ranks have asked about it
	s := &Sharded{Learner: l, group: g, shards: cut, sum: collective.NewSum(cut), seconds: make([]float64, g.Size()),
		blocks: gradientBlocks(l.Params())}
	s.body = func() { l.Gradients() }
	return s, nil
}

// Shards are those of a batch, and which of them this rank has.
func (s *Sharded) Shards() collective.Shards { return s.shards }

// Answers are what a step found: a logit for each query of the batch, in its order, and the loss.
type Answers struct {
	Logits []float32
	Loss   float32
}

// Step finds the gradient of a batch together with the other ranks, lets commit remember the batch, and moves the
// weights. When it returns an error before that, nothing has changed.
func (s *Sharded) Step(ctx context.Context, step *replay.Step, key uint64, commit func() error) (Answers, error) {
	at := s.layout(len(step.Batch.Queries))
	s.total = slices.Grow(s.total[:0], at.end)[:at.end]
	s.sum.Reset()
	var err error
	failed := tensor.Guard(func() { err = sharing{s, step, key, at}.gradients(ctx) })
	if err := cmp.Or(failed, err); err != nil {
		return Answers{}, err
	}
	if !s.joined {
		s.join(at)
		s.joined = true
	}
	began := time.Now()
	if err := commit(); err != nil {
		return Answers{}, err
	}
	began = clock(began, &s.spent.Commit)
	for i := range s.seconds {
		s.seconds[i] += float64(s.total[at.seconds+i])
	}
	s.steps++
	err = tensor.Guard(func() { s.move(at) })
	clock(began, &s.spent.Update)
	return Answers{s.total[at.logits:at.gradient], s.total[at.loss]}, err
}

// clock adds the time since began, and tells when that was.
func clock(began time.Time, to *time.Duration) time.Time {
	now := time.Now()
	*to += now.Sub(began)
	return now
}

// move takes the optimizer's step by the gradient of the whole batch.
func (s *Sharded) move(at layout) {
	params := s.Params()
	_, flat := params.Flat()
	params.Device().Write(flat, s.total[at.gradient:])
	for k, q := range params.All() {
		q.Touched = s.total[at.touched+k] > 0
	}
	s.Optim.Step()
}

// Slowest tells which rank took longest for its shards since the last call, and how long all took on average per step.
func (s *Sharded) Slowest() (rank int, seconds, median float64) {
	list := make([]float64, len(s.seconds))
	for i, x := range s.seconds {
		list[i] = x / float64(max(1, s.steps))
		if list[i] > list[rank] {
			rank = i
		}
	}
	seconds = list[rank]
	slices.Sort(list)
	clear(s.seconds)
	s.steps = 0
	return rank, seconds, list[(len(list)-1)/2]
}

// share prepares a training that shares its batches.
func (t *trainer) share(ctx context.Context) (err error) {
	g := t.Ranks
	if t.sharded, err = NewSharded(t.Learner, g, t.shards()); err != nil {
		return err
	}
	t.pass.Shards = t.sharded.Shards()
	t.Protocol = t.Protocol.Among(g)
	spec, err := json.Marshal(t.Spec)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%s, seed %d, data %s, split %s, settings %s", t.Run.Model, t.Seed, t.Set.Hash(),
		t.Protocol.Split().Hash, spec)
	return g.Agree(ctx, "the training", what)
}

// shards is the number of parts of a batch; 0: it stays whole.
func (r *Run) shards() int {
	if r.Ranks == nil {
		return 0
	}
	return cmp.Or(r.Shards, DefaultShards)
}

// ranks is how many share the training; 0: nobody does.
func (r *Run) ranks() (size int, hosts []string) {
	if r.Ranks == nil {
		return 0, nil
	}
	return r.Ranks.Size(), r.Ranks.Hosts()
}

// start is what rank 0 tells the others when a training begins.
type start struct {
	Kept   bool        `json:"kept"` // a state to go on from follows
	Epochs []run.Epoch `json:"epochs"`
	Dir    bool        `json:"dir"` // rank 0 keeps files
}

// startTogether gives all ranks the state that rank 0 found in the run directory.
func (t *trainer) startTogether(ctx context.Context) error {
	own := start{Kept: t.kept, Epochs: t.epochs, Dir: t.Dir != ""}
	raw, err := json.Marshal(own)
	if err != nil {
		return err
	}
	if raw, err = t.Ranks.Broadcast(ctx, 0, raw); err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &own); err != nil {
		return err
	}
	if t.filed = own.Dir; !own.Kept {
		return nil
	}
	f, err := t.fileOfRoot(ctx, run.LastFile)
	if err != nil || t.Ranks.Rank() == 0 {
		return err
	}
	t.epochs, t.before = own.Epochs, len(own.Epochs)
	return t.goOn(f, false)
}

// fileOfRoot is a checkpoint in the run directory, which only rank 0 needs to see.
func (t *trainer) fileOfRoot(ctx context.Context, name string) (checkpoint.File, error) {
	var raw []byte
	if t.Ranks.Rank() == 0 {
		var err error
		if raw, err = os.ReadFile(t.dir.Path(name)); err != nil {
			return checkpoint.File{}, err
		}
	}
	raw, err := t.Ranks.Broadcast(ctx, 0, raw)
	if err != nil {
		return checkpoint.File{}, err
	}
	return checkpoint.Read(bytes.NewReader(raw), int64(len(raw)))
}

// stepTogether takes a step whose batch is shared.
func (t *trainer) stepTogether(ctx context.Context, s *replay.Step, done int) error {
	l := &t.pending[0]
	l.batch, l.positives, l.done = t.at.Batch, s.Span.Len(), done
	commit := func() error { return nil }
	if m, ok := t.evaluator().(model.StatefulScorer); ok && t.pass.Order == protocol.Arrival {
		commit = func() error { return t.pass.Remember(context.WithoutCancel(ctx), m, s.Span) }
	}
	found, err := t.sharded.Step(ctx, s, grad.Key(t.Seed, t.at.Step), commit)
	if err != nil {
		return t.failed(l, err)
	}
	l.results = append(append(l.results[:0], found.Logits...), found.Loss)
	t.at.Draws = s.AppendState(t.at.Draws[:0])
	t.at.Batch++
	t.at.Step++
	t.underway = l
	return t.settle()
}

// noteSlow reports a rank that the others had to wait for.
func (t *trainer) noteSlow() {
	if t.sharded == nil || t.Ranks.Size() == 1 {
		return
	}
	const much, little = 1.5, 0.002 // times the median; seconds that nobody notices
	rank, seconds, median := t.sharded.Slowest()
	if seconds > much*median && seconds-median > little {
		t.logger().Warn(fmt.Sprintf("rank %d on %s is slow: %.1f ms for its part of a step, the median is %.1f ms; "+
			"all ranks wait for it", rank, t.Ranks.Hosts()[rank], 1e3*seconds, 1e3*median))
	}
}

// resumeNegatives lets negatives go on where an epoch begins.
func (t *trainer) resumeNegatives() error {
	if r, ok := t.pass.Negatives.(sample.Resumable); ok && t.at.Batch == 0 {
		return r.SetState(t.at.Negatives)
	}
	return nil
}
