package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/term"
)

// wordColumns are those of answers in words: a value; or a class and how likely each is. Two classes have a logit and
// the probability of the second before that, as labels without names do.
func (p *prediction) wordColumns() (list []dataset.Column) {
	if p.model.Target() != nil {
		return []dataset.Column{dataset.FloatColumn("value", func(i int) float64 {
			return *p.model.Answer(p.said[i]).Value
		})}
	}
	names := p.model.Classes()
	if len(names) == 2 {
		list = append(list, dataset.Float32Column("logit", func(i int) float32 { return p.said[i][0] }))
	}
	list = append(list, dataset.FloatColumn("probability", func(i int) float64 {
		return *p.model.Answer(p.said[i]).Probability
	}))
	list = append(list, dataset.TextColumn("class", func(i int) string { return p.model.Answer(p.said[i]).Class }))
	for _, name := range names {
		list = append(list, dataset.FloatColumn("probability_"+name, func(i int) float64 {
			return p.model.Answer(p.said[i]).Classes[name]
		}))
	}
	return list
}

// writeWords answers one query.
func (p *prediction) writeWords(w io.Writer, s term.Style) error {
	q, a := p.questions[0], p.model.Answer(p.said[0])
	by := fmt.Sprintf("by %s on %s", p.doc.Model, p.doc.Data)
	if t := p.model.Target(); t != nil {
		_, err := fmt.Fprintf(w, "%s and %s at %s: %s %s  %s\n", s.Strong(q.U), s.Strong(q.I), q.TS, t.Column,
			s.Strong(term.Number(*a.Value)), s.Dim(by))
		return err
	}
	fmt.Fprintf(w, "%s at %s: %s  %s\n\n", s.Strong(q.U), q.TS, s.Strong(a.Class), s.Dim(by))
	names := slices.Clone(p.model.Classes())
	slices.SortStableFunc(names, func(x, y string) int {
		if a.Classes[x] > a.Classes[y] {
			return -1
		} else if a.Classes[x] < a.Classes[y] {
			return 1
		}
		return 0
	})
	const most = 10
	t := term.NewTable(term.Left("class"), term.Right("probability %"))
	for _, name := range names[:min(most, len(names))] {
		t.Row(name, term.Percent(a.Classes[name]))
	}
	return t.Write(w, s)
}
