package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/queries"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/predict"
)

// timing is the part of predict that asks when a source acts, with one destination or with any.
type timing struct {
	within  []string // --within
	curve   bool     // --curve, of the rate
	source  bool     // there is no --i
	windows []string
}

func (t *timing) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&t.within, "within", nil,
		"with --u, --ts, perhaps --i, and a run of the task next: probability of at least one event within this "+
			"`time` (90s, 15m, 1h, 7d, 2w, or a number in the unit of the data); may be repeated")
	flags.Lookup("curve").NoOptDefVal = flags.Lookup("curve").DefValue
}

// asked says whether there is a question of time.
func (t *timing) asked() bool { return len(t.within) > 0 || t.curve }

// arguments are none, but for the number after --curve, which may stand alone.
func (p *prediction) arguments(cmd *cobra.Command, args []string) error {
	if curve := cmd.Flags().Lookup("curve"); len(args) == 1 && curve.Changed {
		if _, err := strconv.Atoi(args[0]); err == nil {
			return curve.Value.Set(args[0])
		}
	}
	return takes()(cmd, args)
}

// check looks at the flags alone.
func (t *timing) check(cmd *cobra.Command, p *prediction) error {
	given := cmd.Flags().Changed
	t.windows = t.within
	t.curve = given("curve") && p.why == "" && p.plot == "" && p.queries == ""
	if !t.asked() {
		return nil
	}
	t.source = !given("i")
	switch {
	case p.queries != "":
		return usagef("--within answers a single question: want --u and --ts, not --queries")
	case len(t.within) > 0 && (p.why != "" || p.plot != ""):
		return usagef("--within cannot be used with --explain or --plot; want --curve for the rate over time")
	case p.single.u == "" || p.single.ts == "":
		return usagef("--within and --curve need --u and --ts, and --i for one destination")
	case t.source:
		p.alone = true
		return p.checkShared(cmd)
	}
	return nil
}

// whenDoc is the document of a question of time. Rates and windows are in seconds where days are known, otherwise in
// the unit of the data.
type whenDoc struct {
	U          string      `json:"u"`
	I          string      `json:"i,omitempty"`
	TS         any         `json:"ts"`
	Model      string      `json:"model"`
	Checkpoint string      `json:"checkpoint"`
	Data       string      `json:"data"`
	Unknown    unknownDoc  `json:"unknown_nodes"`
	Share      *float64    `json:"share,omitempty"` // of i among the next events of u
	Rate       float64     `json:"rate"`
	Within     *windowDoc  `json:"within,omitempty"`  // the first window
	Windows    []windowDoc `json:"windows,omitempty"` // all, where there are several
	Peak       any         `json:"most_likely,omitempty"`
	Warning    string      `json:"warning,omitempty"`
	Curve      []rateDoc   `json:"curve,omitempty"`
	Out        string      `json:"out,omitempty"` // where the curve is

	asked queries.Question
	names []string // of the windows, as they were asked
	day   float64
	peak  event.Time
}

type windowDoc struct {
	Window      float64 `json:"window"`
	Probability float64 `json:"probability"`
	Expected    float64 `json:"expected"`
}

type rateDoc struct {
	TS   any     `json:"ts"`
	Rate float64 `json:"rate"`

	at event.Time
}

// answerWhen says how often a source acts, at a time and in windows that begin then.
func (p *prediction) answerWhen(ctx context.Context, a *app, c *predict.Chooser, o *openedRun) error {
	if !c.KnowsRates() {
		return usagef("%s: %v", o.files[0], predict.ErrNoRate)
	}
	q, day := p.questions[0], c.Day()
	var lengths []event.Time
	for _, text := range p.timing.within {
		length, err := dataset.ParseLength(text, day)
		if err != nil {
			return usagef("--within: %v", err)
		}
		lengths = append(lengths, length)
	}
	asked := len(lengths)
	if p.timing.curve && asked == 0 { // a week, or a part of the data
		lengths = append(lengths, p.curveLength(day))
	}
	dst := &q.Dst
	if p.timing.source {
		dst = nil
	}
	if err := c.Reach(ctx, q.Time); err != nil {
		return err
	}
	found, err := c.When(q.Src, dst, q.Time, lengths)
	if err != nil {
		return err
	}
	doc := p.whenDoc(c, o, found, asked)
	doc.Unknown.warn(a)
	if doc.Warning != "" {
		a.log().Warn(doc.Warning)
	}
	if p.timing.curve {
		if err := p.keepCurve(doc); err != nil {
			return err
		}
	}
	return a.emit(doc, func(w io.Writer, s term.Style) error { return doc.write(w, s, p) })
}

func (p *prediction) curveLength(day event.Time) event.Time {
	if day > 0 {
		return 7 * day
	}
	all := p.set.Log.All()
	return max(1, (all.Time[len(all.Time)-1]-all.Time[0])/20)
}

