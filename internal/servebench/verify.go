package servebench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/dygmamba/dygmamba/client"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/serve"
)

// Verification says which events are replayed.
type Verification struct {
	Set        *dataset.Set
	Checkpoint string
	Load       predict.Options // how the checkpoint is opened, offline and by the server
	From       int             // events that the server starts with; 0: all before the test part
	OnEvent    func(done, total int)
}

// Verdict is the result of a verification.
type Verdict struct {
	Model     string         `json:"model"`
	Order     protocol.Order `json:"order,omitempty"`
	Events    int            `json:"events"` // that the server started with
	Replayed  int            `json:"replayed"`
	Queries   int            `json:"queries"`
	Different int            `json:"different"`          // answers that differ in any bit
	Largest   float64        `json:"largest_difference"` // of two logits
	First     string         `json:"first_difference,omitempty"`
	Seconds   float64        `json:"seconds"`
	AP        float64        `json:"ap"` // of the server's answers, with one negative for each event
	Depends   []string       `json:"conditions,omitempty"`
}

// Same says whether the answers differ by no more than within.
func (v Verdict) Same(within float64) bool { return v.Different == 0 || v.Largest <= within }

// Verify replays the last part of a data set through a real server over HTTP. Before each event it asks for the score
// of this event, and of the same source with a random destination; then it adds the event. It compares the answers with
// those of the library, which has all events from the beginning.
func Verify(ctx context.Context, v Verification) (Verdict, error) {
	log := v.Set.Log
	if !log.Sorted() {
		return Verdict{}, errors.New("verify: the events of the data set are not in the order of time")
	}
	from := v.From
	if from == 0 {
		from = testStart(log)
	}
	if from < 0 || from >= log.Len() {
		return Verdict{}, fmt.Errorf("verify: the server starts with %d of %d events: there is nothing to replay",
			from, log.Len())
	}
	groups := questions(v.Set, from)
	want, spec, err := v.offline(ctx, from, groups)
	if err != nil {
		return Verdict{}, fmt.Errorf("verify: offline: %w", err)
	}
	verdict := Verdict{Model: want.name, Order: spec.Order, Events: from, Replayed: log.Len() - from,
		Depends: spec.Conditions()}
	began := time.Now()
	if err := v.online(ctx, from, groups, want.logits, &verdict); err != nil {
		return verdict, fmt.Errorf("verify: online: %w", err)
	}
	verdict.Seconds = time.Since(began).Seconds()
	return verdict, nil
}

// testStart is the number of the first event of the test part.
func testStart(log *event.Log) int {
	times := log.All().Time
	at := dataset.Quantile(times, 0.85)
	n, _ := slices.BinarySearch(times, math.Nextafter(at, math.Inf(1)))
	return min(n, log.Len()-1)
}

// questions are the queries before each event: about the event, and about another destination.
func questions(set *dataset.Set, from int) [][2]predict.Query {
	all := set.Log.All()
	rng := rand.New(rand.NewPCG(16, 0))
	var groups [][2]predict.Query
	for i := from; i < all.Len(); i++ {
		q := predict.Query{Src: all.Src[i], Dst: all.Dst[i], Time: all.Time[i]}
		other := q
		other.Dst = all.Dst[rng.IntN(max(1, i))]
		groups = append(groups, [2]predict.Query{q, other})
	}
	return groups
}

type offlineAnswers struct {
	name   string
	logits []float32 // two for each group
}

// offline is what the library answers. A model whose memory takes events in the order of arrival is asked within a
// replay of all events, as in an evaluation. All others are asked with all events known.
func (v Verification) offline(ctx context.Context, from int, groups [][2]predict.Query) (a offlineAnswers,
	spec model.Spec, err error) {
	o := v.Load
	o.Set = v.Set
	p, err := predict.Load(v.Checkpoint, o)
	if err != nil {
		return a, spec, err
	}
	defer p.Close()
	spec, a.name = p.Spec(), p.Model()
	switch {
	case p.Remembers() && spec.Order == protocol.Arrival:
		a.logits, err = replayed(ctx, p, v.Set, from, groups)
	case len(spec.Conditions()) > 0: // scores depend on the other queries of a pass
		for _, g := range groups {
			logits, err := p.Score(ctx, g[:])
			if err != nil {
				return a, spec, err
			}
			a.logits = append(a.logits, logits...)
		}
	default:
		var qs []predict.Query
		for _, g := range groups {
			qs = append(qs, g[0], g[1])
		}
		a.logits, err = p.Score(ctx, qs)
	}
	return a, spec, err
}

