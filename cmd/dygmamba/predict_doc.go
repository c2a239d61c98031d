package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/jsonobject"
	"github.com/dygmamba/dygmamba/internal/queries"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/predict"
)

type answeredBy struct {
	Model      string `json:"model"`
	Checkpoint string `json:"checkpoint"`
	Data       string `json:"data"`
	Device     string `json:"device"`
}

type predictDoc struct {
	answeredBy
	Queries      int              `json:"queries"`
	Unknown      unknownDoc       `json:"unknown_nodes"`
	Out          string           `json:"out,omitempty"`          // where the answers are, if not here
	Explain      string           `json:"explain,omitempty"`      // where the explanations are
	Plot         string           `json:"plot,omitempty"`         // where the curve is drawn
	Results      []scoreDoc       `json:"results,omitzero"`       // in the order of the queries; none at all with --out
	Explanations []explanationDoc `json:"explanations,omitempty"` // with --explain -
}

// questionDoc is a query as it was asked; ts is a number, or a text where it was a date.
type questionDoc struct {
	U  string `json:"u"`
	I  string `json:"i"`
	TS any    `json:"ts"`
}

func questionDocOf(q queries.Question) questionDoc {
	if _, err := strconv.ParseFloat(q.TS, 64); err != nil {
		return questionDoc{q.U, q.I, q.TS}
	}
	return questionDoc{q.U, q.I, q.Time}
}

type scoreDoc struct {
	questionDoc
	predict.Answer
	Extra map[string]string `json:"extra,omitempty"` // what stood beside the query
}

func linkScore(q questionDoc, logit float32, probability float64, extra map[string]string) scoreDoc {
	return scoreDoc{q, predict.Answer{Logit: logit, Probability: &probability}, extra}
}

// extraOf are the other columns of a query, by name.
func (p *prediction) extraOf(q queries.Question) map[string]string {
	if len(p.extra) == 0 {
		return nil
	}
	all := map[string]string{}
	for i, name := range p.extra {
		all[name] = q.Extra[i]
	}
	return all
}

type explanationDoc struct {
	questionDoc
	predict.Explanation
}

// MarshalJSON writes the question and the explanation as one object.
func (e explanationDoc) MarshalJSON() ([]byte, error) {
	return jsonobject.Join(e.questionDoc, e.Explanation)
}

// unknownDoc tells which nodes have no history.
type unknownDoc struct {
	Count   int      `json:"count"`
	Queries int      `json:"queries"` // that ask about them
	Names   []string `json:"names"`   // the first few
}

// mostNames is how many of them are named.
const mostNames = 5

func (d *unknownDoc) add(name string) {
	if d.Count++; d.Count <= mostNames {
		d.Names = append(d.Names, name)
	}
}

// warn tells whoever did not mean it.
func (d *unknownDoc) warn(a *app) {
	if d.Count == 0 {
		return
	}
	names := strings.Join(d.Names, ", ")
	if d.Count > len(d.Names) {
		names += ", …"
	}
	what := "1 node is not in the data and has no history"
	if d.Count > 1 {
		what = term.Count(d.Count) + " nodes are not in the data and have no history"
	}
	queries := term.Count(d.Queries) + " queries"
	if d.Queries == 1 {
		queries = "1 query"
	}
	a.log().Warn(fmt.Sprintf("%s (in %s): %s", what, queries, names))
}

// writeTable writes u,i,ts,logit,probability, or what else a model says, and then what else the queries came with.
func (p *prediction) writeTable(w io.Writer) error {
	columns := []dataset.Column{
		dataset.TextColumn("u", func(i int) string { return p.questions[i].U }),
		dataset.TextColumn("i", func(i int) string { return p.questions[i].I }),
		dataset.TextColumn("ts", func(i int) string { return p.questions[i].TS }),
	}
	if p.said != nil {
		columns = append(columns, p.wordColumns()...)
	} else {
		columns = append(columns,
			dataset.Float32Column("logit", func(i int) float32 { return p.logits[i] }),
			dataset.FloatColumn("probability", func(i int) float64 { return p.probability(p.logits[i]) }))
	}
	return p.writeColumns(w, len(p.questions), func(row int) []string { return p.questions[row].Extra }, columns...)
}

// writeColumns writes a table in the format of --out, with the other columns of the queries behind its own; one whose
// name is taken gets another.
func (p *prediction) writeColumns(w io.Writer, rows int, extra func(row int) []string, columns ...dataset.Column,
) error {
	taken := map[string]bool{}
	for _, c := range columns {
		taken[c.Name] = true
	}
	for i, name := range p.extra {
		for taken[name] {
			name = "query_" + name
		}
		taken[name] = true
		columns = append(columns, dataset.TextColumn(name, func(row int) string { return extra(row)[i] }))
	}
	return dataset.WriteColumns(context.Background(), w, tableFormat(p.out), rows, columns...)
}

