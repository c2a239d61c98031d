package train

import (
	"context"
	"fmt"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/dry"
	"github.com/dygmamba/dygmamba/internal/memory"
	"github.com/dygmamba/dygmamba/internal/next"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// MemoryError says before training that it would not fit.
type MemoryError struct {
	Device      string
	Need, Limit int64 // bytes
	Host        int64 // of Need: data, indexes and batches in main memory
	Hint        string
}

func (e *MemoryError) Error() string {
	host := ""
	if e.Host > 0 {
		host = fmt.Sprintf(" (%s of that for data, indexes and batches in main memory)", mebibytes(e.Host))
	}
	return fmt.Sprintf("%s: training needs %s%s, %s may be used; %s",
		e.Device, mebibytes(e.Need), host, mebibytes(e.Limit), e.Hint)
}

func mebibytes(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

// Memory is what training takes on the device, in bytes.
type Memory struct {
	Fixed int64 // parameters, their gradients and moments, features and other tables that steps share
	Step  int64 // activations and gradients of one batch
	Score int64 // activations of one batch in evaluation and of one that is remembered, which keep what Step has
	Host  int64 // events, indexes and batches on their way, in main memory
	Own   int64 // what the device takes for itself meanwhile: partial sums, inputs on their way, its driver

	stepRoom  int64 // the parts of Step and Score that can be reserved
	scoreRoom model.Room
}

func (m Memory) sum() int64 { return m.Fixed + m.Step + m.Score + m.Own }

// counted is what a limit is compared with. A limit that someone set is for main memory too: together with what a CPU
// takes, or else for each of the two. What is free is known only after the data were read, so they do not count.
func (r *Run) counted(m Memory) int64 {
	_, onHost := r.Device.(device.Threaded)
	switch {
	case r.MemoryLimit == 0:
		return m.sum()
	case onHost:
		return m.sum() + m.Host
	}
	return max(m.sum(), m.Host)
}

// host is about what the events and their indexes take in main memory.
func (r *Run) host() int64 {
	const indexed = 2 * 16 // bytes of an event: a neighbour, an edge and a time at each of its ends
	split := r.Protocol.Split()
	bytes := r.Set.Log.Bytes() + 4*(len(r.Set.Edge.Data)+len(r.Set.Node.Data))
	for _, l := range []*event.Log{split.Train, split.Val, split.Test, split.NewVal, split.NewTest} {
		bytes += l.Bytes()
	}
	return int64(bytes) + indexed*int64(split.Full.Len()+split.Train.Len())
}

// hostFits refuses, before anything is indexed, large data that need more main memory than a limit has. Of others plan
// knows more.
func (r *Run) hostFits() error {
	const large = 64 << 20
	if need := r.host(); r.MemoryLimit > 0 && need > max(large, r.MemoryLimit) {
		return &MemoryError{Device: "main memory", Need: need, Limit: r.MemoryLimit,
			Hint: "that is for the events and their indexes alone, whatever the model: fewer events would fit"}
	}
	return nil
}

// plan runs one step without computing anything, which tells what a real one will take at most, and compares with what
// is there.
func (r *Run) plan(ctx context.Context, pass replay.Pass) (Memory, error) {
	need, err := r.needOf(ctx, pass, r.Spec.Training.BatchSize)
	if err != nil {
		return need, err
	}
	limit := r.MemoryLimit
	if g, ok := r.Device.(device.Limited); limit == 0 && ok {
		limit = g.FreeBytes()
	} else if limit == 0 {
		limit = spare(memory.Available())
	}
	if limit <= 0 || r.counted(need) <= limit {
		return need, nil
	}
	hint, err := r.hint(ctx, pass, limit)
	if err != nil {
		return need, err
	}
	failed := &MemoryError{Device: r.Device.Name(), Need: r.counted(need), Limit: limit, Hint: hint}
	if failed.Need > need.sum() {
		failed.Host = need.Host
	}
	return need, failed
}

// spare is what the plan may take of the memory that is free on the host. The rest is for what it does not count: the
// program itself, batches on their way, a copy of the weights while they are saved, and what the garbage collector
// has not found yet.
func spare(free int64) int64 {
	const program = 40 << 20 // 25 to 40 MiB were measured, for needs of 70 to 370 MiB
	if free == 0 {
		return 0 // nobody knows
	}
	return max(1, free-program-free/32)
}

// hint names settings that would fit: the largest batch does, for it is tried.
func (r *Run) hint(ctx context.Context, pass replay.Pass, limit int64) (string, error) {
	fit, above := 0, r.Spec.Training.BatchSize
	for above-fit > 1 {
		batch := (fit + above) / 2
		need, err := r.needOf(ctx, pass, batch)
		if err != nil {
			return "", err
		}
		if r.counted(need) <= limit {
			fit = batch
		} else {
			above = batch
		}
	}
	if fit == 0 {
		return "no batch_size fits" + r.lighter("; ", " may need less"), nil
	}
	return fmt.Sprintf("batch_size=%d would fit", fit) + r.lighter(", and so may ", ""), nil
}

// lighter is what the model says about settings that need less.
func (r *Run) lighter(before, after string) string {
	if r.Factory.Lighter == "" {
		return ""
	}
	return before + r.Factory.Lighter + after
}

// needOf is what training takes with batches of a size, of which a step has one shard where ranks share them.
func (r *Run) needOf(ctx context.Context, pass replay.Pass, batch int) (Memory, error) {
	need, err := r.need(ctx, pass, batch)
	k := r.shards()
	if k == 0 || err != nil {
		return need, err
	}
	shard, err := r.need(ctx, pass, (batch+k-1)/k)
	need.Step, need.stepRoom = shard.Step, shard.stepRoom
	return need, err
}

// need is what training takes with batches of a size.
func (r *Run) need(ctx context.Context, pass replay.Pass, batch int) (need Memory, err error) {
	dev, taken, own := dry.Like(r.Device)
	l, err := r.Learner(dev)
	if err != nil {
		return need, err
	}
	need.Fixed = taken.Bytes() - l.Tape.Bytes() - r.unwritten(taken.Sparse())
	pass.BatchSize = batch
	if pass.Negatives != nil {
		pass.Negatives = echo{} // the generator must not move yet
	}
	if c := l.Chooser(); c != nil && c.Feed().Lists() != nil {
		pass.PerPositive = c.Feed().Lists().Rounds()
	}
	events := r.Protocol.TrainEvents()
	n := min(events.Len(), batch)
	under := pass
	under.BatchSize = n
	need.Host = r.host() + int64(under.Bytes(l.Model.Plan()))
	events = events.Slice(events.Len()-n, events.Len())
	if c := l.Chooser(); c != nil { // of which all batches are alike; nothing is to be counted for this one
		c.Feed().Begin(0, events)
	}
	for step, err := range pass.Batches(ctx, longest{l.Model}, events) {
		if err != nil {
			return need, err
		}
		err := tensor.Guard(func() {
			before := taken.Bytes()
			model.StepKey(l.Model, step.Batch) // tables that steps share grow here
			need.Fixed += taken.Bytes() - before
			l.Step(step.Batch, 0)
			need.Step, need.stepRoom = l.Tape.Bytes(), l.Tape.Room()
		})
		if err != nil {
			return need, err
		}
		if c := l.Chooser(); c != nil {
			bytes, err := needOfNet(c)
			if err != nil {
				return need, err
			}
			if need.Score = bytes; c.Feed().Short == 0 {
				continue
			}
		}
		scorer := model.NewScorerWith(l.Model, l.Head())
		if err := scorer.Score(step.Batch, make([]float32, r.Spec.Outputs()*len(step.Batch.Queries))); err != nil {
			return need, err
		}
		if err := remember(ctx, pass, scorer, step); err != nil {
			return need, err
		}
		need.Score, need.scoreRoom = need.Score+scorer.Bytes(), scorer.Room()
	}
	need.Own = own()
	return need, nil
}

// unwritten is how much of large tables with a row for each node is never written, where that takes no memory: rows of
// nodes that take part in none of the events of this training.
func (r *Run) unwritten(tables []int64) (bytes int64) {
	const page = 4096 // is there as a whole if a part of it is written
	if _, sparse := r.Device.(device.Sparse); !sparse {
		return 0
	}
	nodes := int64(r.Set.NumNodes())
	for _, size := range tables {
		if size >= device.SparseBytes {
			bytes += max(0, size-int64(r.active())*(size/nodes+page))
		}
	}
	return bytes
}

// active is the number of nodes that take part in events of the training, the validation or the test.
func (r *Run) active() int {
	if r.actives > 0 {
		return r.actives
	}
	seen, split := make([]bool, r.Set.NumNodes()), r.Protocol.Split()
	for _, l := range []*event.Log{split.Train, split.Val, split.Test} {
		all := l.All()
		for _, nodes := range [][]event.Node{all.Src, all.Dst} {
			for _, n := range nodes {
				if !seen[n] {
					seen[n] = true
					r.actives++
				}
			}
		}
	}
	return r.actives
}

// needOfNet is what asking about many candidates at once takes.
func needOfNet(c model.Chooser) (int64, error) {
	net := model.NewNet(c)
	defer net.Close()
	err := net.Scores(next.Returning, make([]float32, next.Chunk*c.Feed().Width), make([]float32, next.Chunk))
	return net.Bytes(), err
}

// remember lets a model that remembers learn of a batch, as the walk through an epoch or an evaluation does.
func remember(ctx context.Context, pass replay.Pass, s *model.DeviceScorer, step *replay.Step) error {
	m, remembers := s.Scorer().(model.StatefulScorer)
	switch {
	case !remembers:
		return nil
	case pass.Order == protocol.Arrival:
		return m.Commit(step.Batch)
	}
	return pass.Remember(ctx, m, step.Span)
}

// longest asks for rows that are as long as any that the model will see, and for nothing that takes long to find.
type longest struct{ model.Model }

func (m longest) Plan() sample.Plan { return m.Model.Plan().Sizes() }

// echo stands in for negatives: the positives again, which take as much memory.
type echo struct{}

func (echo) Draw(pos event.Span, out []sample.Query) {
	for i := range out {
		e := pos.At(i % pos.Len())
		out[i] = sample.Query{Src: e.Src, Dst: e.Dst, Time: e.Time}
	}
}

func (echo) Reset() {}
