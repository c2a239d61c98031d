package eval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"strconv"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/rng"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/sample"
)

// The protocol of the Temporal Graph Benchmark (TGB 2.3) for links: of every test event the source and the time are
// kept, and the place of its destination among others is what counts. Equal scores take the mean of the best and the
// worst place that they could have; the measure is the mean of 1/place over all events.

// Opponents are the destinations that an event's own has to stand out from. The event has a number within the test; a
// list is valid until the next call.
type Opponents func(number int, e event.Event) ([]event.Node, error)

// CandidateScorer gives one score for each candidate, as if each were asked about alone, with what is remembered at
// this moment.
type CandidateScorer func(
	ctx context.Context, src event.Node, at event.Time, candidates []event.Node,
) ([]float32, error)

// RankOptions say how places are found.
type RankOptions struct {
	Opponents Opponents
	Limit     int             // ask about a seeded draw of this many test events; 0: all
	Ask       CandidateScorer // nil: the scorer is asked query by query
}

// Ranked is what the places of destinations say.
type Ranked struct {
	Ranking
	Positives  int     // test events that were asked about
	Of         int     // test events that there are
	Candidates float64 // opponents of each, in the mean
	Batches    int
	Opponents  string // SHA-256 of "u,i,t:v;v;…" and a newline for each event that was asked about
}

// Rank measures a scorer on Test in this way and rewinds what it remembers. Events become part of its memory in the
// protocol's order, as in Evaluate.
func (p *Protocol) Rank(ctx context.Context, s replay.Scorer, o RankOptions) (r Ranked, err error) {
	err = rewound(s, true, func() error {
		r, err = p.rank(ctx, s, o)
		return err
	})
	return r, err
}

func (p *Protocol) rank(ctx context.Context, s replay.Scorer, o RankOptions) (Ranked, error) {
	pass := p.pass(p.full(), nil, 1)
	if o.Ask == nil {
		var questions replay.Questions
		if err := questions.Prepare(pass, alone{s}.Plan(), 0); err != nil {
			return Ranked{}, err
		}
		o.Ask = oneByOne(&questions, s)
	}
	events := p.parts[Test].All()
	chosen := drawn(events.Len(), o.Limit)
	r := Ranked{Of: events.Len(), Positives: len(chosen)}
	h := sha256.New()
	for step, err := range pass.Batches(ctx, s, events) {
		if err != nil {
			return r, fmt.Errorf("rank: %w", err)
		}
		r.Batches++
		end := step.Span.First() + step.Span.Len()
		for ; len(chosen) > 0 && int(chosen[0]) < end; chosen = chosen[1:] {
			if err := ctx.Err(); err != nil {
				return r, err
			}
			if err := r.place(ctx, int(chosen[0]), events.At(int(chosen[0])), o, h); err != nil {
				return r, fmt.Errorf("rank: %w", err)
			}
		}
	}
	r.Candidates /= float64(max(1, r.Positives))
	r.Opponents = hex.EncodeToString(h.Sum(nil))
	return r, nil
}

func (r *Ranked) place(ctx context.Context, number int, e event.Event, o RankOptions, h hash.Hash) error {
	others, err := o.Opponents(number, e)
	if err != nil {
		return err
	}
	candidates := append([]event.Node{e.Dst}, others...)
	scores, err := o.Ask(ctx, e.Src, e.Time, candidates)
	if err != nil {
		return err
	}
	for i, x := range scores {
		if x != x {
			return fmt.Errorf("%d and %d at %v got NaN, must be a number", e.Src, candidates[i], e.Time)
		}
	}
	r.add(Rank(scores[0], scores[1:]), r.Positives)
	r.Candidates += float64(len(others))
	line := appendQuery(nil, e.Src, e.Dst, e.Time)
	for i, v := range others {
		line = strconv.AppendInt(append(line, ":;"[min(1, i)]), int64(v), 10)
	}
	h.Write(append(line, '\n'))
	return nil
}

// drawn are the numbers of this many of n events, ascending; 0, or more than there are, is all of them.
func drawn(n, limit int) []int32 {
	if limit == 0 || limit > n {
		limit = n
	}
	list := rng.New(0, "ranked events").Sample(n, limit)
	slices.Sort(list)
	return list
}

// alone is a planner whose queries do not know of each other.
type alone struct{ replay.Planner }

func (a alone) Plan() sample.Plan {
	p := a.Planner.Plan()
	p.Alone, p.ByCall = true, false
	return p
}

func oneByOne(questions *replay.Questions, s model.Scorer) CandidateScorer {
	return func(ctx context.Context, src event.Node, at event.Time, candidates []event.Node) ([]float32, error) {
		qs := make([]sample.Query, len(candidates))
		for i, v := range candidates {
			qs[i] = sample.Query{Src: src, Dst: v, Time: at}
		}
		out, done := make([]float32, len(qs)), 0
		for b, err := range questions.Batches(ctx, qs) {
			if err != nil {
				return nil, err
			}
			n := len(b.Queries)
			if err := s.Score(b, out[done:done+n]); err != nil {
				return nil, err
			}
			done += n
		}
		return out, nil
	}
}

// Others are all destinations of the whole stream but those that the source meets at that very time, or this many of
// these, drawn for each event by our own generator; 0: all.
func (p *Protocol) Others(count int) Opponents {
	all := slices.Clone(p.split.Full.All().Dst)
	slices.Sort(all)
	all = slices.Compact(all)
	events := p.parts[Test].All()
	var list []event.Node
	return func(number int, e event.Event) ([]event.Node, error) {
		met := metAtOnce(events, number)
		list = list[:0]
		for _, v := range all {
			if !slices.Contains(met, v) {
				list = append(list, v)
			}
		}
		if count == 0 || count >= len(list) {
			return list, nil
		}
		some := make([]event.Node, count)
		for i, k := range rng.New(uint64(number), "opponents").Sample(len(list), count) {
			some[i] = list[k]
		}
		return some, nil
	}
}

// metAtOnce are the destinations that the source of an event meets at its time, in a log in the order of time.
func metAtOnce(events event.Span, number int) []event.Node {
	src, at := events.Src[number], events.Time[number]
	lo, hi := number, number+1
	for lo > 0 && events.Time[lo-1] == at {
		lo--
	}
	for hi < events.Len() && events.Time[hi] == at {
		hi++
	}
	var met []event.Node
	for i := lo; i < hi; i++ {
		if events.Src[i] == src {
			met = append(met, events.Dst[i])
		}
	}
	return met
}

// ErrNoOpponents says that a list does not have every event that is asked about.
var ErrNoOpponents = fmt.Errorf("no opponents")

// ListedOthers are those of a list, by event, without its own destination.
func ListedOthers(list map[sample.Query][]event.Node) Opponents {
	return func(number int, e event.Event) ([]event.Node, error) {
		found, ok := list[sample.Query{Src: e.Src, Dst: e.Dst, Time: e.Time}]
		if !ok {
			return nil, fmt.Errorf("%w are listed for test event %d, %d and %d at %v, want some for each",
				ErrNoOpponents, number+1, e.Src, e.Dst, e.Time)
		}
		return slices.DeleteFunc(slices.Clone(found), func(v event.Node) bool { return v == e.Dst }), nil
	}
}
