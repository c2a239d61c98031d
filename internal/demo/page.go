package demo

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/page"
	"github.com/dygmamba/dygmamba/predict"
)

//go:embed demo.html
var source string

var layout = page.Parse(source, template.FuncMap{
	"percent": percent, "share": func(v float64) string { return fmt.Sprintf("%.0f", 100*v) },
})

// WritePage draws the page of a tour that was taken.
func (t *Tour) WritePage(w io.Writer) error { return layout.Execute(w, view{&t.report, t}) }

type view struct {
	*Report
	tour *Tour
}

// The models, the stream, and what to do next.

func (v view) Whole() Model                    { return v.Model(Whole) }
func (v view) Without() Model                  { return v.Model(Without) }
func (v view) Bank() Model                     { return v.Model(Bank) }
func (v view) Stream() dataset.PeriodicOptions { return v.tour.Stream }
func (v view) Commands() string                { return strings.TrimSuffix(Commands, "\n") }

// Meetings shows those of one source.
func (v view) Meetings() page.Figures {
	x, stream := v.Example, v.tour.Stream
	src, end := x.Explanation.Query.Src, x.Time
	begin := end - 5*stream.LongGap
	raster := page.Raster{X: page.Axis{Name: "time", Min: begin, Max: end}}
	for i := range stream.Targets {
		dst := event.Node(1 + stream.Sources + i)
		row := page.RasterRow{Name: v.tour.set.Names.Name(dst), Times: v.tour.meetings(src, dst, begin, end),
			Tone: page.Third}
		if dst == x.Explanation.Query.Dst {
			row.Tone = page.First
		}
		raster.Rows = append(raster.Rows, row)
	}
	return page.Figures{{
		Title: "Events of " + x.Source,
		Note: fmt.Sprintf("One row per destination, one tick per event. "+
			"The pair explained below is %s and %s.", x.Source, x.Destination),
		Chart: raster,
	}}
}

// modelKey says what the colours of both models are.
var modelKey = []page.Key{{Name: "DyGMamba", Tone: page.First}, {Name: "without time gaps", Tone: page.Second}}

// Learning shows both trainings.
func (v view) Learning() page.Figures {
	epochs := page.Axis{Name: "epoch", Min: 1, Max: float64(len(v.Whole().Epochs))}
	curves := func(of func(Epoch) float64) (list []page.Series) {
		for i, m := range []Model{v.Whole(), v.Without()} {
			s := page.Series{Name: modelKey[i].Name, Tone: modelKey[i].Tone}
			for _, e := range m.Epochs {
				s.Add(float64(e.Epoch), of(e))
			}
			list = append(list, s)
		}
		return list
	}
	loss := curves(func(e Epoch) float64 { return e.Loss })
	ap := curves(func(e Epoch) float64 { return e.AP })
	return page.Figures{
		{Title: "Loss", Note: "on the training events; lower is better", Key: modelKey,
			Chart: page.Lines{X: epochs, Y: page.Around(loss, 0.1), Series: loss, Dots: true}},
		{Title: "Average precision", Note: "on the validation events; higher is better", Key: modelKey,
			Chart: page.Lines{X: epochs, Y: page.Around(ap, 0.1).InPercent(), Series: ap, Dots: true}},
	}
}

// Verdict puts the results side by side.
func (v view) Verdict() page.Figures {
	names := []string{"DyGMamba", "without time gaps (variant A)", "EdgeBank"}
	ap, auc := page.Bars{Chance: 0.5}, page.Bars{Chance: 0.5}
	for i, m := range []Model{v.Whole(), v.Without(), v.Bank()} {
		bar := page.Bar{Name: names[i], Value: m.AP, Tone: page.First + page.Tone(i)}
		ap.Rows = append(ap.Rows, bar)
		bar.Value = m.AUC
		auc.Rows = append(auc.Rows, bar)
	}
	return page.Figures{
		{Title: "Average precision", Note: "on the test events, in percent", Chart: ap},
		{Title: "Area under the ROC curve", Note: "on the test events, in percent", Chart: auc},
	}
}

// Moments show the answers for the same pair at other times.
func (v view) Moments() page.Figures {
	x := v.Example
	without, whole := page.Series{Name: modelKey[1].Name, Tone: page.Second},
		page.Series{Name: modelKey[0].Name, Tone: page.First}
	for _, m := range x.Curve {
		without.Add(m.Time, m.Without)
		whole.Add(m.Time, m.Whole)
	}
	return page.Figures{{
		Title: fmt.Sprintf("Probability that %s and %s interact", x.Source, x.Destination),
		Key:   append(slices.Clone(modelKey), page.Key{Name: "they interacted", Tone: page.Fact}),
		Chart: page.Lines{
			X: page.Axis{Name: "time", Min: x.Curve[0].Time, Max: x.Curve[len(x.Curve)-1].Time},
			Y: page.Axis{Max: 1, Percent: true}, Marks: x.Meetings, Series: []page.Series{without, whole},
		},
	}}
}

// Rhythm shows the gaps of the pair, at its time and off it.
func (v view) Rhythm() page.Figures {
	x := v.Example
	return page.Figures{
		{Title: "Time gaps of the pair",
			Note:  "Gaps between their latest events; the last one reaches to the query.",
			Chart: columnsOf(x.Explanation.Gaps, x.Period)},
		{Title: "The same query earlier",
			Note: fmt.Sprintf("At %.2f, half an interval earlier, the last gap does not fit: %s.",
				x.OffTime, percent(x.Off.Probability)),
			Chart: columnsOf(x.Off.Gaps, x.Period)},
	}
}

// Histories show what counts of both nodes, at the pair's time and off it.
func (v view) Histories() []page.Figures {
	x := v.Example
	pair := func(on, off predict.Side) page.Figures {
		return page.Figures{
			{Title: "History of " + on.Name, Note: fmt.Sprintf("query at %.2f", x.Time), Chart: x.history(on)},
			{Title: "History of " + off.Name, Note: fmt.Sprintf("query at %.2f", x.OffTime), Chart: x.history(off)},
		}
	}
	return []page.Figures{pair(x.Explanation.Source, x.Off.Source), pair(x.Explanation.Destination, x.Off.Destination)}
}

// columnsOf shows gaps, with a line at the period.
func columnsOf(gaps []float32, period float64) page.Columns {
	c := page.Columns{Line: period}
	for i, g := range gaps {
		col := page.Column{Value: float64(g), Above: fmt.Sprintf("%.1f", g),
			Below: [2]string{fmt.Sprintf("gap %d", i+1)}, Tone: page.Third}
		if i == len(gaps)-1 {
			col.Tone, col.Below[0] = page.First, "until now"
		}
		c.List = append(c.List, col)
	}
	return c
}

// history is the weights of a side's patches. The node itself stands at its end.
func (x Example) history(side predict.Side) (c page.Columns) {
	for i, p := range side.Patches {
		col := page.Column{Value: float64(p.Weight), Above: fmt.Sprintf("%.0f", 100*p.Weight), Title: eventsOf(side, p),
			Tone: page.Third}
		var names []string
		for _, e := range p.Events {
			names = append(names, e.Name)
			if e.Name == x.Source || e.Name == x.Destination {
				col.Tone = page.First
			}
		}
		if i == len(side.Patches)-1 {
			names = append(names, side.Name)
		}
		copy(col.Below[:], names)
		c.List = append(c.List, col)
	}
	return c
}

func percent(fraction float64) string { return fmt.Sprintf("%.1f %%", 100*fraction) }
