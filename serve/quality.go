package serve

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/predict"
)

// quality watches how good the answers are, on the events that come in: some of them are asked about before the model
// knows them, against destinations drawn at random, and beside the model the rule that who has met will meet again. It
// takes at most a share of one core, and drops what it has no time for.
type quality struct {
	server *Server
	offers chan offer
	rng    *rand.Rand

	mu     sync.Mutex // guards what follows
	window []trial    // the latest, at most windowSize
	total  int
	series []qualityDoc
	rates  rates
}

// offer is an event that has just come in, with what was known before it.
type offer struct {
	before, after *state
	number        int // of the event in after
}

// trial is one event that was asked about.
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

// qualityDoc is how good the answers were by some time.
type qualityDoc struct {
	Time   time.Time `json:"time"`
	Trials int       `json:"trials"` // that the averages are over
	Model  measures  `json:"model"`
	Met    measures  `json:"met"` // of the rule
}

const (
	windowSize   = 500
	negatives    = 20
	qualityShare = 20 // one part in so many of the time
)

func newQuality(s *Server) *quality {
	return &quality{server: s, offers: make(chan offer, 8), rng: rand.New(rand.NewPCG(1, 2))}
}

// applied hears of every batch that was taken, from the engine's goroutine.
func (q *quality) applied(before, after *state) {
	n := after.Len() - before.Len()
	q.rates.add(after.at, n)
	select {
	case q.offers <- offer{before, after, before.Len() + q.rng.IntN(n)}:
	default: // busy
	}
}

// watch asks about what is offered.
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
			select {
			case <-ctx.Done():
				return
			case <-time.After(min(qualityShare*time.Since(began), 5*time.Second)):
			}
			for len(q.offers) > 0 { // old by now
				<-q.offers
			}
		}
	}
}

// ask asks about an event as if it had not come yet. A question at t sees what lies strictly before t, so that it does
// not matter that the event is there. A memory that has gone on already cannot be asked any more.
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
	job := &job{ctx: ctx, do: func(p *predict.Predictor, _ *asked) error {
		if p.Reached() >= e.Time {
			return errLate
		}
		found, err := p.Rank(ctx, e.Src, e.Time, candidates, 0)
		for _, f := range found {
			logits[slices.Index(candidates, f.Node)] = f.Logit
		}
		return err
	}}
	if _, err := q.server.models.ask(job); err != nil {
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

// errLate says that a memory knows of an event already.
var errLate = &refusal{status: 409, kind: "too_early", message: "the memory knows of it"}

// note adds a trial to the window.
func (q *quality) note(t trial) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.window = append(q.window, t)
	if len(q.window) > windowSize {
		q.window = q.window[1:]
	}
	q.total++
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

// now is how good the answers are.
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
	doc.Model.AP, doc.Met.AP = precision(pos, neg), precision(metPos, metNeg)
	return doc
}

// rates counts events by the second, over the last minutes.
type rates struct {
	mu     sync.Mutex
	counts [300]int
	second int64 // of the last entry, counts[second%300]
}

func (r *rates) add(at time.Time, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn(at.Unix())
	r.counts[r.second%int64(len(r.counts))] += n
}

// turn forgets what is older than the window.
func (r *rates) turn(second int64) {
	if second-r.second > int64(len(r.counts)) {
		r.second = second - int64(len(r.counts))
	}
	for r.second < second {
		r.second++
		r.counts[r.second%int64(len(r.counts))] = 0
	}
}

// last are the counts of the last n whole seconds, oldest first.
func (r *rates) last(n int, at time.Time) []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn(at.Unix())
	list := make([]int, n)
	for i := range list {
		list[i] = r.counts[(r.second-int64(n)+int64(i))%int64(len(r.counts))]
	}
	return list
}

// latencies are those of the latest scores.
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

// quantiles are the median and the 99th percentile in seconds, 0 without any.
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

// precision is the average precision of scores of events and of negatives.
func precision(pos, neg []float32) float64 {
	var meter eval.Meter
	ap, _ := meter.Score(pos, neg)
	return ap
}
