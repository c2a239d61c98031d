package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/dygmamba/dygmamba/internal/demo"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/train"
)

// guide tells people about a tour while it is taken; with --json they hear nothing before the document.
type guide struct {
	app      *app
	tour     *demo.Tour
	progress *term.Progress // of a training
}

func (g *guide) tell(at demo.Station, model string) {
	var w io.Writer = g.app.out
	if g.app.json {
		w = io.Discard
	}
	r, s := g.tour.Report(), term.StyleOf(w)
	switch at {
	case demo.Made:
		g.tellStream(w, s)
	case demo.Comparing:
		fmt.Fprintf(w, "%s  DyGMamba uses the time gaps between the events of a pair;\n"+
			"   its variant A is the same model without them.\n\n", s.Strong("2. Two models."))
	case demo.Training:
		g.progress = g.app.console.Progress(model, "events")
	case demo.Trained:
		g.done()
		tellModel(w, r.Model(model))
	case demo.Judged:
		tellVerdict(w, s, r)
	case demo.Explained:
		tellExample(w, s, &r.Example)
	}
}

func (g *guide) step(s train.Step) {
	done, all := (s.Epoch-1)*s.Total+s.Done, s.Epochs*s.Total
	note := fmt.Sprintf("epoch %d of %d, loss %.3f, AP %s", s.Epoch, s.Epochs, s.Loss, term.Percent(s.AP))
	g.progress.Set(int64(done), int64(all), note)
}

// done takes the live line away.
func (g *guide) done() {
	if g.progress != nil {
		g.progress.Done()
		g.progress = nil
	}
}

func (g *guide) tellStream(w io.Writer, s term.Style) {
	r, stream := g.tour.Report(), g.tour.Stream
	fmt.Fprintf(w, "%s  %s events between %d sources and %d destinations.\n",
		s.Strong("1. Data."), term.Count(r.Data.Events), stream.Sources, stream.Targets)
	fmt.Fprintf(w, "   Each pair interacts at its own regular interval:\n\n")
	const columns, pairs = 64, 5
	for _, p := range g.tour.Pairs(pairs) {
		line := []rune(strings.Repeat("·", columns))
		for _, at := range p.Meetings {
			line[min(columns-1, int((at-p.Begin)/(p.End-p.Begin)*columns))] = '│'
		}
		fmt.Fprintf(w, "   %s–%-4s %s\n", p.Source, p.Destination, s.Dim(string(line)))
	}
	fmt.Fprintf(w, "\n   %s events for training, %s for validation, the last %s for the test.\n\n",
		term.Count(r.Split.Train), term.Count(r.Split.Val), term.Count(r.Split.Test))
}

func tellModel(w io.Writer, m demo.Model) {
	fmt.Fprintf(w, "   %-10s  %s parameters, %d epochs in %s, AP from %s to %s\n",
		m.Name, term.Count(m.Parameters), len(m.Epochs), term.Duration(seconds(m.Seconds)),
		term.Percent(m.Epochs[0].AP), term.Percent(m.Epochs[m.BestEpoch-1].AP))
}

func tellVerdict(w io.Writer, s term.Style, r *demo.Report) {
	fmt.Fprintf(w, "\n%s  Half of the queries are events that happened,\n   half are events that did not; "+
		"a random guess scores 50.\n\n", s.Strong("3. Test."))
	t := term.NewTable(term.Left("model"), term.Left(""), term.Right("AP"), term.Right("AUC"))
	for i, m := range r.Models {
		add := t.Row
		if i == 0 {
			add = t.Mark
		}
		add(m.Name, demoNames[m.Name], term.Percent(m.AP), term.Percent(m.AUC))
	}
	t.Write(w, s)
}

var demoNames = map[string]string{
	demo.Whole:   "uses the time gaps of a pair",
	demo.Without: "the same model without time gaps",
	demo.Bank:    "remembers which pairs interacted",
}

func tellExample(w io.Writer, s term.Style, x *demo.Example) {
	e := x.Explanation
	fmt.Fprintf(w, "\n%s  Do %s and %s interact at %.2f? They did.\n"+
		"   DyGMamba predicts %s, the variant without time gaps %s.\n\n", s.Strong("4. Explanation."),
		x.Source, x.Destination, x.Time, s.Good(percent(e.Probability)), percent(x.Without))
	var f term.Facts
	f.Add("time gaps", gapsInWords(x.Explanation.Gaps))
	for _, side := range []predict.Side{e.Source, e.Destination} {
		f.Add("weights, history of "+side.Name, weightsOf(side))
	}
	var through []float64
	for _, m := range x.Curve {
		through = append(through, m.Whole)
	}
	f.Add("over time", term.SparkShares(through, 60))
	f.Add("", fmt.Sprintf("probability of an event, from %.0f to %.0f", x.Curve[0].Time, x.Curve[len(x.Curve)-1].Time))
	f.Add(fmt.Sprintf("%.1f earlier", x.Time-x.OffTime), percent(x.Off.Probability))
	for _, c := range x.Changes() {
		f.Add(c.Brief, percent(c.To.Probability))
	}
	f.Write(w, s)
}

// gapsInWords are the times between the pair's meetings, the last up to the question.
func gapsInWords(gaps []float32) string {
	var words []string
	for _, g := range gaps[:len(gaps)-1] {
		words = append(words, fmt.Sprintf("%.1f", g))
	}
	return strings.Join(append(words, fmt.Sprintf("%.1f since the last event", gaps[len(gaps)-1])), ", ")
}

func percent(fraction float64) string { return fmt.Sprintf("%.1f %%", 100*fraction) }

// weightsOf draws the weights of a side, oldest first.
func weightsOf(side predict.Side) string {
	var weights []float64
	for _, p := range side.Patches {
		weights = append(weights, float64(p.Weight))
	}
	text := term.Spark(weights)
	if p := demo.Heaviest(side); p != nil {
		last := p.Events[len(p.Events)-1]
		text += fmt.Sprintf("  highest (%.0f %%) at the event with %s at %.0f", 100*p.Weight, last.Name, last.Time)
	}
	return text
}

func tellFarewell(w io.Writer, s term.Style, r *demo.Report) error {
	fmt.Fprintf(w, "\n%s  The same with plots: %s\n\n", s.Strong("5. Page."), s.Strong(r.Page))
	fmt.Fprintf(w, "%s\n\n", s.Strong("Next steps with your own data:"))
	for line := range strings.Lines(demo.Commands) {
		fmt.Fprint(w, "  "+line)
	}
	const took = "The tour took %s. The same seed (%d) gives the same numbers."
	_, err := fmt.Fprintf(w, "\n  %s\n", s.Dim(fmt.Sprintf(took, term.Duration(seconds(r.Seconds)), r.Seed)))
	return err
}
