// Package rankbench answers: how many of the best partners does a fast ranking find, and how long does it take?
package rankbench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/rng"
	"github.com/dygmamba/dygmamba/predict"
)

// Measurement says what is measured.
type Measurement struct {
	Model      *predict.Predictor
	Events     *event.Log
	Queries    int // events of the last 15 %, drawn by the seed, whose sources and times are asked about
	Best       int // partners to find
	Candidates int // drawn by the seed; 0: all destinations
	Seed       uint64
	OnQuery    func(done, total int)
}

// Report is what was measured. Times are milliseconds of one ranking.
type Report struct {
	Model      string  `json:"model"`
	Data       string  `json:"data"`
	Device     string  `json:"device"`
	Queries    int     `json:"queries"`
	Best       int     `json:"best"`
	Candidates float64 `json:"candidates"` // mean
	Scored     float64 `json:"scored"`     // of them by the fast ranking, mean
	MostScored int     `json:"most_scored"`
	Recall     float64 `json:"recall"`    // share of the best that it finds; one with an equal score is as good
	Worst      float64 `json:"worst"`     // recall of the worst ranking
	Different  int     `json:"different"` // rankings that miss any
	Fast       Times   `json:"fast_ms"`
	Exact      Times   `json:"exact_ms"`
	Seed       uint64  `json:"seed"`
}

// Times are those of many rankings.
type Times struct {
	Mean   float64 `json:"mean"`
	Median float64 `json:"median"`
	P90    float64 `json:"p90"`
}

// Run ranks each source both ways, the fast one first. A logit that differs from the exact one is an error.
func (m Measurement) Run(ctx context.Context) (Report, error) {
	r := Report{Model: m.Model.Model(), Best: m.Best, Seed: m.Seed, Worst: 1}
	questions := m.questions()
	if len(questions) == 0 {
		return r, errors.New("there are no events to ask about")
	}
	r.Queries = len(questions)
	var fast, exact []float64
	for i, q := range append(questions[:1:1], questions...) { // the first one warms up and does not count
		candidates, err := m.candidates(ctx, q)
		if err != nil {
			return r, err
		}
		begin := time.Now()
		best, err := m.Model.Best(ctx, q.Src, q.Time, candidates, m.Best)
		middle := time.Now()
		if err != nil {
			return r, err
		}
		all, err := m.Model.Rank(ctx, q.Src, q.Time, candidates, 0)
		end := time.Now()
		if err != nil {
			return r, err
		}
		if i == 0 {
			continue
		}
		fast, exact = append(fast, middle.Sub(begin).Seconds()*1e3), append(exact, end.Sub(middle).Seconds()*1e3)
		if err := r.add(best, all); err != nil {
			return r, fmt.Errorf("source %d at %v: %w", q.Src, q.Time, err)
		}
		if m.OnQuery != nil {
			m.OnQuery(i, r.Queries)
		}
	}
	r.Fast, r.Exact = timesOf(fast), timesOf(exact)
	return r, nil
}

// add compares a fast ranking with one of all candidates.
func (r *Report) add(best predict.Ranking, all []predict.Partner) error {
	n := float64(r.Queries)
	r.Candidates += float64(best.Candidates) / n
	r.Scored += float64(best.Scored) / n
	r.MostScored = max(r.MostScored, best.Scored)
	k := min(r.Best, len(all))
	if best.Candidates != len(all) || len(best.Partners) != k {
		return fmt.Errorf("%d of %d candidates, want %d of %d", len(best.Partners), best.Candidates, k, len(all))
	}
	if k == 0 {
		r.Recall += 1 / n
		return nil
	}
	logits := make(map[event.Node]float32, len(all))
	for _, x := range all {
		logits[x.Node] = x.Logit
	}
	found := 0
	for _, x := range best.Partners {
		if want, ok := logits[x.Node]; !ok || want != x.Logit {
			return fmt.Errorf("candidate %d has the logit %v, want %v", x.Node, x.Logit, want)
		}
		if x.Logit >= all[k-1].Logit {
			found++
		}
	}
	recall := float64(found) / float64(k)
	r.Recall += recall / n
	r.Worst = min(r.Worst, recall)
	if found < k {
		r.Different++
	}
	return nil
}

// questions are sources and times of late events, in order of time.
func (m Measurement) questions() []event.Event {
	first := m.Events.Len() * 85 / 100
	late := m.Events.Len() - first
	var list []event.Event
	for _, i := range rng.New(m.Seed, "ranked sources").Sample(late, min(m.Queries, late)) {
		list = append(list, m.Events.At(first+int(i)))
	}
	slices.SortStableFunc(list, func(a, b event.Event) int {
		if a.Time < b.Time {
			return -1
		} else if a.Time > b.Time {
			return 1
		}
		return 0
	})
	return list
}

// candidates draws some of a question's destinations, in the order of their ids; nil: all.
func (m Measurement) candidates(ctx context.Context, q event.Event) ([]event.Node, error) {
	if m.Candidates == 0 {
		return nil, nil
	}
	all := m.Model.Destinations(q.Src, q.Time)
	if len(all) <= m.Candidates {
		return all, ctx.Err()
	}
	var list []event.Node
	for _, i := range rng.New(m.Seed, fmt.Sprintf("candidates of event %d", q.Edge)).Sample(len(all), m.Candidates) {
		list = append(list, all[i])
	}
	slices.Sort(list)
	return list, ctx.Err()
}

func timesOf(list []float64) (t Times) {
	slices.Sort(list)
	for _, x := range list {
		t.Mean += x / float64(len(list))
	}
	t.Median, t.P90 = list[len(list)/2], list[len(list)*9/10]
	return t
}
