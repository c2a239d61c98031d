package servebench

import (
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
	Largest   float64        `json:"largest_difference"` // of two numbers
	First     string         `json:"first_difference,omitempty"`
	Seconds   float64        `json:"seconds"`
	AP        float64        `json:"ap,omitzero"`       // of the server's answers, with one negative for each event
	WhoBits   float64        `json:"who_bits,omitzero"` // instead, of a model of the task "next": bits per event
	Depends   []string       `json:"conditions,omitempty"`
	Disturbed *Disturbances  `json:"disturbed,omitempty"`

	next   bool
	within string // the window that is asked about
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
	verdict := Verdict{Events: from, Replayed: log.Len() - from}
	qs := questions(v.Set, from)
	want, err := v.offline(ctx, from, qs, &verdict)
	if err != nil {
		return Verdict{}, fmt.Errorf("verify: offline: %w", err)
	}
	began := time.Now()
	if err := v.online(ctx, from, qs, want, &verdict); err != nil {
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

// questions are the two queries before each event: about the event, and about another destination.
func questions(set *dataset.Set, from int) (qs []predict.Query) {
	all := set.Log.All()
	rng := rand.New(rand.NewPCG(16, 0))
	for i := from; i < all.Len(); i++ {
		q := predict.Query{Src: all.Src[i], Dst: all.Dst[i], Time: all.Time[i]}
		other := q
		other.Dst = all.Dst[rng.IntN(max(1, i))]
		qs = append(qs, q, other)
	}
	return qs
}

// offline is what the library answers. A model whose memory takes events in the order of arrival is asked within a
// replay of all events, as in an evaluation. All others are asked with all events known.
func (v Verification) offline(ctx context.Context, from int, qs []predict.Query, verdict *Verdict) ([]answer, error) {
	o := v.Load
	o.Set = v.Set
	l, err := v.open(o, verdict)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	size := len(qs) // of a pass
	if len(verdict.Depends) > 0 {
		size = 2 // scores depend on the other queries of a pass
	}
	if l.Remembers() && verdict.Order == protocol.Arrival {
		return replayed(ctx, l.Predictor, v.Set, from, qs, size)
	}
	return l.answers(ctx, qs, size, l.Score)
}

// replayed answers within a replay in the order of arrival, in passes of at most size queries.
func replayed(ctx context.Context, p *predict.Predictor, set *dataset.Set, from int, qs []predict.Query, size int) (
	[]answer, error) {
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
	var all []answer
	var questions replay.Questions
	plan := scorer.Plan()
	for step, err := range pass.Batches(ctx, scorer, set.Log.All()) {
		if err != nil {
			return nil, err
		}
		lo := step.Span.First() - from
		hi := lo + step.Span.Len()
		for some := range slices.Chunk(qs[2*max(0, lo):2*max(0, hi)], size) {
			if err := questions.Prepare(pass, plan, len(some)); err != nil {
				return nil, err
			}
			out := make([]float32, len(some))
			if err := scorer.Score(questions.Gather(some), out); err != nil {
				return nil, err
			}
			for _, x := range out {
				all = append(all, logit(x))
			}
		}
	}
	return all, nil
}

// online asks a server and compares its answers.
func (v Verification) online(ctx context.Context, from int, qs []predict.Query, want []answer,
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
	bits := 0.0
	name := v.Set.Names.Name
	for i := range len(qs) / 2 {
		one := v.Set.Log.At(from + i)
		e := client.Event{Src: name(one.Src), Dst: name(one.Dst), Time: one.Time, Label: float64(one.Label),
			Features: v.Set.Edge.Row(int(one.Edge))}
		asked, err := c.ScoreWithin(ctx, verdict.within, uint64(i), client.At(e.Src, e.Dst, e.Time),
			client.At(e.Src, name(qs[2*i+1].Dst), e.Time))
		if err != nil {
			return fmt.Errorf("event %d: %w", from+i, err)
		}
		if asked.AsOf != uint64(i) {
			return fmt.Errorf("event %d: the answer is as of %d, want %d", from+i, asked.AsOf, i)
		}
		for k, score := range asked.Scores {
			verdict.note(qs[2*i+k], served(score), want[2*i+k])
		}
		if verdict.next {
			bits -= math.Log2(max(want[2*i][0], math.SmallestNonzeroFloat64))
		}
		pos, neg = append(pos, asked.Scores[0].Logit), append(neg, asked.Scores[1].Logit)
		if _, err := c.Ingest(ctx, []client.Event{e}); err != nil {
			return fmt.Errorf("event %d: %w", from+i, err)
		}
		if v.OnEvent != nil {
			v.OnEvent(i+1, len(qs)/2)
		}
	}
	if verdict.next {
		verdict.WhoBits = bits / float64(max(1, len(qs)/2))
		return nil
	}
	var meter eval.Meter
	verdict.AP, _ = meter.Score(pos, neg)
	return nil
}

// note compares two answers.
func (v *Verdict) note(q predict.Query, online, offline answer) {
	v.Queries++
	same := true
	for k := range online {
		if math.Float64bits(online[k]) != math.Float64bits(offline[k]) {
			same = false
			v.Largest = max(v.Largest, math.Abs(online[k]-offline[k]))
		}
	}
	if same {
		return
	}
	v.Different++
	if v.First == "" {
		what, width := "", 1
		if v.next {
			what, width = "share, rate, probability and number in a window ", len(online)
		}
		v.First = fmt.Sprintf("query %d of %d and %d at %v: %sonline %v, offline %v",
			v.Queries, q.Src, q.Dst, q.Time, what, online[:width], offline[:width])
	}
}
