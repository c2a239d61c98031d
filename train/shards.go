package train

import (
	"context"
	"math"
	"time"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/collective"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/replay"
)

// layout is where the parts of a vector lie. The gradient comes last: it is summed up from its end, as a walk back
// finds it, and the rest is known when that is over.
type layout struct{ touched, loss, seconds, early, logits, gradient, end int }

func (s *Sharded) layout(queries int) layout {
	_, flat := s.Params().Flat()
	l := layout{loss: len(s.Params().All())}
	l.seconds = l.loss + 1
	l.early = l.seconds + s.group.Size()
	l.logits = l.early + len(s.blocks)
	l.gradient = l.logits + queries
	l.end = l.gradient + flat.Len
	return l
}

// Blocks of a gradient that are summed up one by one: enough that most of it is on its way before a walk back ends, and
// each so large that messages are few.
const (
	mostBlocks    = 4
	smallestBlock = 1 << 10 // numbers
)

// gradientBlocks cuts the parameters into blocks, from the last to the first: it tells the first one of each.
func gradientBlocks(params *nn.Params) (first []int) {
	_, flat := params.Flat()
	list, end, least := params.All(), flat.Len, max(smallestBlock, flat.Len/mostBlocks)
	for i := len(list) - 1; i > 0; i-- {
		if lo := list[i].Lo; end-lo >= least && lo > 0 {
			first, end = append(first, i), lo
		}
	}
	return append(first, 0)
}

// join puts blocks together that are final only when a walk back ends, as a step has found on all ranks: they would be
// messages that overlap with nothing. All ranks see the same sums, and so have the same blocks.
func (s *Sharded) join(at layout) {
	var kept []int
	for k, first := range s.blocks {
		if k == len(s.blocks)-1 || s.total[at.early+k] > 0 {
			kept = append(kept, first)
		}
	}
	s.blocks = kept
}

// sharing is what a rank does with the shards of one batch.
type sharing struct {
	*Sharded
	step *replay.Step
	key  uint64
	at   layout
}

// found is a shard whose results may be on their way from the device.
type found struct {
	leaf     []float32
	from, to int       // its events
	logits   []float32 // of its queries
	blocks   []device.Reading
	others   [2]device.Reading // loss and logits
}

// gradients finds those of this rank's shards, and the sum of all ranks' in total. The device computes a shard while
// the host adds up the one before. The sum begins while the last one is being found.
func (s sharing) gradients(ctx context.Context) error {
	began := time.Now()
	lo, hi := s.shards.Own()
	var before *found
	for i := lo; i < hi; i++ {
		f := s.begin(i)
		if i == hi-1 && s.group.Size() > 1 {
			s.add(before)
			return s.sumLast(ctx, f, i, began)
		}
		s.launch(f, i)
		s.add(before)
		before = f
	}
	s.add(before)
	began = clock(began, &s.spent.Compute)
	err := s.group.AllReduce(ctx, s.sum, s.total)
	clock(began, &s.spent.Exchange)
	return err
}

func (s sharing) begin(i int) *found {
	f := &found{leaf: s.sum.Room(s.at.end)}
	f.from, f.to = s.shards.Events(i, s.step.Span.Len())
	clear(f.leaf[:s.at.gradient])
	return f
}

// launch begins to find the gradient of a shard.
func (s sharing) launch(f *found, i int) {
	if f.from == f.to {
		clear(f.leaf)
		return
	}
	b := s.step.Shards[i]
	s.Reset(b, grad.Key(s.key, uint64(i)))
	s.Tape.Replay(model.StepKey(s.Model, b), s.body)
	_, flat := s.Params().Flat()
	f.blocks = append(f.blocks, device.ReadLater(s.Params().Device(), f.leaf[s.at.gradient:], flat))
	s.readOthers(f)
}

// readOthers brings what is known of a shard beside its gradient, once all kernels are enqueued.
func (s sharing) readOthers(f *found) {
	dev := s.Params().Device()
	for k, q := range s.Params().All() {
		if q.Touched {
			f.leaf[s.at.touched+k] = 1
		}
	}
	f.logits = make([]float32, s.Logits.Len())
	f.others[0] = device.ReadLater(dev, f.leaf[s.at.loss:s.at.loss+1], s.Loss.Data)
	f.others[1] = device.ReadLater(dev, f.logits, s.Logits.Data)
}

