package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dygmamba/dygmamba/internal/page"
	"github.com/dygmamba/dygmamba/internal/paper"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/run"
)

// WritePage draws the page.
func (r *Report) WritePage(w io.Writer) error { return r.page().Write(w) }

func (r *Report) page() page.Page {
	p := page.Page{
		Title: r.Model + " on " + r.Data.Name,
		Lead: fmt.Sprintf("Preset %s, seed %d: %s, asked about the last %s. %s",
			r.Preset, r.Seed, r.basedOn(), term.Count(r.Split.Test), r.question()),
		Foot: fmt.Sprintf("Made by: dygmamba report %s. %s", r.Run, r.about()),
	}
	for _, n := range r.Notes {
		p.Parts = append(p.Parts, page.Text("Note: "+n))
	}
	p.Parts = append(p.Parts, r.numbers())
	for _, parts := range [][]page.Part{
		r.learning(), r.results(), r.through(), r.bySeen(), r.reliable(), r.hardest(), r.surest(), r.effort(),
		r.configuration(), r.basis(),
	} {
		p.Parts = append(p.Parts, parts...)
	}
	return p
}

// basedOn says what was learned from and what chose the epoch.
func (r *Report) basedOn() string {
	switch {
	case r.BestEpoch > 0 || r.TrainEvents == 0:
		return fmt.Sprintf("learned from %s events, chosen on %s", term.Count(r.Split.Train), term.Count(r.Split.Val))
	}
	return fmt.Sprintf("learned from %s of %s events, chosen by no validation (%s)", term.Count(r.TrainEvents),
		term.Count(r.Split.Train), r.Mark)
}

// about says which weights the numbers are of.
func (r *Report) about() string {
	if r.BestEpoch == 0 {
		return "All numbers are of the weights as they were when training ended; no epoch was chosen by validation."
	}
	return fmt.Sprintf("All numbers are of the best epoch by validation, %d of %d.", r.BestEpoch, len(r.Epochs))
}

// question is what the model was asked.
func (r *Report) question() string {
	if r.Labels() {
		return "Which label has the source of this event?"
	}
	return "Will these two interact at this moment?"
}

// numbers are those to see first, as the run has noted them.
func (r *Report) numbers() page.Numbers {
	m := r.headline()
	list := page.Numbers{
		{Value: percent(m.AP), Exact: exact(m.AP), Name: "average precision, " + r.what(), Tone: page.First},
		{Value: percent(m.AUC), Exact: exact(m.AUC), Name: "area under the ROC curve", Tone: page.First},
		{Value: percent(r.Reliability.ECE), Exact: exact(r.Reliability.ECE), Name: "expected calibration error: " +
			"how far probabilities are off", Tone: page.Plain},
	}
	if b := r.Baseline; b != nil {
		list = append(list, page.Number{Value: percent(b.AP), Exact: exact(b.AP), Name: "average precision of " +
			b.name() + ", which learns nothing", Tone: page.Third})
	}
	return list
}

func (b Baseline) name() string {
	return b.Model + " (" + strings.ReplaceAll(b.Variant, "_", " ") + ")"
}

// headline is the result that the page is about.
func (r *Report) headline() run.Measured {
	for _, m := range r.Results {
		if m.Scenario == r.Scenario && m.Strategy == r.Negatives {
			return m
		}
	}
	return run.Measured{Result: r.Measured}
}

// what says which test it is.
func (r *Report) what() string {
	if r.Labels() {
		return "labels of sources"
	}
	return fmt.Sprintf("%s, %s negatives", r.Scenario, r.Negatives)
}

// learning shows the epochs.
func (r *Report) learning() []page.Part {
	parts := []page.Part{page.Heading("Learning")}
	if len(r.Epochs) == 0 {
		if r.Mark != "" {
			return append(parts, page.Text("No epoch was finished: the training was "+r.Mark+"."))
		}
		return append(parts, page.Text("The log of epochs is not there."))
	}
	parts = append(parts, page.Text(fmt.Sprintf("Every epoch walks once through the training events in the order "+
		"of time and is then measured on the validation events. "+
		"The best one by validation, %d of %d, is kept: it is marked.", r.BestEpoch, len(r.Epochs))))
	axis := page.Axis{Name: "epoch", Min: 1, Max: float64(len(r.Epochs)), Ticks: wholeTicks(len(r.Epochs))}
	chart := func(y page.Axis, list []page.Series) page.Lines {
		return page.Lines{X: axis, Y: y, Series: list, Dots: len(r.Epochs) <= 40,
			Marks: []float64{float64(r.BestEpoch)}}
	}
	loss := r.curves(func(e run.Epoch) float64 { return e.Loss }, func(m *run.Metric) float64 { return m.Loss })
	figures := page.Figures{{Title: "Loss", Note: "binary cross entropy; lower is better", Key: key(loss),
		Chart: chart(around(loss, 0.05), loss)}}
	if r.Labels() {
		auc := r.curves(nil, func(m *run.Metric) float64 { return m.AUC })
		return append(parts, append(figures, page.Figure{Title: "Area under the ROC curve",
			Note: "in percent; higher is better", Key: key(auc), Chart: chart(inPercent(around(auc, 0.05)), auc)}))
	}
	ap := r.curves(func(e run.Epoch) float64 { return e.AP }, func(m *run.Metric) float64 { return m.AP })
	return append(parts, append(figures, page.Figure{Title: "Average precision", Note: "higher is better",
		Key: key(ap), Chart: chart(inPercent(around(ap, 0.05)), ap)}))
}

