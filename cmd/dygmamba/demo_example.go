package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/term"
)

// demoExample is one event that the two models judge differently.
type demoExample struct {
	Source      string               `json:"src"`
	Destination string               `json:"dst"`
	Time        float64              `json:"time"`
	Without     float64              `json:"dygmamba_a_probability"`
	Explanation dygmamba.Explanation `json:"explanation"`
	Period      float64              `json:"period"` // the middle one of the gaps
	OffTime     float64              `json:"off_beat_time"`
	Off         dygmamba.Explanation `json:"off_beat_explanation"` // of the same question half a period earlier
	Meetings    []float64            `json:"meetings"`             // of the pair, within the curve's time
	Curve       []demoMoment         `json:"curve"`
}

// demoMoment is what both models answer at one time.
type demoMoment struct {
	Time    float64 `json:"time"`
	Whole   float64 `json:"dygmamba"`
	Without float64 `json:"dygmamba_a"`
}

// explain takes the telling test event about which the models disagree most, asks why, and asks about the same pair at other times.
func (t *tour) explain(ctx context.Context) (demoExample, error) {
	var models [2]*dygmamba.Predictor
	for i, name := range []string{demoWhole, demoWithout} {
		p, err := dygmamba.Load(filepath.Join(t.dir, name), dygmamba.LoadOptions{Set: t.set})
		if err != nil {
			return demoExample{}, err
		}
		defer p.Close()
		models[i] = p
	}
	asked := t.telling()
	answers, err := probabilities(ctx, models, asked)
	if err != nil {
		return demoExample{}, err
	}
	if len(asked) == 0 {
		return demoExample{}, fmt.Errorf("no pair of this stream kept its rhythm: choose another --seed")
	}
	most := 0
	for i, a := range answers {
		if a.Whole-a.Without > answers[most].Whole-answers[most].Without {
			most = i
		}
	}
	q := asked[most]
	x := demoExample{Source: t.set.Names.Name(q.Src), Destination: t.set.Names.Name(q.Dst), Time: q.Time, Without: answers[most].Without}
	if x.Explanation, err = why(ctx, models[0], q); err != nil {
		return x, err
	}
	gaps := slices.Sorted(slices.Values(x.Explanation.Gaps))
	x.Period = float64(gaps[len(gaps)/2])
	x.OffTime = x.Time - x.Period/2
	off := q
	off.Time = x.OffTime
	if x.Off, err = why(ctx, models[0], off); err != nil {
		return x, err
	}
	return x, t.follow(ctx, models, q, &x)
}

// telling are the test events of pairs that kept their rhythm lately and have not met for so long that their last meeting is no longer among
// the latest events of either node: nothing but the rhythm tells that it is time.
func (t *tour) telling() []dygmamba.Query {
	const gaps, tolerance, latest = 4, 0.05, 15 // at least as many as demoSettings let the models see
	var list []dygmamba.Query
	for i := range t.split.Test.Len() {
		e := t.split.Test.At(i)
		times := t.meetings(e.Src, e.Dst, 0, e.Time)
		if len(times) <= gaps {
			continue
		}
		times = times[len(times)-gaps-1:]
		period := (times[gaps] - times[0]) / gaps
		clean := true
		for k := range gaps {
			clean = clean && math.Abs(times[k+1]-times[k]-period) < tolerance*period
		}
		if clean && t.busy(e.Src, times[gaps-1], e.Time) >= latest && t.busy(e.Dst, times[gaps-1], e.Time) >= latest {
			list = append(list, dygmamba.Query{Src: e.Src, Dst: e.Dst, Time: e.Time})
		}
	}
	return list
}

// busy is how many events a node has within a span of time.
func (t *tour) busy(n event.Node, begin, end event.Time) int {
	count := 0
	for i := range t.set.Log.Len() {
		if e := t.set.Log.At(i); (e.Src == n || e.Dst == n) && e.Time > begin && e.Time < end {
			count++
		}
	}
	return count
}

// why explains one answer.
func why(ctx context.Context, p *dygmamba.Predictor, q dygmamba.Query) (dygmamba.Explanation, error) {
	found, err := p.Explain(ctx, []dygmamba.Query{q})
	if err != nil {
		return dygmamba.Explanation{}, err
	}
	return found[0], nil
}

// probabilities are the answers of both models.
func probabilities(ctx context.Context, models [2]*dygmamba.Predictor, asked []dygmamba.Query) ([]demoMoment, error) {
	answers := make([]demoMoment, len(asked))
	for m, p := range models {
		logits, err := p.Score(ctx, asked)
		if err != nil {
			return nil, err
		}
		for i, logit := range logits {
			answers[i].Time = asked[i].Time
			if m == 0 {
				answers[i].Whole = dygmamba.Probability(logit)
			} else {
				answers[i].Without = dygmamba.Probability(logit)
			}
		}
	}
	return answers, nil
}