// whenDoc puts an answer into words and units.
func (p *prediction) whenDoc(c *predict.Chooser, o *openedRun, found predict.Timing, asked int) *whenDoc {
	q, unit := p.questions[0], 1.0
	if day := c.Day(); day > 0 {
		unit = day / 86400 // units of the data in a second
	}
	is := questionDocOf(q)
	doc := &whenDoc{U: is.U, TS: is.TS, Model: c.Model(), Checkpoint: o.files[0], Data: p.set.Name,
		Unknown: p.unknown(c), Rate: found.Rate * unit, Warning: found.Warning, asked: q, names: p.timing.within,
		day: c.Day()}
	if !p.timing.source {
		doc.I, doc.Share = is.I, &found.Share
	}
	for _, w := range found.Windows[:asked] {
		doc.Windows = append(doc.Windows, windowDoc{w.Length / unit, w.Probability, w.Expected})
	}
	if asked > 0 {
		doc.Within = &doc.Windows[0]
	}
	if asked == 1 {
		doc.Windows = nil
	}
	if len(found.Windows) > 0 {
		doc.Peak, doc.peak = p.timeDoc(found.Peak), found.Peak
	}
	if p.timing.curve {
		for _, x := range found.Curve {
			doc.Curve = append(doc.Curve, rateDoc{p.timeDoc(x.Time), x.Rate * unit, x.Time})
		}
	}
	return doc
}

// timeDoc is a time as the data write it.
func (p *prediction) timeDoc(t event.Time) any {
	if p.set.TimeFormat == dataset.TimeDate {
		return p.at(t)
	}
	return t
}

// keepCurve writes the curve to --out, in the format of its ending.
func (p *prediction) keepCurve(doc *whenDoc) error {
	curve := doc.Curve
	err := p.keep(func(w io.Writer) error {
		if filepath.Ext(p.out) == ".json" {
			return json.NewEncoder(w).Encode(doc)
		}
		return p.writeColumns(w, len(curve), nil,
			dataset.TextColumn("ts", func(row int) string {
				return dataset.FormatTime(curve[row].at, p.set.TimeFormat)
			}),
			dataset.FloatColumn("rate", func(row int) float64 { return curve[row].Rate }))
	}, &doc.Out)
	if p.out != "" {
		doc.Curve = nil
	}
	return err
}

// write is the answer for people.
func (d *whenDoc) write(w io.Writer, s term.Style, p *prediction) error {
	what := s.Strong(d.U) + " acts"
	if d.I != "" {
		what += " with " + s.Strong(d.I)
	}
	fmt.Fprintf(w, "%s from %s on: how soon?  %s\n\n", what, d.asked.TS,
		s.Dim(fmt.Sprintf("by %s on %s", d.Model, d.Data)))
	windows := d.Windows
	if windows == nil && d.Within != nil {
		windows = []windowDoc{*d.Within}
	}
	if len(windows) > 0 {
		t := term.NewTable(term.Left("within"), term.Right("at least one event %"), term.Right("events expected"))
		for i, x := range windows {
			t.Row(d.names[i], term.Percent(x.Probability), fmt.Sprintf("%.4g", x.Expected))
		}
		if err := t.Write(w, s); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	var f term.Facts
	f.Add("rate", d.rateText())
	if d.Share != nil {
		f.Add("share", fmt.Sprintf("%s %% of the next event of %s", term.Percent(*d.Share), d.U))
	}
	if d.Peak != nil {
		f.Add("most likely", p.at(d.peak))
	}
	d.addCurve(&f, p)
	if d.Out != "" {
		f.Add("wrote", d.Out)
	}
	if err := f.Write(w, s); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n  %s\n", s.Dim(withinMeans))
	return err
}

// withinMeans explains a window.
const withinMeans = "from all events before that time; windows include events that others in them lead to"

// rateText is a rate in a unit in which it is easy to read.
func (d *whenDoc) rateText() string {
	if d.day == 0 {
		return fmt.Sprintf("%.4g events per unit of time at that time", d.Rate)
	}
	for _, x := range []struct {
		name    string
		seconds float64
	}{{"hour", 3600}, {"day", 86400}, {"year", 365.25 * 86400}} {
		if r := d.Rate * x.seconds; r >= 0.5 || x.name == "year" {
			return fmt.Sprintf("%.3g events per %s at that time", r, x.name)
		}
	}
	return ""
}

// addCurve draws the rate over time.
func (d *whenDoc) addCurve(f *term.Facts, p *prediction) {
	if len(d.Curve) == 0 {
		return
	}
	const columns = 56
	first, last := d.asked.Time, d.Curve[len(d.Curve)-1].at
	values, next := make([]float64, columns), 0
	for i := range values { // the rate at evenly spaced times
		at := first + (last-first)*(float64(i)+0.5)/columns
		for next < len(d.Curve)-1 && d.Curve[next+1].at <= at {
			next++
		}
		values[i] = d.Curve[next].Rate
	}
	f.Add("rate ahead", term.Spark(values))
	f.Add("", fmt.Sprintf("%s … %s", p.at(first), p.at(last)))
}

// addRates adds the rate of each listed destination.
func (d *sharesDoc) addRates(c *predict.Chooser, q queries.Question) error {
	r, known, err := rateOf(c, q.Query)
	if !known || err != nil {
		return err
	}
	for i := range d.Items {
		each := r * d.Items[i].Share
		d.Items[i].Rate = &each
	}
	return nil
}
