package model

import (
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Sharer is a model that can spare itself work where queries are alike, as those about one source at one time are.
type Sharer interface {
	Model
	// Share is Embed, which computes what is the same for several queries once. On the CPU it says the same to the last
	// digit. It is not differentiated, and two batches of one size may go through different steps.
	Share(tp *grad.Tape, b *sample.Batch) Embedding
}

// Sided is a model that describes each node alone, and in the same way whether it is a source or a destination: Sided
// only says so. The source of many queries need then be described once.
type Sided interface {
	Model
	Sided()
}

// ScoreAlike is Score for queries that have much in common.
func (s *DeviceScorer) ScoreAlike(b *sample.Batch, out []float32) error {
	m, ok := Unpaired(s.model).(Sharer)
	if !ok || len(b.Calls) > 0 || len(b.Queries) == 0 {
		return s.Score(b, out)
	}
	return s.aside(out, func(tp *grad.Tape) *tensor.Tensor { return s.head.Logit(tp, m.Share(tp, b)) })
}

// SidedPlan is what a sided model wants gathered, false if the model is none or looks at queries in another way: what
// is picked at random, and how long rows are, depends on who else is asked about.
func (s *DeviceScorer) SidedPlan() (sample.Plan, bool) {
	m := Unpaired(s.model)
	return m.Plan(), isSided(m)
}

func isSided(m Model) bool {
	_, ok := m.(Sided)
	p := m.Plan()
	for _, d := range p.Draws {
		ok = ok && d.RowLen > 0
	}
	return ok && p.Picker == nil && p.Counts == sample.NoCounts && p.PairGaps == 0
}

// Pair puts nodes two by two into queries, so that a sided model describes as many of them as it can at once.
func Pair(nodes []sample.Query) []sample.Query {
	var pairs []sample.Query
	for i := 0; i < len(nodes); i += 2 {
		q := nodes[i]
		q.Src, q.Dst = q.Dst, nodes[min(i+1, len(nodes)-1)].Dst
		pairs = append(pairs, q)
	}
	return pairs
}

// ScorePaired scores the first node of a batch that Pair has made as the source of all others.
func (s *DeviceScorer) ScorePaired(b *sample.Batch, out []float32) error {
	n := len(b.Queries)
	source, others := make([]int32, len(out)), make([]int32, len(out)) // rows of [2n, ·]: sources, then destinations
	for j := range others {
		node := j + 1
		others[j] = int32(node%2*n + node/2)
	}
	return s.aside(out, func(tp *grad.Tape) *tensor.Tensor {
		e := s.model.Embed(tp, b)
		all := grad.Stack(tp, e.Src, e.Dst) // [2n, ·]
		return s.head.Logit(tp, Embedding{
			Src: grad.Gather(tp, all, tp.Ints(source), 1), Dst: grad.Gather(tp, all, tp.Ints(others), 1), // [n, ·]
		})
	})
}

// aside computes logits on a tape of its own: its steps are seldom twice the same.
func (s *DeviceScorer) aside(out []float32, logits func(tp *grad.Tape) *tensor.Tensor) error {
	return tensor.Guard(func() {
		if s.alike == nil {
			s.alike = grad.NewTape(s.tape.Device(), false)
		}
		s.alike.Reset(0)
		l := logits(s.alike) // [n, 1]
		s.alike.Device().Read(out[:l.Len()], l.Data)
	})
}
