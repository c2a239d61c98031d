package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/cache"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// NextTest is what a page says of a run of the task next.
type NextTest struct {
	eval.Next
	Rules      []cache.Bits `json:"rules"`      // on the same events
	Surprising []Surprising `json:"surprising"` // the most surprising of the latest test events
	Judged     int          `json:"judged"`     // how many test events these were chosen from
	Upcoming   []Upcoming   `json:"upcoming"`   // after the end of the data, of the busiest sources
}

// Surprising is an event that the model thought unlikely.
type Surprising struct {
	U       string     `json:"u"`
	I       string     `json:"i"`
	Time    event.Time `json:"time"`
	Bits    float64    `json:"who_bits"`
	Reasons []string   `json:"reasons"`
}

// Upcoming is what a source is expected to do after the end of the data.
type Upcoming struct {
	U      string          `json:"u"`
	Items  []UpcomingShare `json:"items"` // the most likely destinations
	Others float64         `json:"others"`
	New    float64         `json:"new"`
	Rate   *float64        `json:"rate,omitempty"` // events of the source per day, or per unit of time
}

// UpcomingShare is the share of a destination.
type UpcomingShare struct {
	I     string  `json:"i"`
	Share float64 `json:"share"`
	Met   int     `json:"meetings"`
}

const (
	mostJudged   = 1000 // latest test events that are judged one by one
	mostSurprise = 10   // of them that are shown
	upcoming     = 3    // sources that are asked what comes next
	upcomingMost = 5    // destinations of each
)

// takeNext measures a run of the task next as its training did, and asks it about single events.
func (r *Report) takeNext(ctx context.Context, o Options, record run.Run) error {
	c := o.Chooser
	r.Scenario, r.Negatives, r.Results = protocol.Transductive, "", nil
	proto, err := c.Protocol()
	if err != nil {
		return err
	}
	r.Split = eval.RecordSplit(proto.Split())
	tell := func(what string) func(done, total int) {
		return func(done, total int) {
			if o.OnBatch != nil {
				o.OnBatch(what, done, total)
			}
		}
	}
	ask := eval.NextOptions{Limit: eval.NextSample}
	noted, err := record.Result()
	switch {
	case err == nil && noted.Next != nil:
		ask = noted.Next.Again()
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	n := &NextTest{Rules: proto.NextRules(ask)}
	ask.OnEvent = tell("test")
	if n.Next, err = c.Evaluate(ctx, proto, ask); err != nil {
		return err
	}
	if n.Events == 0 {
		return fmt.Errorf("%s: no events to ask about in the test; the stream is too short", r.Data.Name)
	}
	if noted.Next != nil {
		same := math.Abs(noted.Next.WhoBits-n.WhoBits) < tolerance*n.WhoBits
		if r.Repeats = &same; !same {
			r.note(fmt.Sprintf("Asked again, the model needs %.3f bits per event where the run noted %.3f.", n.WhoBits,
				noted.Next.WhoBits))
		}
	}
	r.Next = n
	if o.Cases == 0 {
		return nil
	}
	if err := r.findSurprises(ctx, o, proto.Split().Test.All(), tell("surprising events")); err != nil {
		return err
	}
	return r.lookAhead(ctx, o)
}

// findSurprises judges the latest test events one by one.
func (r *Report) findSurprises(ctx context.Context, o Options, test event.Span, told func(done, total int)) error {
	last := test.Slice(max(0, test.Len()-mostJudged), test.Len())
	queries := make([]predict.Query, last.Len())
	for i := range queries {
		queries[i] = predict.Query{Src: last.Src[i], Dst: last.Dst[i], Time: last.Time[i]}
	}
	found, err := o.Chooser.Surprises(ctx, queries, func(done int) { told(done, len(queries)) })
	if err != nil {
		return err
	}
	order := make([]int, len(found))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(found[b].Bits, found[a].Bits) })
	names := o.Set.Names
	for _, i := range order[:min(mostSurprise, len(order))] {
		q := queries[i]
		r.Next.Surprising = append(r.Next.Surprising, Surprising{U: names.Name(q.Src), I: names.Name(q.Dst),
			Time: q.Time, Bits: found[i].Bits, Reasons: found[i].Reasons(q.Dst, names.Name, r.moment)})
	}
	r.Next.Judged = len(found)
	return nil
}

// lookAhead asks what the sources with the most events in the latest tenth of the data do next.
func (r *Report) lookAhead(ctx context.Context, o Options) error {
	all := o.Set.Log.All()
	if all.Len() == 0 {
		return nil
	}
	count := map[event.Node]int{}
	for _, u := range all.Src[all.Len()-(all.Len()+9)/10:] {
		count[u]++
	}
	at := math.Nextafter(all.Time[all.Len()-1], math.Inf(1))
	for _, u := range busiest(count, upcoming) {
		if err := ctx.Err(); err != nil {
			return err
		}
		shares, err := o.Chooser.Next(u, at)
		if err != nil {
			return err
		}
		x := Upcoming{U: o.Set.Names.Name(u), New: shares.New}
		for i, s := range shares.Items {
			if i < upcomingMost {
				x.Items = append(x.Items, UpcomingShare{o.Set.Names.Name(s.Node), s.Share, s.Met})
			} else {
				x.Others += s.Share
			}
		}
		if o.Chooser.KnowsRates() {
			rate, err := o.Chooser.Rate(u, at)
			if err != nil {
				return err
			}
			if day := o.Chooser.Day(); day > 0 {
				rate *= day
			}
			x.Rate = &rate
		}
		r.Next.Upcoming = append(r.Next.Upcoming, x)
	}
	return nil
}

// busiest are the nodes with the largest counts, equal ones in the order of their ids.
func busiest(count map[event.Node]int, most int) []event.Node {
	nodes := make([]event.Node, 0, len(count))
	for u := range count {
		nodes = append(nodes, u)
	}
	slices.SortFunc(nodes, func(a, b event.Node) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	return nodes[:min(most, len(nodes))]
}
