package main

import (
	"context"
	"io"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/queries"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/predict"
)

// pairDoc is what a model of the task "next" says of a query: the probability of the destination, given that the source
// acts at that time, and the rate of events of the pair.
type pairDoc struct {
	questionDoc
	Share float64           `json:"share"`
	Rate  *float64          `json:"rate,omitempty"` // per second where days are known, otherwise per unit of time
	Extra map[string]string `json:"extra,omitempty"`

	when  string // ts as it was asked
	extra []string
}

// answerPairs answers queries about destinations.
func (p *prediction) answerPairs(ctx context.Context, a *app, c *predict.Chooser, doc *nextDoc,
	progress *term.Progress,
) error {
	all := make([]pairDoc, len(p.questions))
	for done, i := range inTime(p.questions) { // the past is gone through once
		err := c.Reach(ctx, p.questions[i].Time)
		if err == nil {
			all[i], err = p.pairDoc(c, p.questions[i])
		}
		if err != nil {
			return err
		}
		progress.Set(int64(done+1), int64(len(p.questions)), "")
	}
	progress.Done()
	write := func(w io.Writer) error { return p.writePairs(w, all) }
	if err := p.keep(write, &doc.Out); err != nil {
		return err
	}
	if p.out == "" {
		doc.Results = all
	}
	return a.emit(doc, func(w io.Writer, s term.Style) error {
		if p.out != "" {
			return p.writeWhere(w, s, doc)
		}
		return write(w)
	})
}

func (p *prediction) pairDoc(c *predict.Chooser, q queries.Question) (d pairDoc, err error) {
	d = pairDoc{questionDoc: questionDocOf(q), Extra: p.extraOf(q), when: q.TS, extra: q.Extra}
	if d.Share, err = c.Share(q.Src, q.Dst, q.Time); err != nil {
		return d, err
	}
	rate, known, err := rateOf(c, q.Query)
	if known {
		rate *= d.Share
		d.Rate = &rate
	}
	return d, err
}

// rateOf is how often the source of a query acts at its time: per second where days are known, otherwise per unit of
// time.
func rateOf(c *predict.Chooser, q predict.Query) (rate float64, known bool, err error) {
	if !c.KnowsRates() {
		return 0, false, nil
	}
	rate, err = c.Rate(q.Src, q.Time)
	if day := c.Day(); day > 0 {
		rate *= day / 86400
	}
	return rate, true, err
}

// writePairs writes u,i,ts,share,rate, and then what else the queries came with.
func (p *prediction) writePairs(w io.Writer, all []pairDoc) error {
	columns := []dataset.Column{
		dataset.TextColumn("u", func(row int) string { return all[row].U }),
		dataset.TextColumn("i", func(row int) string { return all[row].I }),
		dataset.TextColumn("ts", func(row int) string { return all[row].when }),
		dataset.FloatColumn("share", func(row int) float64 { return all[row].Share }),
	}
	if len(all) > 0 && all[0].Rate != nil {
		columns = append(columns, dataset.FloatColumn("rate", func(row int) float64 { return *all[row].Rate }))
	}
	return p.writeColumns(w, len(all), func(row int) []string { return all[row].extra }, columns...)
}
