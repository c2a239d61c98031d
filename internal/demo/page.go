package demo

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/page"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/predict"
)

// WritePage draws the page of a tour that was taken.
func (t *Tour) WritePage(w io.Writer) error { return t.page().Write(w) }

func (t *Tour) page() page.Page {
	d := &t.report
	whole, without, bank := d.Model(Whole), d.Model(Without), d.Model(Bank)
	p := page.Page{
		Title: "Who meets whom, and when?",
		Lead: fmt.Sprintf("A tour of dygmamba: it made a stream of %s timed meetings, learned from the first 70 %%, "+
			"and was then asked about the last 15 %%: will these two meet at this moment?", term.Count(d.Data.Events)),
		Foot: fmt.Sprintf("Made by: dygmamba demo --seed %d. The same seed gives the same page.", d.Seed),
	}
	p.Parts = append(p.Parts, page.Numbers{
		{Value: percent(whole.AP), Name: "average precision of DyGMamba", Tone: page.First},
		{Value: percent(without.AP), Name: "of the same model without temporal patterns", Tone: page.Second},
		{Value: percent(bank.AP), Name: "of EdgeBank, which remembers who met", Tone: page.Third},
	})
	p.Parts = append(p.Parts, t.streamParts()...)
	p.Parts = append(p.Parts, t.learningParts()...)
	p.Parts = append(p.Parts, verdictParts(whole, without, bank)...)
	p.Parts = append(p.Parts, d.Example.momentParts()...)
	p.Parts = append(p.Parts, t.reasonParts()...)
	p.Parts = append(p.Parts, page.Heading("Go on with your own events"),
		page.Text("visits.csv is any table with a source, a destination and a time in each row; "+
			"questions.csv has the columns u, i and ts."),
		page.Code(strings.TrimSuffix(Commands, "\n")))
	return p
}

// streamParts show the meetings of one source.
func (t *Tour) streamParts() []page.Part {
	x := t.report.Example
	src := x.Explanation.Query.Src
	end := x.Time
	begin := end - 5*t.Stream.LongGap
	var raster page.Raster
	raster.X = page.Axis{Name: "time", Min: begin, Max: end}
	for i := range t.Stream.Targets {
		dst := event.Node(1 + t.Stream.Sources + i)
		row := page.RasterRow{Name: t.set.Names.Name(dst), Times: t.meetings(src, dst, begin, end), Tone: page.Third}
		if dst == x.Explanation.Query.Dst {
			row.Tone = page.First
		}
		raster.Rows = append(raster.Rows, row)
	}
	return []page.Part{
		page.Heading("The stream"),
		page.Text(fmt.Sprintf("%d sources meet %d destinations. Each pair has a rhythm of its own, "+
			"between one meeting in %.0f and one in %.0f units of time, and %.0f %% of the meetings follow no "+
			"rhythm. Taken together that looks like noise; row by row it does not.",
			t.Stream.Sources, t.Stream.Targets, t.Stream.ShortGap, t.Stream.LongGap, 100*t.Stream.Noise)),
		page.Figures{{
			Title: fmt.Sprintf("Whom %s met", x.Source),
			Note: fmt.Sprintf("One row for each destination, one tick for each meeting. "+
				"The pair explained below is %s and %s.", x.Source, x.Destination),
			Chart: raster,
		}},
	}
}

// modelKey says what the colours of both models are.
var modelKey = []page.Key{{Name: "DyGMamba", Tone: page.First}, {Name: "without temporal patterns", Tone: page.Second}}

// learningParts show both trainings.
func (t *Tour) learningParts() []page.Part {
	whole, without := t.report.Model(Whole), t.report.Model(Without)
	epochs := page.Axis{Name: "epoch", Min: 1, Max: float64(len(whole.Epochs))}
	curves := func(of func(Epoch) float64) []page.Series {
		var list []page.Series
		for i, m := range []Model{whole, without} {
			s := page.Series{Name: modelKey[i].Name, Tone: modelKey[i].Tone}
			for _, e := range m.Epochs {
				s.X, s.Y = append(s.X, float64(e.Epoch)), append(s.Y, of(e))
			}
			list = append(list, s)
		}
		return list
	}
	loss := curves(func(e Epoch) float64 { return e.Loss })
	ap := curves(func(e Epoch) float64 { return e.AP })
	return []page.Part{
		page.Heading("Learning"),
		page.Text(fmt.Sprintf("Both models see the latest events of both nodes. "+
			"DyGMamba (%s parameters) also reads the gaps between the pair's own latest meetings and lets them "+
			"decide which of those events count; its variant A (%s parameters) is the same without that.",
			term.Count(whole.Parameters), term.Count(without.Parameters))),
		page.Figures{
			{Title: "Loss", Note: "on the training events; lower is better", Key: modelKey,
				Chart: page.Lines{X: epochs, Y: around(loss, 0.1), Series: loss, Dots: true}},
			{Title: "Average precision", Note: "on the validation events; higher is better", Key: modelKey,
				Chart: page.Lines{X: epochs, Y: percentAxis(around(ap, 0.1)), Series: ap, Dots: true}},
		},
	}
}

// around is an axis that has room for all values, from one round value to another.
func around(list []page.Series, round float64) page.Axis {
	a := page.Axis{Min: list[0].Y[0], Max: list[0].Y[0]}
	for _, s := range list {
		a.Min, a.Max = min(a.Min, slices.Min(s.Y)), max(a.Max, slices.Max(s.Y))
	}
	a.Min, a.Max = roundDown(a.Min, round), -roundDown(-a.Max, round)
	return a
}