// write is the answer for people: the table itself, or what became of it; one query is answered in words.
func (p *prediction) write(w io.Writer, s term.Style) error {
	switch {
	case p.alone && p.out == "" && p.said != nil:
		return p.writeWords(w, s)
	case p.alone && p.out == "":
		q, logit := p.questions[0], p.logits[0]
		fmt.Fprintf(w, "%s and %s at %s: %s  %s\n", s.Strong(q.U), s.Strong(q.I), q.TS,
			s.Strong(term.Percent(p.probability(logit))+" %"),
			s.Dim(fmt.Sprintf("logit %.4f, by %s on %s", logit, p.doc.Model, p.doc.Data)))
		if !p.labels {
			fmt.Fprintf(w, "  %s\n", s.Dim(predict.LinkMeans))
		}
		if p.doc.Plot != "" {
			fmt.Fprintf(w, "wrote %s\n", p.doc.Plot)
		}
		return p.writeExplanations(w, s)
	case p.out == "":
		return p.writeTable(w)
	}
	if p.why == "-" {
		return p.writeExplanations(w, s)
	}
	var f term.Facts
	f.Add("wrote", fmt.Sprintf("%s, %s queries answered by %s on %s",
		p.out, term.Count(p.doc.Queries), p.doc.Model, p.doc.Data))
	if p.doc.Explain != "" {
		f.Add("", p.doc.Explain+", explanations")
	}
	if p.doc.Plot != "" {
		f.Add("", p.doc.Plot+", the curve over time")
	}
	return f.Write(w, s)
}

// writeExplanations shows what one answer rests on, or writes lines of JSON where there are several.
func (p *prediction) writeExplanations(w io.Writer, s term.Style) error {
	for _, e := range p.doc.Explanations {
		if p.alone {
			return p.writeExplanation(w, s, e)
		}
		if err := json.NewEncoder(w).Encode(e); err != nil {
			return err
		}
	}
	return nil
}

func (p *prediction) writeExplanation(w io.Writer, s term.Style, e explanationDoc) error {
	fmt.Fprintln(w)
	var f term.Facts
	p.addGaps(&f, e.Gaps)
	if e.WithoutGaps != nil {
		f.Add("without the gaps", effectText(e.WithoutGaps))
	}
	if e.WithoutMeetings != nil {
		f.Add("had they never met", effectText(e.WithoutMeetings))
	}
	for _, x := range e.Facts {
		f.Add(x.Title(), x.Text(e.Destination.Name))
		f.Add("without that", effectText(x.Without))
	}
	p.addCurve(&f, e.Curve)
	if err := f.Write(w, s); err != nil {
		return err
	}
	for _, side := range []predict.Side{e.Source, e.Destination} {
		fmt.Fprintf(w, "\n%s, %s events looked at\n", s.Strong(side.Name), term.Count(side.Events))
		if err := p.sideTable(side, e.Weighted).Write(w, s); err != nil {
			return err
		}
	}
	return nil
}

// addGaps tells when the pair met last, and the rhythm before that.
func (p *prediction) addGaps(f *term.Facts, gaps []float32) {
	if len(gaps) == 0 {
		f.Add("meetings", "none")
		return
	}
	var known []string
	for _, g := range gaps {
		if second := p.set.Clock().Second(); second > 0 {
			known = append(known, term.Duration(seconds(float64(g)/second)))
		} else {
			known = append(known, term.Number(float64(g)))
		}
	}
	end := len(known) - 1
	if end == 0 {
		f.Add("meetings", "one, "+known[end]+" ago")
		return
	}
	f.Add("meetings", "the last "+known[end]+" ago; gaps before it, oldest first:")
	const aLine = 5
	for few := range slices.Chunk(known[:end], aLine) {
		f.Add("", strings.Join(few, ", "))
	}
}

// addCurve draws how likely the pair is around the time that was asked about.
func (p *prediction) addCurve(f *term.Facts, curve []predict.CurvePoint) {
	if len(curve) == 0 {
		return
	}
	const columns = 57
	var values []float64
	for _, m := range curve {
		values = append(values, m.Probability)
	}
	first, last := curve[0].Time, curve[len(curve)-1].Time
	f.Add("around that time", term.SparkShares(values, columns))
	f.Add("", fmt.Sprintf("%s … %s", p.at(first), p.at(last)))
}

func effectText(e *predict.Effect) string {
	return fmt.Sprintf("%s %% (%+.4f in logit)", term.Percent(e.Probability), e.Change)
}

// sideTable lists a side's patches that have events, the most weighted marked.
func (p *prediction) sideTable(side predict.Side, weighted bool) *term.Table {
	t := term.NewTable(term.Right("weight %"), term.Left("events"), term.Left("when"), term.Left("without them"))
	padding := 0.0
	for _, patch := range side.Patches {
		if len(patch.Events) == 0 {
			padding += float64(patch.Weight)
			continue
		}
		weight, without := "", ""
		if weighted {
			weight = term.Percent(float64(patch.Weight))
		}
		row := t.Row
		if patch.Without != nil {
			row, without = t.Mark, effectText(patch.Without)
		}
		row(weight, eventNames(patch.Events), p.when(patch.Events), without)
	}
	if padding > 0 {
		t.Row(term.Percent(padding), "before all of them", "", "")
	}
	return t
}

func eventNames(events []predict.PastEvent) string {
	const most = 4
	var names []string
	for _, e := range events {
		names = append(names, e.Name)
	}
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// at is a time, as exactly as people want to know.
func (p *prediction) at(t event.Time) string {
	if c := p.set.Clock(); c.Known() {
		return c.Show(t)
	}
	return term.Number(t)
}

// when is the time of events, or from when to when.
func (p *prediction) when(events []predict.PastEvent) string {
	first, last := p.at(events[0].Time), p.at(events[len(events)-1].Time)
	if first == last {
		return first
	}
	return first + " … " + last
}
