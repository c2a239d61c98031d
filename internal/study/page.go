package study

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dygmamba/dygmamba/internal/page"
)

// WritePage writes the report as one page that needs nothing else.
func (r *Report) WritePage(w io.Writer) error {
	p := page.Page{
		Title: "The paper's tables and figures beside our own",
		Lead:  r.lead(),
		Wide:  true,
		Foot: fmt.Sprintf("dygmamba %s, %s. Numbers lead to the runs that gave them; "+
			"a pointer resting on one shows its conditions.", r.Version, r.Written.Format(time.RFC3339)),
	}
	p.Parts = append(p.Parts, page.Numbers{
		{Value: strconv.Itoa(r.counted(Done)), Name: "runs done", Tone: page.First},
		{Value: strconv.Itoa(r.counted(Unfinished)), Name: "interrupted, state kept", Tone: page.Second},
		{Value: strconv.Itoa(r.counted(NotBegun)), Name: "not begun", Tone: page.Third},
	}, page.Remark(conventions))
	var contents page.Contents
	var parts []page.Part
	for _, s := range r.Exhibits {
		if len(s.Tables)+len(s.Figures) == 0 {
			continue
		}
		head := page.Section{ID: s.ID, Title: s.Title, Note: s.Number}
		contents = append(contents, head)
		parts = append(parts, head)
		parts = append(parts, s.parts()...)
	}
	contents = append(contents, page.Section{ID: "runs", Title: "Runs"})
	p.Parts = append(append(p.Parts, contents), parts...)
	p.Parts = append(p.Parts, r.empty()...)
	p.Parts = append(p.Parts, r.runParts()...)
	return p.Write(w)
}

// conventions say how to read the tables.
const conventions = "Ours are means over seeds, with the sample standard deviation and the number of seeds where " +
	"there are several. “Off by” is the distance from the paper's mean in the paper's standard deviations (std), " +
	"or in points where it gives none. The best of a column is bold, the second underlined, as in the paper. " +
	"Numbers whose scores depend on more than what happened before their own time stand in a column of their own, " +
	"with the reason below the table."

func (r *Report) lead() string {
	text := fmt.Sprintf("%s, %d CPUs, %s, %s.", r.Machine.Device, r.Machine.CPUs, atOnce(r.Machine.Jobs),
		seedWords(r.Seeds))
	if r.Budget > 0 {
		text += fmt.Sprintf(" The budget was %s.", minutes(seconds(r.Budget)))
	}
	if r.Epochs > 0 {
		text += fmt.Sprintf(" Trainings were cut to %d epochs, so that no number is that of a whole one.", r.Epochs)
	}
	if r.Stopped {
		text += " It was interrupted; the same command goes on."
	}
	return text
}

func atOnce(jobs int) string {
	if jobs == 1 {
		return "one training at a time"
	}
	return fmt.Sprintf("up to %d trainings at once", jobs)
}

func seedWords(n int) string {
	if n == 1 {
		return "one seed"
	}
	return fmt.Sprintf("%d seeds", n)
}

// tones in the order in which series take them.
var tones = []page.Tone{page.First, page.Second, page.Fact, page.Third, page.Plain}

// draw makes a chart of a figure.
func (f *Figure) draw() page.Figure {
	chart := page.Lines{X: page.Axis{Name: f.X, Log: f.LogX}, Y: page.Axis{Name: f.Y, Log: f.LogY}, Dots: true}
	out := page.Figure{Title: f.Title, Note: f.Note}
	var xs, ys []float64
	for i, s := range f.Series {
		line := page.Series{Name: s.Name, Tone: tones[i%len(tones)], X: s.X, Y: s.Y, Cross: s.Cross}
		if s.R != nil {
			line.Points, line.Named = true, true
			for _, v := range s.R {
				line.Radius = append(line.Radius, 10*math.Sqrt(math.Max(0, v)))
			}
		} else if s.Name != "" {
			out.Key = append(out.Key, page.Key{Name: s.Name, Tone: line.Tone})
		}
		xs, ys = append(xs, s.X...), append(ys, s.Y...)
		chart.Dots = chart.Dots && len(s.X) < 50
		chart.Series = append(chart.Series, line)
	}
	bubbles := len(f.Series) > 0 && f.Series[0].R != nil
	room := 0.08
	if bubbles {
		room = 0.25
	}
	chart.X.Min, chart.X.Max = reach(xs, f.LogX, room)
	chart.Y.Min, chart.Y.Max = reach(ys, f.LogY, room)
	if f.LogX && !bubbles {
		chart.X.Ticks = distinct(xs)
	}
	if f.Note == "" {
		out.Note = f.Y
	}
	out.Chart = chart
	return out
}

