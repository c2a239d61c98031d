package main

import (
	"context"
	"fmt"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/page"
	"github.com/dygmamba/dygmamba/internal/queries"
	"github.com/dygmamba/dygmamba/predict"
)

// draw asks about the pair of the one query at moments around it, and draws the answers with the pair's meetings.
func (p *prediction) draw(ctx context.Context, model *predict.Predictor) error {
	curves, err := model.Curves(ctx, queries.Of(p.questions), p.moments)
	if err != nil {
		return err
	}
	if len(curves[0]) < 2 {
		return usagef("--plot: %s cannot score other times than that of the query; "+
			"want a link model, with --order strict if it has memory", p.doc.Model)
	}
	if err := replaceFile(p.plot, page.Picture{p.figure(curves[0])}.Write); err != nil {
		return err
	}
	p.doc.Plot = p.plot
	return nil
}

// figure is the curve of the one query, marked where the two met.
func (p *prediction) figure(curve []predict.CurvePoint) page.Figure {
	q := p.questions[0]
	line := page.Series{Name: "probability", Tone: page.First}
	for _, m := range curve {
		line.X, line.Y = append(line.X, m.Time), append(line.Y, m.Probability)
	}
	chart := page.Lines{
		X: page.Axis{Name: "time", Min: line.X[0], Max: line.X[len(line.X)-1],
			Date: p.set.Clock().Unit == dataset.TimeUnits[0]},
		Y: page.Axis{Max: 1, Percent: true}, Series: []page.Series{line},
	}
	all := p.set.Log.All()
	for i, at := range all.Time {
		u, v := all.Src[i], all.Dst[i]
		if at >= chart.X.Min && at <= chart.X.Max && (u == q.Src && v == q.Dst || u == q.Dst && v == q.Src) {
			chart.Marks = append(chart.Marks, at)
		}
	}
	return page.Figure{
		Title: fmt.Sprintf("Probability of an event between %s and %s", q.U, q.I),
		Note: p.doc.Model + ", from the events before each time; dotted lines: their events. Probability: " +
			predict.LinkMeans,
		Chart: chart, Wide: true,
	}
}
