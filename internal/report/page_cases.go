package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/page"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/predict"
)

// hardest are the cases that were most wrong.
func (r *Report) hardest() []page.Part {
	return r.cases("The hardest cases", "Where the model was most wrong: what came true and was thought unlikely, "+
		"and what did not although it was expected. "+
		"Open one to see what the answer rests on.", Missed, FalseAlarm)
}

// surest are the cases that were most right.
func (r *Report) surest() []page.Part {
	return r.cases("The most confident cases", "Where it was most certain, and right.", Expected, Dismissed)
}

func (r *Report) cases(heading, text string, kinds ...string) []page.Part {
	cases := r.of(kinds...)
	if len(cases) == 0 {
		return nil
	}
	parts := []page.Part{page.Heading(heading), page.Text(text)}
	var folds page.Folds
	moved := false
	for i, c := range cases {
		f := r.fold(c)
		f.Open = i == 0
		folds = append(folds, f)
		moved = moved || c.moved()
	}
	parts = append(parts, folds)
	if moved {
		parts = append(parts, page.Text("Reasons were asked for one by one. This model's answers depend on what "+
			"else is asked at the same time "+
			"(neighbours picked at random, or rows as long as the longest), so that some probabilities differ "+
			"from those of the test."))
	}
	return parts
}

// fold is one case.
func (r *Report) fold(c Case) page.Fold {
	f := page.Fold{Title: c.U + " – " + c.I, Note: r.moment(c.Explanation.Query.Time) + ", " + r.verdict(c),
		Value: percent(c.Probability), Tone: page.Fact}
	if c.Kind == Missed || c.Kind == FalseAlarm {
		f.Tone = page.Second
	}
	e := c.Explanation
	f.Parts = append(f.Parts, page.Text(r.before(c)))
	var figures page.Figures
	if len(e.Gaps) > 1 {
		figures = append(figures, page.Figure{Title: "The rhythm of the pair", Note: "gaps between their latest " +
			"meetings; the last one reaches to the question", Chart: r.gaps(e.Gaps)})
	}
	for _, side := range []predict.Side{e.Source, e.Destination} {
		if chart := r.weights(side, e); e.Weighted && len(chart.List) > 0 {
			figures = append(figures, page.Figure{Title: "What counts of " + side.Name,
				Note: "weights of its past, oldest first; blue: the two met", Chart: chart})
		}
	}
	if len(e.Curve) > 1 {
		figures = append(figures, r.curve(c))
	}
	if len(figures) > 0 {
		f.Parts = append(f.Parts, figures)
	}
	f.Parts = append(f.Parts, r.changes(e))
	return f
}

// curve shows how likely the pair was around that time.
func (r *Report) curve(c Case) page.Figure {
	curve := c.Explanation.Curve
	s := page.Series{Name: "probability", Tone: page.First}
	for _, m := range curve {
		s.X, s.Y = append(s.X, m.Time), append(s.Y, m.Probability)
	}
	return page.Figure{Title: "The same two at other times",
		Note: "how likely they are to meet, from what was known by then",
		Chart: page.Lines{X: page.Axis{Name: "time", Min: s.X[0], Max: s.X[len(s.X)-1], Date: r.dates},
			Y: page.Axis{Max: 1, Percent: true}, Series: []page.Series{s}, Marks: []float64{c.Explanation.Query.Time}}}
}

// verdict says what came of it.
func (r *Report) verdict(c Case) string {
	switch {
	case r.Labels() && c.True:
		return "it has the label"
	case r.Labels():
		return "it has not the label"
	case c.True:
		return "they did"
	}
	return "they did not"
}

// before says in a sentence what there was to go by.
func (r *Report) before(c Case) string {
	e := c.Explanation
	times := func(n int, one, many string) string {
		if n == 1 {
			return one
		}
		return term.Count(n) + " " + many
	}
	met := "The two had never met. "
	switch {
	case r.Labels():
		met = fmt.Sprintf("%s had %s before. ", c.U, times(c.Before, "one event", "events"))
	case c.Before == 1:
		met = "The two had met once"
	case c.Before > 1:
		met = fmt.Sprintf("The two had met %s times", term.Count(c.Before))
	}
	if !r.Labels() && c.Before > 0 {
		if n := len(e.Gaps); n > 0 {
			met += ", the last time " + r.span(float64(e.Gaps[n-1])) + " before"
		}
		met += ". "
	}
	looked := fmt.Sprintf("The model looks at %s of %s and %s of %s.", times(e.Source.Events, "one event", "events"),
		c.U, times(e.Destination.Events, "one event", "events"), c.I)
	if e.Source.Events+e.Destination.Events == 0 {
		looked = "The model looks no events up."
	}
	return met + looked
}

// gaps shows the times between meetings.
func (r *Report) gaps(gaps []float32) page.Columns {
	const most = 12
	gaps = gaps[max(0, len(gaps)-most):]
	var c page.Columns
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
func (r *Report) weights(side predict.Side, e predict.Explanation) page.Columns {
	const labelled, most = 10, 48
	other := e.Destination.Node
	if side.Node == other {
		other = e.Source.Node
	}
	var c page.Columns
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
		for _, x := range p.Events {
			if x.Other == other {
				col.Tone = page.First
			}
		}
		c.List = append(c.List, col)
	}
	return c
}

// eventsOf names a few events.
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

// changes is what the answer becomes when something is withheld.
func (r *Report) changes(e predict.Explanation) page.Table {
	t := page.Table{Head: []string{"what the model is told", "its answer", "logit"}}
	add := func(what string, p float64, logit float32) {
		t.Rows = append(t.Rows, []string{what, percent(p), fmt.Sprintf("%+.2f", logit)})
	}
	add("everything before the question", e.Probability, e.Logit)
	for _, c := range []struct {
		what string
		to   *predict.Effect
	}{{"all but the rhythm of the two", e.WithoutGaps}, {"all but their meetings", e.WithoutMeetings}} {
		if c.to != nil {
			add(c.what, c.to.Probability, c.to.Logit)
		}
	}
	for _, f := range e.Facts {
		add("all but "+f.Brief(e.Destination.Name), f.Without.Probability, f.Without.Logit)
	}
	for _, side := range []predict.Side{e.Source, e.Destination} {
		best := -1
		for i, p := range side.Patches {
			if p.Without != nil && (best < 0 || p.Weight > side.Patches[best].Weight) {
				best = i
			}
		}
		if best >= 0 {
			p := side.Patches[best]
			add(fmt.Sprintf("all but what counts most of %s: %s", side.Name, r.eventsOf(p.Events)),
				p.Without.Probability, p.Without.Logit)
		}
	}
	return t
}

// moment is a time as people read it.
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
		return term.Duration(time.Duration(v * float64(time.Second)))
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