// add waits for a shard, which may be nil, and adds it to the sum.
func (s sharing) add(f *found) {
	if f == nil {
		return
	}
	for _, r := range f.blocks {
		r.Wait()
	}
	s.weigh(f, s.at.gradient, s.at.end)
	s.takeOthers(f)
	s.sum.Add(f.leaf)
	s.sum.Fold()
}

// takeOthers weighs the loss of a shard, and puts its logits where its queries stand in the batch: positives, then
// round after round of negatives.
func (s sharing) takeOthers(f *found) {
	for _, r := range f.others {
		r.Wait()
	}
	s.weigh(f, s.at.loss, s.at.loss+1)
	n, size, all := s.step.Span.Len(), f.to-f.from, f.leaf[s.at.logits:s.at.gradient]
	for round, own := 0, f.logits; len(own) > 0; round, own = round+1, own[size:] {
		copy(all[round*n+f.from:round*n+f.to], own[:size])
	}
}

// weigh multiplies numbers of a shard with its share of the batch.
func (s sharing) weigh(f *found, lo, hi int) {
	weight := float32(f.to-f.from) / float32(s.step.Span.Len())
	for k, x := range f.leaf[lo:hi] {
		f.leaf[lo+k] = x * weight
	}
}

// sumLast finds the gradient of this rank's last shard block by block, and sums up each of them with the other ranks
// while the next is being found.
func (s sharing) sumLast(ctx context.Context, f *found, i int, began time.Time) error {
	bounds := []int{s.at.end}
	for _, lo := range s.blocks[:len(s.blocks)-1] {
		bounds = append(bounds, s.at.gradient+s.Params().All()[lo].Lo)
	}
	bounds = append(bounds, 0) // the last block has what is beside the gradient, too
	s.sum.Add(f.leaf)
	r, err := s.group.Reduce(s.sum, s.total, bounds)
	if err != nil {
		return err
	}
	if f.from == f.to {
		clear(f.leaf)
	} else if err := s.walk(ctx, f, i, r, bounds); err != nil {
		return err
	}
	f.leaf[s.at.seconds+s.group.Rank()] = float32(time.Since(began).Seconds())
	began = clock(began, &s.spent.Compute)
	err = r.Finish(ctx)
	clock(began, &s.spent.Exchange)
	return err
}

// walk goes back through a shard. Where the device has computed a block when the call returns, its sum begins at once,
// and messages move between operations. Where the device computes on its own, all its work is enqueued first.
func (s sharing) walk(ctx context.Context, f *found, i int, r *collective.Reduction, bounds []int) (err error) {
	b := s.step.Shards[i]
	shape, dev := model.StepKey(s.Model, b), s.Params().Device()
	_, flat := s.Params().Flat()
	s.Reset(b, grad.Key(s.key, uint64(i)))
	s.Tape.NoteUses(true)
	defer s.Tape.NoteUses(false)
	move := func() {
		if err == nil {
			err = r.Move(ctx)
		}
	}
	if _, ok := dev.(device.Replayer); ok {
		move = nil // a recording has only kernels
	}
	ready, last := 0, len(s.blocks)-1
	settle := func() {
		f.blocks[ready].Wait()
		s.weigh(f, max(bounds[ready+1], s.at.gradient), bounds[ready])
		if ready < last && err == nil { // the last one has to wait for the rest of the vector
			err = r.Ready(ctx)
		}
		ready++
	}
	for k := range s.blocks {
		s.Tape.Replay(grad.Key(shape, uint64(k+1)), func() {
			if k == 0 {
				s.Forward()
				s.Params().ZeroGrad()
				s.Tape.StartBack(s.Loss)
			}
			to := s.firstUse(k)
			if s.Tape.WalkBack(to, move); to > 0 {
				f.leaf[s.at.early+k] = 1
			}
		})
		lo, hi := max(bounds[k+1], s.at.gradient), bounds[k]
		final := flat.Slice(lo-s.at.gradient, hi-s.at.gradient)
		f.blocks = append(f.blocks, device.ReadLater(dev, f.leaf[lo:hi], final))
		if f.blocks[k].Arrived() {
			settle()
		}
	}
	s.readOthers(f)
	for ready <= last {
		settle()
	}
	s.takeOthers(f)
	return err
}

// firstUse is how far a walk back must come until block k, and all before it, are final.
func (s sharing) firstUse(k int) int {
	if k == len(s.blocks)-1 {
		return 0
	}
	first := math.MaxInt
	for _, q := range s.Params().All()[s.blocks[k]:] {
		first = min(first, s.Tape.FirstUse(q.Tensor))
	}
	return first
}