// follow asks both models about a pair again and again, over a few of its periods.
func (t *tour) follow(ctx context.Context, models [2]*dygmamba.Predictor, q dygmamba.Query, x *demoExample) (err error) {
	end := min(q.Time+2.5*x.Period, t.set.Log.At(t.set.Log.Len()-1).Time)
	begin := end - 5*x.Period
	x.Meetings = t.meetings(q.Src, q.Dst, begin, end)
	const moments = 240
	times := slices.Clone(x.Meetings)
	for i := range moments + 1 {
		times = append(times, begin+(end-begin)*float64(i)/moments)
	}
	slices.Sort(times)
	var asked []dygmamba.Query
	for _, at := range slices.Compact(times) {
		asked = append(asked, dygmamba.Query{Src: q.Src, Dst: q.Dst, Time: at})
	}
	x.Curve, err = probabilities(ctx, models, asked)
	return err
}

// meetings are the times at which two nodes met, within a span of time.
func (t *tour) meetings(src, dst event.Node, begin, end event.Time) []float64 {
	var times []float64
	for i := range t.set.Log.Len() {
		if e := t.set.Log.At(i); e.Src == src && e.Dst == dst && e.Time >= begin && e.Time <= end {
			times = append(times, e.Time)
		}
	}
	return times
}

// tell explains the example in the terminal.
func (x *demoExample) tell(w io.Writer, s term.Style) error {
	e := x.Explanation
	fmt.Fprintf(w, "\n%s  Will %s and %s meet at %.2f? They did.\n   DyGMamba gives it %s, without temporal patterns %s.\n\n", s.Strong("4. A reason."),
		x.Source, x.Destination, x.Time, s.Good(percent(e.Probability)), percent(x.Without))
	var f term.Facts
	f.Add("gaps between meetings", x.gaps())
	for _, side := range []dygmamba.Side{e.Source, e.Destination} {
		f.Add("weights, history of "+side.Name, weightsOf(side))
	}
	f.Add(fmt.Sprintf("asked %.1f earlier", x.Time-x.OffTime), percent(x.Off.Probability))
	for _, c := range x.changes() {
		f.Add(c.brief, percent(c.to.Probability))
	}
	return f.Write(w, s)
}

// demoChange is what the answer becomes without something.
type demoChange struct {
	what, brief string
	to          dygmamba.Effect
}

// changes are those for the gaps, the meetings, and the most weighted patch of either side.
func (x *demoExample) changes() []demoChange {
	var list []demoChange
	add := func(what, brief string, to *dygmamba.Effect) {
		if to != nil {
			list = append(list, demoChange{what, brief, *to})
		}
	}
	e := x.Explanation
	add("the gaps", "without the gaps", e.WithoutGaps)
	add("their meetings", "without their meetings", e.WithoutMeetings)
	for _, side := range []dygmamba.Side{e.Source, e.Destination} {
		if p := heaviest(side); p != nil {
			add(eventsOf(side, *p), "without the most weighted of "+side.Name, p.Without)
		}
	}
	return list
}

// gaps are the times between the pair's meetings, the last up to the question.
func (x *demoExample) gaps() string {
	gaps := x.Explanation.Gaps
	var words []string
	for _, g := range gaps[:len(gaps)-1] {
		words = append(words, fmt.Sprintf("%.1f", g))
	}
	return strings.Join(append(words, fmt.Sprintf("and %.1f since", gaps[len(gaps)-1])), ", ")
}

func percent(fraction float64) string { return fmt.Sprintf("%.1f %%", 100*fraction) }

// weightsOf draws the weights of a side, oldest first.
func weightsOf(side dygmamba.Side) string {
	var weights []float64
	for _, p := range side.Patches {
		weights = append(weights, float64(p.Weight))
	}
	text := term.Spark(weights)
	if p := heaviest(side); p != nil {
		last := p.Events[len(p.Events)-1]
		text += fmt.Sprintf("  most (%.0f %%) around %s at %.0f", 100*p.Weight, last.Name, last.Time)
	}
	return text
}

// heaviest is the patch with events that counts most; nil if there are none.
func heaviest(side dygmamba.Side) *dygmamba.Patch {
	var most *dygmamba.Patch
	for i := range side.Patches {
		if p := &side.Patches[i]; len(p.Events) > 0 && (most == nil || p.Weight > most.Weight) {
			most = p
		}
	}
	return most
}

// eventsOf names the events of a patch.
func eventsOf(side dygmamba.Side, p dygmamba.Patch) string {
	var names []string
	for _, e := range p.Events {
		names = append(names, fmt.Sprintf("%s–%s at %.2f", side.Name, e.Name, e.Time))
	}
	return strings.Join(names, ", ")
}