// curves are those of training, validation and validation on new nodes; those without any value are left out. Own may
// be nil.
func (r *Report) curves(own func(run.Epoch) float64, of func(*run.Metric) float64) []page.Series {
	list := []page.Series{{Name: "training", Tone: page.Third}, {Name: "validation", Tone: page.First},
		{Name: "validation, new nodes", Tone: page.Second}}
	for _, e := range r.Epochs {
		values := []float64{math.NaN(), math.NaN(), math.NaN()}
		if own != nil {
			values[0] = own(e)
		}
		for k, m := range []*run.Metric{e.Val, e.NewVal} {
			if m != nil {
				values[k+1] = of(m)
			}
		}
		for k, v := range values {
			list[k].X, list[k].Y = append(list[k].X, float64(e.Epoch)), append(list[k].Y, v)
		}
	}
	var kept []page.Series
	for _, s := range list {
		if anyNumber(s.Y) {
			kept = append(kept, s)
		}
	}
	return kept
}

// results is the table of everything that was measured.
func (r *Report) results() []page.Part {
	t := page.Table{Head: []string{"setting", "negatives", "AP", "AUC", "events"}, Words: 2}
	if r.Labels() {
		t = page.Table{Head: []string{"labels", "AP", "AUC", "events"}}
	}
	known := false
	for _, m := range r.Results {
		_, found := paper.Lookup(m.Scenario, m.Strategy, r.Data.Name, r.Model)
		known = known || found
	}
	if known {
		t.Head = append(t.Head, "paper AP", "paper AUC")
	}
	for _, m := range r.Results {
		row := []string{string(m.Scenario), string(m.Strategy), term.Percent(m.AP), term.Percent(m.AUC),
			term.Count(m.Positives)}
		if r.Labels() {
			row = []string{term.Count(m.Positives) + " positive", term.Percent(m.AP), term.Percent(m.AUC),
				term.Count(m.Events)}
		}
		if known {
			ap, auc := "", ""
			if p, found := paper.Lookup(m.Scenario, m.Strategy, r.Data.Name, r.Model); found && !p.Timeout {
				ap, auc = fmt.Sprintf("%.2f ± %.2f", p.AP.Mean, p.AP.Std), fmt.Sprintf("%.2f ± %.2f", p.AUC.Mean,
					p.AUC.Std)
			}
			row = append(row, ap, auc)
		}
		t.Rows = append(t.Rows, row)
	}
	how := "AP and AUC in percent, means over batches. Transductive is about all test events, inductive about " +
		"those with a node that training did not show."
	if r.Labels() {
		how = "AP and AUC in percent, of all test events at once."
	}
	return append([]page.Part{page.Heading("Results"), page.Text(how), t}, r.allSeeds()...)
}

// allSeeds is the table of a training with several.
func (r *Report) allSeeds() []page.Part {
	if len(r.Seeds) == 0 {
		return nil
	}
	t := page.Table{Head: []string{"seed", "setting", "negatives", "", "AP", "AUC", "best epoch"}, Words: 4}
	var whole []run.Result
	for _, s := range r.Seeds {
		name := fmt.Sprintf("seed %d", s.Seed)
		if len(s.Results) == 0 {
			t.Rows = append(t.Rows, []string{name, "", "", s.Mark, "", "", ""})
			continue
		}
		whole = append(whole, run.Result{Results: s.Results})
		for _, m := range s.Results {
			t.Rows = append(t.Rows, []string{name, string(m.Scenario), string(m.Strategy), s.Mark,
				term.Percent(m.AP), term.Percent(m.AUC), fmt.Sprintf("%d of %d", s.BestEpoch, s.Epochs)})
		}
	}
	for _, m := range run.Summarize(whole).Results {
		t.Rows = append(t.Rows, []string{fmt.Sprintf("mean of %d", m.Runs), string(m.Scenario), string(m.Strategy), "",
			fmt.Sprintf("%s ± %.2f", term.Percent(m.AP), 100*m.APStd),
			fmt.Sprintf("%s ± %.2f", term.Percent(m.AUC), 100*m.AUCStd), ""})
	}
	return []page.Part{page.Text(fmt.Sprintf("All seeds of the training; all else on this page is about seed %d, "+
		"the best by validation.", r.Seed)), t}
}

// wholeTicks are round whole numbers from 1 to n.
func wholeTicks(n int) []float64 {
	step := 1
	for _, k := range []int{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000} {
		if step = k; n/k <= 10 {
			break
		}
	}
	var list []float64
	for v := step; v <= n; v += step {
		list = append(list, float64(v))
	}
	return list
}

func key(list []page.Series) []page.Key {
	var keys []page.Key
	for _, s := range list {
		keys = append(keys, page.Key{Name: s.Name, Tone: s.Tone})
	}
	return keys
}

// around is an axis with room for all values, from one round value to another.
func around(list []page.Series, round float64) page.Axis {
	low, high := math.Inf(1), math.Inf(-1)
	for _, s := range list {
		for _, v := range s.Y {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	if low > high {
		return page.Axis{Max: 1}
	}
	low, high = round*math.Floor(low/round+1e-9), round*math.Ceil(high/round-1e-9)
	if high <= low {
		high = low + round
	}
	return page.Axis{Min: low, Max: high}
}

func inPercent(a page.Axis) page.Axis {
	a.Percent, a.Max = true, min(1, a.Max)
	return a
}

func anyNumber(list []float64) bool {
	for _, v := range list {
		if !math.IsNaN(v) {
			return true
		}
	}
	return false
}

func percent(fraction float64) string { return term.Percent(fraction) + " %" }

func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func seconds(s float64) string { return term.Duration(time.Duration(s * float64(time.Second))) }