// replayed answers within a replay in the order of arrival.
func replayed(ctx context.Context, p *predict.Predictor, set *dataset.Set, from int,
	groups [][2]predict.Query) ([]float32, error) {
	scorer := p.Scorer()
	memory, ok := scorer.(model.StatefulScorer)
	if !ok {
		return nil, errors.New("the model has no memory")
	}
	if err := memory.Restore(nil); err != nil {
		return nil, err
	}
	past := index.Freeze(set.Log)
	pass := replay.Pass{Past: past, BatchSize: p.Spec().Training.BatchSize, Order: protocol.Arrival,
		Sampling: set.Sampling, Seed: 1}
	var logits []float32
	var questions replay.Questions
	alone := len(p.Spec().Conditions()) > 0
	plan := scorer.Plan()
	for step, err := range pass.Batches(ctx, scorer, set.Log.All()) {
		if err != nil {
			return nil, err
		}
		var qs []predict.Query
		for i := range step.Span.Len() {
			if n := step.Span.First() + i - from; n >= 0 {
				qs = append(qs, groups[n][0], groups[n][1])
			}
		}
		size := cmp.Or(len(qs), 1)
		if alone {
			size = 2
		}
		for some := range slices.Chunk(qs, size) {
			if err := questions.Prepare(pass, plan, len(some)); err != nil {
				return nil, err
			}
			out := make([]float32, len(some))
			if err := scorer.Score(questions.Gather(some), out); err != nil {
				return nil, err
			}
			logits = append(logits, out...)
		}
	}
	return logits, nil
}

// online asks a server and compares its answers.
func (v Verification) online(ctx context.Context, from int, groups [][2]predict.Query, want []float32,
	verdict *Verdict) error {
	s, err := start(ctx, serve.Options{
		Set: v.Set.First(from), Checkpoint: v.Checkpoint, Load: v.Load, Log: eventlog.NewMemory(),
	})
	if err != nil {
		return err
	}
	defer s.stop()
	c := client.New(s.port.URL())
	c.HTTP = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
	defer c.HTTP.CloseIdleConnections()
	var pos, neg []float32
	for i, g := range groups {
		e := v.event(from + i)
		asked, err := c.Score(ctx, client.At(e.Src, e.Dst, e.Time), client.At(e.Src, v.name(g[1].Dst), e.Time))
		if err != nil {
			return fmt.Errorf("event %d: %w", from+i, err)
		}
		if asked.AsOf != uint64(i) {
			return fmt.Errorf("event %d: the answer is as of %d, want %d", from+i, asked.AsOf, i)
		}
		for k, score := range asked.Scores {
			verdict.note(g[k], score.Logit, want[2*i+k])
		}
		pos, neg = append(pos, asked.Scores[0].Logit), append(neg, asked.Scores[1].Logit)
		if _, err := c.Ingest(ctx, []client.Event{e}); err != nil {
			return fmt.Errorf("event %d: %w", from+i, err)
		}
		if v.OnEvent != nil {
			v.OnEvent(i+1, len(groups))
		}
	}
	var meter eval.Meter
	verdict.AP, _ = meter.Score(pos, neg)
	return nil
}

// note compares two answers.
func (v *Verdict) note(q predict.Query, online, offline float32) {
	v.Queries++
	if math.Float32bits(online) == math.Float32bits(offline) {
		return
	}
	v.Different++
	if v.First == "" {
		v.First = fmt.Sprintf("query %d of %d and %d at %v: online %v, offline %v",
			v.Queries, q.Src, q.Dst, q.Time, online, offline)
	}
	v.Largest = max(v.Largest, math.Abs(float64(online)-float64(offline)))
}

// name is the name of a node.
func (v Verification) name(n event.Node) string { return v.Set.Names.Name(n) }

// event is an event of the set as a client sends it.
func (v Verification) event(i int) client.Event {
	e := v.Set.Log.At(i)
	return client.Event{Src: v.name(e.Src), Dst: v.name(e.Dst), Time: e.Time, Label: float64(e.Label),
		Features: v.Set.Edge.Row(int(e.Edge))}
}
