package serve

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/predict"
)

// quality measures the model on new events. Some of them are ranked among random destinations, as the model would have
// before they came, and so does EdgeBank, the rule that pairs that have met will meet again. It takes a small share of
// one core and skips events it has no time for.
type quality struct {
	server *Server
	offers chan offer
	rng    *rand.Rand

	mu     sync.Mutex // guards what follows
	window []trial    // the latest, at most windowSize
	series []qualityDoc
	rates  rates
}

// offer is a new event, and the state before it.
type offer struct {
	before, after *state
	number        int // of the event in after
}

type trial struct {
	pos, neg       float32 // logits of the event and of one negative
	rank           float64 // among all negatives
	metPos, metNeg float32 // 1 if the two had met
	metRank        float64
}

// measures are averages over the window.
type measures struct {
	AP  float64 `json:"ap"`
	MRR float64 `json:"mrr"`
}

// qualityDoc is the quality of the answers at one time.
type qualityDoc struct {
	Time   time.Time `json:"time"`
	Trials int       `json:"trials"` // in the averages
	Model  measures  `json:"model"`
	Met    measures  `json:"met"` // of EdgeBank
}

const (
	windowSize   = 500
	negatives    = 20
	qualityShare = 20 // one part of the time in this many
)

func newQuality(s *Server) *quality {
	return &quality{server: s, offers: make(chan offer, 8), rng: rand.New(rand.NewPCG(1, 2))}
}

// applied is called by the engine's goroutine after every batch.
func (q *quality) applied(before, after *state) {
	n := after.Len() - before.Len()
	q.rates.add(after.at, n)
	select {
	case q.offers <- offer{before, after, before.Len() + q.rng.IntN(n)}:
	default: // busy
	}
}

func (q *quality) watch(ctx context.Context) {
	rng := rand.New(rand.NewPCG(3, 4))
	for {
		select {
		case <-ctx.Done():
			return
		case o := <-q.offers:
			began := time.Now()
			if t, ok := q.ask(ctx, o, rng); ok {
				q.note(t)
			}
			sleep(ctx, min(qualityShare*time.Since(began), 5*time.Second))
			for len(q.offers) > 0 { // too old now
				<-q.offers
			}
		}
	}
}

// ask ranks the destination of an event as if the event had not come. A query at t sees only events before t, so that
// it does not matter that the event is known. It fails if the model's memory already contains the event.
func (q *quality) ask(ctx context.Context, o offer, rng *rand.Rand) (t trial, ok bool) {
	e := o.after.Events().At(o.number)
	if len(o.before.targets) < 2 {
		return t, false
	}
	candidates := []event.Node{e.Dst}
	for tries := 0; len(candidates) <= negatives && tries < 10*negatives; tries++ {
		if n := o.before.targets[rng.IntN(len(o.before.targets))]; !slices.Contains(candidates, n) {
			candidates = append(candidates, n)
		}
	}
	if len(candidates) < 2 {
		return t, false
	}
	logits := make([]float32, len(candidates))
	job := &job{ctx: ctx, do: func(p *predict.Predictor, _ *resolver) error {
		if p.Reached() >= e.Time {
			return errLate
		}
		asked := predict.Query{Src: e.Src, Time: e.Time}
		if p.Spec().Training.ByKind() {
			asked.Kind = e.Kind
		}
		found, err := p.RankOf(ctx, asked, candidates, 0)
		for _, f := range found {
			logits[slices.Index(candidates, f.Node)] = f.Logit
		}
		return err
	}}
	if err := q.server.models.ask(job); err != nil {
		return t, false
	}
	met := make([]float32, len(candidates))
	for _, n := range o.before.Before(e.Src, e.Time).Node {
		if i := slices.Index(candidates, n); i >= 0 {
			met[i] = 1
		}
	}
	rank, metRank := eval.Rank(logits[0], logits[1:]), eval.Rank(met[0], met[1:])
	return trial{logits[0], logits[1], rank, met[0], met[1], metRank}, true
}

var errLate = errors.New("the model has already learned from this event")

func (q *quality) note(t trial) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.window = append(q.window, t)
	if len(q.window) > windowSize {
		q.window = q.window[1:]
	}
	doc := q.measure()
	doc.Time = doc.Time.Truncate(2 * time.Second)
	if n := len(q.series); n == 0 || doc.Time.After(q.series[n-1].Time) {
		q.series = append(q.series, doc)
	} else {
		q.series[n-1] = doc
	}
	if len(q.series) > 300 {
		q.series = q.series[1:]
	}
}

func (q *quality) now() qualityDoc {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.measure()
}

func (q *quality) measure() qualityDoc {
	doc := qualityDoc{Time: time.Now(), Trials: len(q.window)}
	if len(q.window) == 0 {
		return doc
	}
	var pos, neg, metPos, metNeg []float32
	for _, t := range q.window {
		pos, neg = append(pos, t.pos), append(neg, t.neg)
		metPos, metNeg = append(metPos, t.metPos), append(metNeg, t.metNeg)
		doc.Model.MRR += 1 / t.rank / float64(len(q.window))
		doc.Met.MRR += 1 / t.metRank / float64(len(q.window))
	}
	var meter eval.Meter
	doc.Model.AP, _ = meter.Score(pos, neg)
	doc.Met.AP, _ = meter.Score(metPos, metNeg)
	return doc
}

// rates counts events by the second, over the last minutes.
type rates struct {
	mu     sync.Mutex
	counts map[int64]int
}

func (r *rates) add(at time.Time, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = map[int64]int{}
	}
	r.counts[at.Unix()] += n
	if len(r.counts) > 600 {
		maps.DeleteFunc(r.counts, func(second int64, _ int) bool { return second < at.Unix()-300 })
	}
}

// last are the counts of the last n full seconds, oldest first.
func (r *rates) last(n int, at time.Time) []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]int, n)
	for i := range list {
		list[i] = r.counts[at.Unix()-int64(n-i)]
	}
	return list
}

type latencies struct {
	mu   sync.Mutex
	list [2048]time.Duration
	n    int
}

func (l *latencies) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list[l.n%len(l.list)] = d
	l.n++
}

// quantiles are the median and the 99th percentile in seconds, 0 if there are none.
func (l *latencies) quantiles() (p50, p99 float64, n int) {
	l.mu.Lock()
	list := slices.Clone(l.list[:min(l.n, len(l.list))])
	n = l.n
	l.mu.Unlock()
	if len(list) == 0 {
		return 0, 0, 0
	}
	slices.Sort(list)
	return list[len(list)/2].Seconds(), list[len(list)*99/100].Seconds(), n
}