// reach is a range with some room around values, a part of their own range.
func reach(values []float64, log bool, part float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) && (!log || v > 0) {
			low, high = min(low, v), max(high, v)
		}
	}
	switch {
	case low > high:
		return 0, 1
	case log:
		factor := max(1.05, math.Pow(high/low, part))
		return low / factor, high * factor
	}
	room := max(part*(high-low), 1e-3*math.Abs(high), 1e-9)
	return low - room, high + room
}

// runParts list the runs, and how each came about.
func (r *Report) runParts() []page.Part {
	parts := []page.Part{page.Section{ID: "runs", Title: "Runs"}}
	var folds page.Folds
	for _, run := range r.Runs {
		if run.State == NotBegun {
			continue
		}
		f := page.Fold{Title: run.Run, Note: run.Words, Value: run.State, Tone: page.First}
		if run.State != Done {
			f.Tone = page.Second
		}
		facts := page.Facts{{"settings", run.Settings}, {"seed", strconv.FormatUint(run.Seed, 10)},
			{"conditions", run.Conditions}, {"epochs", strconv.Itoa(run.Epochs)}}
		if run.Seconds > 0 {
			facts = append(facts, [2]string{"training and validation", minutes(seconds(run.Seconds))})
		}
		if run.Device != "" {
			facts = append(facts, [2]string{"device", run.Device})
		}
		if m := run.Machine; m != nil {
			facts = append(facts, [2]string{"machine", fmt.Sprintf("%s, %d CPUs, %d threads, %s",
				m.Platform, m.CPUs, m.Threads, atOnce(m.Jobs))})
		}
		facts = append(facts, [2]string{"version", run.Version})
		if run.Hashes != nil {
			facts = append(facts, [2]string{"hashes", string(run.Hashes)})
		}
		f.Parts = append(f.Parts, facts)
		if run.Dir != "" {
			f.Parts = append(f.Parts, page.Link{Text: run.Dir, To: escaped(run.Dir)})
		}
		folds = append(folds, f)
	}
	if folds != nil {
		parts = append(parts, folds)
	}
	return append(append(parts, r.leftParts()...), r.phaseParts()...)
}

// leftParts list what was not begun, and data that are not there.
func (r *Report) leftParts() (parts []page.Part) {
	left := page.Table{Head: []string{"not begun", "expected"}}
	for _, run := range r.Runs {
		if run.State == NotBegun {
			left.Rows = append(left.Rows, []string{run.Run, minutes(seconds(run.Expects))})
		}
	}
	if left.Rows != nil {
		parts = append(parts,
			page.Text("These could not be over within the budget, as far as can be told, or nobody came "+
				"to them; the same command goes on."), left)
	}
	if len(r.Missing) > 0 {
		code := ""
		for _, m := range r.Missing {
			code += m.Command + "\n"
		}
		parts = append(parts, page.Heading("Data sets that are not here"), page.Code(code))
	}
	return parts
}

// empty names the exhibits that have nothing to show.
func (r *Report) empty() []page.Part {
	if names := r.nothing(); names != "" {
		return []page.Part{page.Remark("Nothing to show yet: " + names + ".")}
	}
	return nil
}

func (r *Report) nothing() string {
	var names []string
	for _, s := range r.Exhibits {
		if len(s.Tables)+len(s.Figures) == 0 {
			names = append(names, fmt.Sprintf("%s (%s)", s.Title, s.Number))
		}
	}
	return strings.Join(names, ", ")
}

func (r *Report) phaseParts() []page.Part {
	t := page.Table{Head: []string{"phase", "seconds"}}
	for _, p := range r.Phases {
		t.Rows = append(t.Rows, []string{p.Name, fmt.Sprintf("%.1f", p.Seconds)})
	}
	return []page.Part{page.Heading("Where the time went"), t}
}