func percentAxis(a page.Axis) page.Axis {
	a.Percent, a.Max = true, min(1, a.Max)
	return a
}

// verdictParts put the results side by side.
func verdictParts(models ...Model) []page.Part {
	names := []string{"DyGMamba", "without temporal patterns (variant A)", "EdgeBank"}
	tones := []page.Tone{page.First, page.Second, page.Third}
	var ap, auc page.Bars
	ap.Chance, auc.Chance = 0.5, 0.5
	for i, m := range models {
		ap.Rows = append(ap.Rows, page.Bar{Name: names[i], Value: m.AP, Tone: tones[i]})
		auc.Rows = append(auc.Rows, page.Bar{Name: names[i], Value: m.AUC, Tone: tones[i]})
	}
	return []page.Part{
		page.Heading("The verdict"),
		page.Text("Half of the questions are about events that happened, half about the same source and time with " +
			"another destination. Each model says how likely an event is; a good one puts those that happened first. " +
			"The rhythm tells most, and only one model sees it."),
		page.Figures{
			{Title: "Average precision", Note: "on the test events, in percent", Chart: ap},
			{Title: "Area under the ROC curve", Note: "on the test events, in percent", Chart: auc},
		},
	}
}

// momentParts show the answers for the same pair at other times.
func (x Example) momentParts() []page.Part {
	l := page.Lines{
		X: page.Axis{Name: "time", Min: x.Curve[0].Time, Max: x.Curve[len(x.Curve)-1].Time},
		Y: page.Axis{Max: 1, Percent: true}, Marks: x.Meetings,
		Series: []page.Series{{Name: modelKey[1].Name, Tone: page.Second}, {Name: modelKey[0].Name, Tone: page.First}},
	}
	for _, m := range x.Curve {
		for i, y := range []float64{m.Without, m.Whole} {
			s := &l.Series[i]
			s.X, s.Y = append(s.X, m.Time), append(s.Y, y)
		}
	}
	return []page.Part{
		page.Heading("One pair through time"),
		page.Text("Both models are asked again and again whether the same two meet now. " +
			"Each answer rests on the events before it; what comes after is unknown. " +
			"Without temporal patterns a model knows at best whether they have met lately."),
		page.Figures{{
			Title: fmt.Sprintf("How likely is it that %s and %s meet now?", x.Source, x.Destination),
			Key:   append(slices.Clone(modelKey), page.Key{Name: "they met", Tone: page.Fact}),
			Chart: l,
		}},
	}
}

// reasonParts explain the example.
func (t *Tour) reasonParts() []page.Part {
	x := t.report.Example
	e := x.Explanation
	table := page.Table{Head: []string{"what DyGMamba is told", "its answer", "logit"}}
	table.Rows = append(table.Rows,
		[]string{"everything before the question", percent(e.Probability), fmt.Sprintf("%+.2f", e.Logit)})
	for _, c := range x.Changes() {
		row := []string{"all but " + c.What, percent(c.To.Probability), fmt.Sprintf("%+.2f", c.To.Logit)}
		table.Rows = append(table.Rows, row)
	}
	parts := []page.Part{
		page.Heading("One answer, explained"),
		page.Text(fmt.Sprintf("Will %s and %s meet at time %.2f? They did. "+
			"DyGMamba gave it %s, the model without temporal patterns %s: their last meeting is no longer among the "+
			"latest events of either. Of all test events of that kind this is the one on which the two disagree most.",
			x.Source, x.Destination, x.Time, percent(e.Probability), percent(x.Without))),
		page.Figures{
			{Title: "The rhythm of the pair",
				Note:  "Gaps between their latest meetings; the last one reaches to the question.",
				Chart: columnsOf(e.Gaps, x.Period)},
			{Title: "The same question earlier",
				Note: fmt.Sprintf("At %.2f, half a period before, the last gap does not fit: %s.",
					x.OffTime, percent(x.Off.Probability)),
				Chart: columnsOf(x.Off.Gaps, x.Period)},
		},
		page.Text("The rhythm also decides what counts in the histories of both nodes. " +
			"Each column is a patch of two events, oldest first, with its weight in percent; " +
			"a patch in which the two met is blue. The last column ends with the node itself."),
	}
	for i, side := range []predict.Side{e.Source, e.Destination} {
		off := []predict.Side{x.Off.Source, x.Off.Destination}[i]
		parts = append(parts, page.Figures{
			{Title: fmt.Sprintf("What %s did", side.Name), Note: fmt.Sprintf("asked at %.2f", x.Time),
				Chart: x.history(side)},
			{Title: fmt.Sprintf("What %s did", off.Name), Note: fmt.Sprintf("asked at %.2f", x.OffTime),
				Chart: x.history(off)},
		})
	}
	return append(parts, page.Text("What becomes of the answer when something is withheld; "+
		"a pair without gaps is like one that has never met:"), table)
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
func (x Example) history(side predict.Side) page.Columns {
	var c page.Columns
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

func roundDown(v, step float64) float64 { return step * math.Floor(v/step+1e-9) }

func percent(fraction float64) string { return fmt.Sprintf("%.1f %%", 100*fraction) }
