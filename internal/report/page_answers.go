package report

import (
	"fmt"
	"math"

	"github.com/dygmamba/dygmamba/internal/page"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/protocol"
)

// through shows how good the answers are as time goes on.
func (r *Report) through() []page.Part {
	title, text := "Average precision", "Each point is the mean over some batches, in the order of time."
	model := page.Series{Name: r.Model, Tone: page.First}
	bank := page.Series{Tone: page.Third}
	if r.Labels() {
		title, text = "Area under the ROC curve", "Each point is of a stretch of events; where all have the same "+
			"label there is none."
	}
	for _, s := range r.Period {
		middle := s.From + (s.To-s.From)/2
		value, base := s.AP, s.Baseline
		if r.Labels() {
			value = s.AUC
		}
		model.X, model.Y = append(model.X, middle), append(model.Y, orNaN(value))
		bank.X, bank.Y = append(bank.X, middle), append(bank.Y, orNaN(base))
	}
	list := []page.Series{model}
	if r.Baseline != nil {
		bank.Name = r.Baseline.name()
		list = []page.Series{bank, model}
	}
	from, to := r.Period[0].From, r.Period[len(r.Period)-1].To
	return []page.Part{
		page.Heading("Through the test period"),
		page.Text("The model was trained and chosen on what came before; does it hold as time goes on? " + text),
		page.Figures{{Title: title, Note: r.what(), Key: key(list), Chart: page.Lines{
			X: page.Axis{Name: "time", Min: from, Max: to, Date: r.dates}, Y: inPercent(around(list, 0.05)),
			Series: list, Dots: true,
		}}},
	}
}

// bySeen shows how good the answers are by how much there was to go by.
func (r *Report) bySeen() []page.Part {
	heading, text, title := "By how often the pair had met", "An event of each kind is compared with the negative "+
		"that was drawn for it, so that 50 % is chance in every row. "+
		"Pairs that never met before are what memory alone cannot know.", "Average precision"
	bars := page.Bars{Chance: 0.5}
	if r.Labels() {
		heading, title = "By how much was known of the source", "Area under the ROC curve"
		text = "How many events a source had had before. Where all labels of a row are the same there is nothing " +
			"to measure."
	}
	table := page.Table{Head: []string{"events before", "test events", "share", "AP", "AUC", "mean probability"}}
	if !r.Labels() {
		table.Head[0] = "meetings before"
	}
	for _, g := range r.Seen {
		value := g.AP
		if r.Labels() {
			value = g.AUC
		}
		if value != nil {
			bars.Rows = append(bars.Rows, page.Bar{Name: fmt.Sprintf("%s – %.0f %% of the events",
				g.name(r.Labels()), 100*g.Share), Value: *value, Tone: page.First})
		}
		table.Rows = append(table.Rows, []string{g.name(r.Labels()), term.Count(g.Events), percent(g.Share),
			orDash(g.AP), orDash(g.AUC), percent(g.Mean)})
	}
	return []page.Part{
		page.Heading(heading), page.Text(text),
		page.Figures{{Title: title, Note: "in percent", Chart: bars}}, table,
	}
}

// reliable compares what was said with what came true.
func (r *Report) reliable() []page.Part {
	line := page.Reliability(r.Reliability)
	var counts page.Columns
	for _, b := range r.Reliability.Bins {
		counts.List = append(counts.List, page.Column{
			Value: float64(b.Answers), Above: shortCount(b.Answers), Below: [2]string{fmt.Sprintf("%.0f",
				100*b.From)}, Tone: page.Third,
			Title: fmt.Sprintf("%.0f to %.0f %%: %s answers, %.1f %% came true", 100*b.From, 100*b.To,
				term.Count(b.Answers), 100*b.True),
		})
	}
	text := "Half of the questions of this test came true, as in training: a probability here is one among as " +
		"many negatives as events, not the share of all moments at which two meet. "
	if r.Calibrated {
		text += "Probabilities were fitted to validation data with random negatives. "
		if r.Negatives != protocol.RandomNegatives {
			text += fmt.Sprintf("These are %s ones, which are harder to tell from events: what was fitted does not "+
				"hold for them. ", r.Negatives)
		}
	}
	if r.Labels() {
		text = fmt.Sprintf("Of all events %.2f %% have the label. ", 100*float64(r.Measured.Positives)/float64(max(1,
			r.Measured.Events)))
	}
	return []page.Part{
		page.Heading("Can the probabilities be taken at their word?"),
		page.Text(text + fmt.Sprintf("Points on the line are right; below it the model promises too much, above "+
			"it too little. "+
			"On average the two are %s apart (expected calibration error); the Brier score is %.4f.",
			percent(r.Reliability.ECE), r.Reliability.Brier)),
		page.Figures{
			{Title: "What came true", Note: "share of the answers with about this probability",
				Key: key(line.Series), Chart: line},
			{Title: "How many answers there were", Note: "by their probability, in percent: from … on", Chart: counts},
		},
	}
}

// shortCount is a number of at most four characters or so.
func shortCount(n int) string {
	if n < 10_000 {
		return fmt.Sprint(n)
	}
	return term.Short(float64(n))
}

func orNaN(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

func orDash(v *float64) string {
	if v == nil {
		return "–"
	}
	return term.Percent(*v)
}
