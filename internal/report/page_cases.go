package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/page"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/predict"
)

type caseView struct {
	Case
	report *Report
}

type caseViews []caseView

// Kinds are the cases of some kinds.
func (v view) Kinds(kinds ...string) (list caseViews) {
	for _, c := range v.Cases {
		if slices.Contains(kinds, c.Kind) {
			list = append(list, caseView{c, v.Report})
		}
	}
	return list
}

// Moved says whether any was answered differently when it was asked by itself.
func (v caseViews) Moved() bool {
	return slices.ContainsFunc(v, func(c caseView) bool { return c.moved() })
}

// Labels says whether it is about the label of a source.
func (c caseView) Labels() bool { return c.report.Labels() }

// Wrong says whether the answer was.
func (c caseView) Wrong() bool { return c.Kind == Missed || c.Kind == FalseAlarm }

// When is its time as people read it.
func (c caseView) When() string { return c.report.moment(c.Explanation.Query.Time) }

// LastGap is the time since the two had met, "" if that is not known.
func (c caseView) LastGap() string {
	if n := len(c.Explanation.Gaps); n > 0 {
		return c.report.span(float64(c.Explanation.Gaps[n-1]))
	}
	return ""
}

// Figures show what the answer rests on.
func (c caseView) Figures() (figures page.Figures) {
	e := c.Explanation
	if len(e.Gaps) > 1 {
		figures = append(figures, page.Figure{Title: "The rhythm of the pair",
			Note:  "gaps between their latest meetings; the last one reaches to the question",
			Chart: c.report.gaps(e.Gaps)})
	}
	for _, side := range []predict.Side{e.Source, e.Destination} {
		if chart := c.report.weights(side, e); e.Weighted && len(chart.List) > 0 {
			figures = append(figures, page.Figure{Title: "What counts of " + side.Name,
				Note: "weights of its past, oldest first; blue: the two met", Chart: chart})
		}
	}
	if len(e.Curve) > 1 {
		s := page.Series{Name: "probability", Tone: page.First}
		for _, m := range e.Curve {
			s.Add(m.Time, m.Probability)
		}
		x := page.Axis{Name: "time", Min: s.X[0], Max: s.X[len(s.X)-1], Date: c.report.dates}
		figures = append(figures, page.Figure{Title: "The same two at other times",
			Note: "how likely they are to meet, from what was known by then",
			Chart: page.Lines{X: x, Y: page.Axis{Max: 1, Percent: true}, Series: []page.Series{s},
				Marks: []float64{e.Query.Time}}})
	}
	return figures
}

func (r *Report) gaps(gaps []float32) (c page.Columns) {
	const most = 12
	gaps = gaps[max(0, len(gaps)-most):]
	for i, g := range gaps {
		col := page.Column{Value: float64(g), Above: r.shortSpan(float64(g)), Tone: page.Third,
			Title: r.span(float64(g))}
		if i == len(gaps)-1 {
			col.Tone, col.Below[0] = page.First, "now"
		}
		c.List = append(c.List, col)
	}
	return c
}

// weights shows how much the patches of a side count; padding before the first event is left out.
func (r *Report) weights(side predict.Side, e predict.Explanation) (c page.Columns) {
	const labelled, most = 10, 48
	other := e.Destination.Node
	if side.Node == other {
		other = e.Source.Node
	}
	patches := side.Patches
	for len(patches) > 0 && len(patches[0].Events) == 0 {
		patches = patches[1:]
	}
	patches = patches[max(0, len(patches)-most):]
	for _, p := range patches {
		col := page.Column{Value: float64(p.Weight), Title: fmt.Sprintf("%.1f %%: %s", 100*p.Weight,
			r.eventsOf(p.Events)), Tone: page.Third}
		if len(patches) <= labelled {
			col.Above = fmt.Sprintf("%.0f", 100*p.Weight)
		}
		if slices.ContainsFunc(p.Events, func(x predict.PastEvent) bool { return x.Other == other }) {
			col.Tone = page.First
		}
		c.List = append(c.List, col)
	}
	return c
}

func (r *Report) eventsOf(events []predict.PastEvent) string {
	const most = 4
	var names []string
	for _, e := range events[:min(most, len(events))] {
		names = append(names, e.Name+" at "+r.moment(e.Time))
	}
	if len(events) > most {
		names = append(names, fmt.Sprintf("%d more", len(events)-most))
	}
	return strings.Join(names, ", ")
}

// Changes is what the answer becomes when something is withheld.
func (c caseView) Changes() page.Table {
	t := page.Table{Head: []string{"what the model is told", "its answer", "logit"}}
	add := func(what string, to *predict.Effect) {
		if to != nil {
			t.Rows = append(t.Rows, []string{what, percent(to.Probability), fmt.Sprintf("%+.2f", to.Logit)})
		}
	}
	e := c.Explanation
	add("everything before the question", &predict.Effect{Probability: e.Probability, Logit: e.Logit})
	add("all but the rhythm of the two", e.WithoutGaps)
	add("all but their meetings", e.WithoutMeetings)
	for _, f := range e.Facts {
		add("all but "+f.Brief(e.Destination.Name), f.Without)
	}
	for _, side := range []predict.Side{e.Source, e.Destination} {
		var most predict.Patch
		for _, p := range side.Patches {
			if p.Without != nil && (most.Without == nil || p.Weight > most.Weight) {
				most = p
			}
		}
		add(fmt.Sprintf("all but what counts most of %s: %s", side.Name, c.report.eventsOf(most.Events)), most.Without)
	}
	return t
}

func (r *Report) moment(t event.Time) string {
	if r.dates {
		return strings.TrimSuffix(strings.Replace(dataset.FormatTime(float64(int64(t)), dataset.TimeDate), "T", " ",
			1), "Z")
	}
	return strconv.FormatFloat(t, 'f', -1, 64)
}

// span is how long something took, in the unit of the data unless that is known.
func (r *Report) span(v float64) string {
	if r.dates {
		return seconds(v)
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

func (r *Report) shortSpan(v float64) string {
	if !r.dates {
		return term.Short(v)
	}
	for _, u := range []struct {
		size float64
		name string
	}{{365.25 * 86400, "y"}, {86400, "d"}, {3600, "h"}, {60, "min"}} {
		if v >= u.size {
			return strconv.FormatFloat(v/u.size, 'g', 2, 64) + " " + u.name
		}
	}
	return strconv.FormatFloat(v, 'g', 2, 64) + " s"
}
