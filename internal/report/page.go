package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dygmamba/dygmamba/internal/page"
	"github.com/dygmamba/dygmamba/internal/paper"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

//go:embed report.html
var source string

var layout = page.Parse(source, template.FuncMap{
	"percent": percent, "exact": exact, "seconds": seconds, "bytes": term.Bytes,
	"events": func(n int) string {
		if n == 1 {
			return "one event"
		}
		return term.Count(n) + " events"
	},
})

// WritePage draws the page.
func (r *Report) WritePage(w io.Writer) error { return layout.Execute(w, view{r}) }

type view struct{ *Report }

// Name says which baseline it is.
func (b Baseline) Name() string {
	return b.Model + " (" + strings.ReplaceAll(b.Variant, "_", " ") + ")"
}

// Headline is the result that the page is about, as the run has noted it.
func (v view) Headline() run.Measured { return v.headline() }

func (r *Report) headline() run.Measured {
	for _, m := range r.Results {
		if m.Scenario == r.Scenario && m.Strategy == r.Negatives {
			return m
		}
	}
	return run.Measured{Result: r.Measured}
}

// What says which test it is.
func (v view) What() string {
	if v.Labels() {
		return "labels of sources"
	}
	return fmt.Sprintf("%s, %s negatives", v.Scenario, v.Negatives)
}

// epochs is the axis of the epochs, with round whole numbers.
func (v view) epochs() page.Axis {
	n, step := len(v.Epochs), 1
	for _, k := range []int{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000} {
		if step = k; n/k <= 10 {
			break
		}
	}
	axis := page.Axis{Name: "epoch", Min: 1, Max: float64(n)}
	for k := step; k <= n; k += step {
		axis.Ticks = append(axis.Ticks, float64(k))
	}
	return axis
}

// Learning shows loss and quality over the epochs.
func (v view) Learning() page.Figures {
	chart := func(y page.Axis, list []page.Series) page.Lines {
		return page.Lines{X: v.epochs(), Y: y, Series: list, Dots: len(v.Epochs) <= 40,
			Marks: []float64{float64(v.BestEpoch)}}
	}
	loss := v.curves(func(e run.Epoch) float64 { return e.Loss }, func(m *run.Metric) float64 { return m.Loss })
	title, note := "Average precision", "higher is better"
	own, of := func(e run.Epoch) float64 { return e.AP }, func(m *run.Metric) float64 { return m.AP }
	if v.Labels() {
		title, note = "Area under the ROC curve", "in percent; higher is better"
		own, of = func(run.Epoch) float64 { return math.NaN() }, func(m *run.Metric) float64 { return m.AUC }
	}
	entropy := "binary cross entropy; lower is better"
	if v.InWords() {
		entropy = "cross entropy; lower is better"
	}
	if v.Task == protocol.Regression {
		errors := v.curves(func(run.Epoch) float64 { return math.NaN() },
			func(m *run.Metric) float64 { return m.RMSE })
		return page.Figures{
			{Title: "Loss", Note: "mean squared error in squared deviations; lower is better", Key: page.Keys(loss),
				Chart: chart(page.Around(loss, 0.05), loss)},
			{Title: "RMSE", Note: "in the unit of " + v.Column + "; lower is better", Key: page.Keys(errors),
				Chart: chart(page.Around(errors, 0.05), errors)},
		}
	}
	quality := v.curves(own, of)
	return page.Figures{
		{Title: "Loss", Note: entropy, Key: page.Keys(loss),
			Chart: chart(page.Around(loss, 0.05), loss)},
		{Title: title, Note: note, Key: page.Keys(quality),
			Chart: chart(page.Around(quality, 0.05).InPercent(), quality)},
	}
}

// curves are those of training, validation and validation on new nodes; those without any value are left out.
func (v view) curves(own func(run.Epoch) float64, of func(*run.Metric) float64) []page.Series {
	list := []page.Series{{Name: "training", Tone: page.Third}, {Name: "validation", Tone: page.First},
		{Name: "validation, new nodes", Tone: page.Second}}
	for _, e := range v.Epochs {
		list[0].Add(float64(e.Epoch), own(e))
		for k, m := range []*run.Metric{e.Val, e.NewVal} {
			value := math.NaN()
			if m != nil {
				value = of(m)
			}
			list[k+1].Add(float64(e.Epoch), value)
		}
	}
	return slices.DeleteFunc(list, func(s page.Series) bool {
		return !slices.ContainsFunc(s.Y, func(v float64) bool { return !math.IsNaN(v) })
	})
}

// Published are the paper's results beside ours, nil if it has none of them.
func (v view) Published() (list []paper.Result) {
	known := false
	for _, m := range v.Results {
		p, found := paper.Lookup(m.Scenario, m.Strategy, v.Data.Name, v.Model)
		known = known || found
		list = append(list, p)
	}
	if !known {
		return nil
	}
	return list
}

// Means are those of all seeds that were measured.
func (v view) Means() []run.MeanStd {
	var whole []run.Result
	for _, s := range v.Seeds {
		if len(s.Results) > 0 {
			whole = append(whole, run.Result{Results: s.Results})
		}
	}
	return run.Summarize(whole).Results
}

// Through shows how good the answers are as time goes on.
func (v view) Through() page.Figures {
	title, list := "Average precision", []page.Series{{Tone: page.Third}, {Name: v.Model, Tone: page.First}}
	for _, s := range v.Period {
		middle, value := s.From+(s.To-s.From)/2, s.AP
		if v.Labels() {
			title, value = "Area under the ROC curve", s.AUC
		}
		list[0].Add(middle, orNaN(s.Baseline))
		list[1].Add(middle, orNaN(value))
	}
	if v.Baseline == nil {
		list = list[1:]
	} else {
		list[0].Name = v.Baseline.Name()
	}
	from, to := v.Period[0].From, v.Period[len(v.Period)-1].To
	return page.Figures{{Title: title, Note: v.What(), Key: page.Keys(list), Chart: page.Lines{
		X: page.Axis{Name: "time", Min: from, Max: to, Date: v.dates}, Y: page.Around(list, 0.05).InPercent(),
		Series: list, Dots: true,
	}}}
}

// Often says which group it is.
func (v view) Often(g Group) string { return g.name(v.Labels()) }

// BySeen shows how good the answers are by how much there was to go by.
func (v view) BySeen() page.Figures {
	title, bars := "Average precision", page.Bars{Chance: 0.5}
	for _, g := range v.Seen {
		value := g.AP
		if v.Labels() {
			title, value = "Area under the ROC curve", g.AUC
		}
		if value != nil {
			name := fmt.Sprintf("%s – %.0f %% of the events", v.Often(g), 100*g.Share)
			bars.Rows = append(bars.Rows, page.Bar{Name: name, Value: *value, Tone: page.First})
		}
	}
	return page.Figures{{Title: title, Note: "in percent", Chart: bars}}
}

// Positive is the share of the test events that have the label, in percent.
func (v view) Positive() float64 {
	return 100 * float64(v.Measured.Positives) / float64(max(1, v.Measured.Events))
}

// Reliable compares what was said with what came true.
func (v view) Reliable() page.Figures {
	line := page.Reliability(v.Reliability)
	var counts page.Columns
	for _, b := range v.Reliability.Bins {
		above := fmt.Sprint(b.Answers)
		if b.Answers >= 10_000 {
			above = term.Short(float64(b.Answers))
		}
		counts.List = append(counts.List, page.Column{
			Value: float64(b.Answers), Above: above, Below: [2]string{fmt.Sprintf("%.0f", 100*b.From)},
			Tone: page.Third,
			Title: fmt.Sprintf("%.0f to %.0f %%: %s answers, %.1f %% came true", 100*b.From, 100*b.To,
				term.Count(b.Answers), 100*b.True),
		})
	}
	return page.Figures{
		{Title: "What came true", Note: "share of the answers with about this probability",
			Key: page.Keys(line.Series), Chart: line},
		{Title: "How many answers there were", Note: "by their probability, in percent: from … on", Chart: counts},
	}
}

// Pace is how fast the training was, in the mean of the epochs.
func (v view) Pace() (p struct {
	Seconds float64 // of an epoch
	Events  int     // a second
}) {
	spent, rate, n := 0.0, 0.0, float64(len(v.Epochs))
	for _, e := range v.Epochs {
		spent += e.Seconds.Train
		rate += e.Events / n
	}
	p.Seconds, p.Events = spent/n, int(rate)
	return p
}

// Effort shows how long the epochs took.
func (v view) Effort() page.Figures {
	list := []page.Series{{Name: "validation", Tone: page.Third}, {Name: "training", Tone: page.First}}
	for _, e := range v.Epochs {
		list[0].Add(float64(e.Epoch), e.Seconds.Evaluate)
		list[1].Add(float64(e.Epoch), e.Seconds.Train)
	}
	y := page.Around(list, 0.001)
	y.Min = 0
	return page.Figures{{Title: "Seconds of an epoch", Key: page.Keys(list),
		Chart: page.Lines{X: v.epochs(), Y: y, Series: list}}}
}

// Arrival says that what was asked about is remembered at once.
func (v view) Arrival() bool { return v.Order == protocol.Arrival }

func percent(fraction float64) string { return term.Percent(fraction) + " %" }

func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func seconds(s float64) string { return term.Duration(time.Duration(s * float64(time.Second))) }

func orNaN(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}
