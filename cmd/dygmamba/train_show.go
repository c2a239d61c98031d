package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/paper"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/train"
)

// watcher shows live progress, and a line for every epoch.
type watcher struct {
	app      *app
	progress *term.Progress
	epochs   int  // at most
	labels   bool // are learned, not links
	values   bool // are learned
	choices  bool // are learned: the task "next"

	trials bool      // of a sweep: nobody knows which of them go on
	seeds  []uint64  // all of them
	until  time.Time // when it must end, zero for never
	said   bool      // how long it may take
}

func watch(a *app, o *dygmamba.TrainOptions) *watcher {
	w := &watcher{app: a, labels: o.Task == protocol.NodeClassification, seeds: o.Seeds,
		choices: o.Task == protocol.Next, values: o.Task == protocol.Regression}
	if o.MaxTime > 0 {
		w.until = o.Began.Add(o.MaxTime)
	}
	if o.Dir == "" {
		a.log().Info("the model will not be saved; use --out DIR to save it")
	}
	o.Log, o.OnStep, o.OnEpoch = a.log(), w.step, w.epoch
	return w
}

func (w *watcher) step(seed uint64, s train.Step) {
	if w.progress == nil {
		w.progress = w.app.console.Progress("train", "events")
		w.progress.From(int64(s.Done)) // a resumed epoch does not begin at 0
	}
	w.epochs = s.Epochs
	text := fmt.Sprintf("%sepoch %d/%d  loss %.4f", w.label(seed), s.Epoch, s.Epochs, s.Loss)
	if !w.labels && !w.choices && !w.values {
		text += "  AP " + term.Percent(s.AP)
	}
	w.progress.Of("epoch", w.foresee(seed, s.Outlook))
	w.progress.Set(int64(s.Done), int64(s.Total), text)
}

// worthSaying is how long a training must be for anyone to ask how long it may take.
const worthSaying = 10 * time.Second

// foresee says when the training ends, "" while that is unknown. The first time it is known it is explained.
func (w *watcher) foresee(seed uint64, o train.Outlook) string {
	if o.Epoch == 0 || w.trials {
		return ""
	}
	more := len(w.seeds) - 1 - slices.Index(w.seeds, seed)
	least, most := o.Range(more)
	limit := ""
	if left := time.Until(w.until); !w.until.IsZero() && left < most {
		least, most, limit = min(least, left), left, ", limited by --max-time"
	}
	text := term.Range(least, most)
	if !w.said && most >= worthSaying {
		w.said = true
		seeds := ""
		if more > 0 {
			seeds = fmt.Sprintf(" for the remaining %d seeds", more+1)
		}
		w.app.log().Info(fmt.Sprintf("an epoch takes about %s; training stops after %d epochs without improvement, "+
			"at most %d epochs: %s%s%s",
			term.Duration(o.Epoch.Round(time.Second/10)), o.Patience, o.Epochs, text, seeds, limit))
	}
	if limit != "" {
		return "time limit in " + strings.TrimPrefix(term.Range(most, most), "about ")
	}
	return "run " + text
}

func (w *watcher) epoch(seed uint64, e run.Epoch) {
	w.done()
	line := fmt.Sprintf("%sepoch %*d  loss %.4f", w.label(seed), len(fmt.Sprint(w.epochs)), e.Epoch, e.Loss)
	title := "AP/AUC "
	for _, part := range []struct {
		name string
		m    *run.Metric
	}{{"val", e.Val}, {"time", e.Others[protocol.TimeNegatives]}, {"new", e.NewVal}, {"test", e.Test},
		{"new test", e.NewTest}} {
		if part.m != nil && w.values {
			line += fmt.Sprintf("  %s MAE %s RMSE %s", part.name, term.Number(part.m.MAE), term.Number(part.m.RMSE))
		} else if part.m != nil && part.m.Accuracy != nil {
			line += fmt.Sprintf("  %s AUC %s accuracy %s", part.name, term.Percent(part.m.AUC),
				term.Percent(*part.m.Accuracy))
		} else if part.m != nil && w.labels {
			line += fmt.Sprintf("  AUC %s %s", part.name, term.Percent(part.m.AUC))
		} else if part.m != nil {
			line += fmt.Sprintf("  %s%s %s/%s", title, part.name, term.Percent(part.m.AP), term.Percent(part.m.AUC))
			title = ""
		}
	}
	for _, part := range []struct {
		name string
		m    *eval.Next
	}{{"val", e.Next}, {"test", e.NextTest}} {
		if part.m != nil {
			first := "–"
			if part.m.Share > 0 {
				first = fmt.Sprintf("%.3f", part.m.First)
			}
			line += fmt.Sprintf("  bits %s %.3f (returning %.3f, first meetings %s)", part.name, part.m.WhoBits,
				part.m.Returning, first)
		}
	}
	line += "  " + term.Duration(seconds(e.Seconds.Train+e.Seconds.Evaluate))
	if e.Improved {
		line += "  best"
	}
	w.app.log().Info(line)
}

// done takes the live line away.
func (w *watcher) done() {
	if w.progress != nil {
		w.progress.Done()
		w.progress = nil
	}
}

func (w *watcher) label(seed uint64) string {
	if len(w.seeds) > 1 {
		return fmt.Sprintf("seed %d  ", seed)
	}
	return ""
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// writeSummary is the table at the end, with the paper's numbers where it has some. dir is "" where nothing was kept.
func writeSummary(w io.Writer, s term.Style, set *dataset.Set, dir string, sum run.Summary) error {
	var f term.Facts
	f.Add("model", fmt.Sprintf("%s, preset %s, %s parameters", sum.Model, sum.Preset, term.Count(sum.Runs[0].Params)))
	f.Add("data", sum.Data+", "+term.Counted(set.Log.Len(), "event"))
	f.Add("device", fmt.Sprintf("%s, %s of memory for a step", sum.Runs[0].Device, term.Bytes(sum.Runs[0].Peak)))
	for _, r := range sum.Runs {
		f.Add(fmt.Sprintf("seed %d", r.Seed), seedText(r))
	}
	if dir != "" {
		f.Add("saved in", dir+beside(dir, sum.Seeds))
	}
	if err := f.Write(w, s); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if sum.Next != nil {
		return writeNextSummary(w, s, sum)
	}
	if len(sum.Results) == 0 {
		_, err := fmt.Fprintln(w, noTestEvents)
		return err
	}
	if answers := answersOf(sum); answers != nil {
		return answers.write(w, s)
	}
	if err := resultTable(set.Name, sum).Write(w, s); err != nil {
		return err
	}
	how := "mean over batches"
	if sum.Runs[0].Task == protocol.NodeClassification {
		how = "over all events at once"
	}
	_, err := fmt.Fprintf(w, "\n  %s\n", s.Dim("AP and AUC of the best epoch on the test events, in percent, "+how+
		fewNote(slices.ContainsFunc(sum.Results, sum.TooFew))+sampledNote(sum)))
	return err
}

// sampledNote explains the intervals.
func sampledNote(sum run.Summary) string {
	s := sum.Runs[0].TestSampled()
	switch {
	case s == nil || len(sum.Runs) > 1:
		return ""
	case s.Kind == eval.SampleBlock:
		return "; 95 %: confidence interval, if the tested events are like those that follow"
	}
	return "; 95 %: confidence interval of the value for all test events"
}

// seedText tells how a seed came to its result.
func seedText(r run.Result) string {
	if r.Epochs == 0 && r.Cut() {
		return fmt.Sprintf("%s by --max-time, after %s training events: no epoch was chosen by validation; "+
			"--resume continues", r.CutMark(), term.Count(r.TrainEvents)) + partText(r)
	}
	text := fmt.Sprintf("best epoch %d of %d%s, %s of training per epoch, %s in total", r.BestEpoch,
		r.Epochs, chosenBy(r), term.Duration(seconds(r.PerEpoch)), term.Duration(seconds(r.Seconds)))
	if r.Cut() {
		text += "; " + r.CutMark() + " by --max-time, --resume continues"
	}
	return text + partText(r)
}

// partText tells of a part of the events that a seed was trained or tested on.
func partText(r run.Result) string {
	if mark := r.PartMark(); mark != "" {
		return "; to end in time, " + mark
	}
	return ""
}

// chosenBy tells which measure of validation chose the epoch, and its value, "" of a record that does not say.
func chosenBy(r run.Result) string {
	switch {
	case r.NextVal != nil:
		return fmt.Sprintf(" by validation, %.3f %s", r.NextVal.WhoBits, r.ChosenBy)
	case r.ChosenBy == "" || r.Val == nil:
		return ""
	case r.Task == protocol.Regression:
		return fmt.Sprintf(" by validation %s %s", r.ChosenBy, term.Number(r.Val.RMSE))
	case r.Task == protocol.NodeClassification:
		return fmt.Sprintf(" by validation %s %s", r.ChosenBy, term.Percent(r.Val.AUC))
	}
	score := run.Epoch{Val: r.Val, Others: r.Others}.Judged()
	text := fmt.Sprintf(" by validation %s %s", r.ChosenBy, term.Percent(score.AP))
	if strings.HasSuffix(r.ChosenBy, "AUC") {
		text += "/" + term.Percent(score.AUC)
	}
	return text
}

// beside tells of seeds in the same directory that were trained before.
func beside(dir string, seeds []uint64) string {
	var others []string
	for _, seed := range run.Seeds(dir) {
		if !slices.Contains(seeds, seed) {
			others = append(others, fmt.Sprint(seed))
		}
	}
	if others == nil {
		return ""
	}
	return fmt.Sprintf(", next to seed %s; %s summarizes all seeds", strings.Join(others, ", "), run.ResultFile)
}

func resultTable(data string, sum run.Summary) *term.Table {
	columns := []term.Column{term.Left("setting"), term.Left("negatives"), term.Right("AP"), term.Right("AUC")}
	known := slices.ContainsFunc(sum.Results, func(m run.MeanStd) bool {
		ap, _ := published(m.Scenario, m.Strategy, data, sum.Model)
		return ap != ""
	})
	sampled := len(sum.Runs) == 1 && sum.Runs[0].TestSampled() != nil
	if sampled {
		columns = append(columns, term.Right("AP 95 %"), term.Right("AUC 95 %"), term.Right("test events"))
	}
	if known {
		columns = append(columns, term.Right("paper AP"), term.Right("paper AUC"))
	}
	t := term.NewTable(columns...)
	for _, m := range sum.Results {
		few := sum.TooFew(m)
		cells := []string{string(m.Scenario), string(m.Strategy), doubted(spread(m.AP, m.APStd, m.Runs), few),
			doubted(spread(m.AUC, m.AUCStd, m.Runs), few)}
		if sampled {
			cells = append(cells, sampledCells(sum.Runs[0], m)...)
		}
		if known {
			ap, auc := published(m.Scenario, m.Strategy, data, sum.Model)
			cells = append(cells, ap, auc)
		}
		t.Row(cells...)
	}
	return t
}

// sampledCells are the confidence intervals of an evaluation, and of how many events it is.
func sampledCells(r run.Result, of run.MeanStd) []string {
	for _, m := range r.Results {
		if m.Scenario != of.Scenario || m.Strategy != of.Strategy {
			continue
		}
		events := term.Count(m.Positives)
		if m.Sampled != nil {
			events += " of " + term.Count(m.Sampled.Of)
		}
		return []string{intervalText(m.APInterval), intervalText(m.AUCInterval), events}
	}
	return []string{"", "", ""}
}

func intervalText(x *[2]float64) string {
	if x == nil {
		return ""
	}
	return term.Percent(x[0]) + "–" + term.Percent(x[1])
}

const noTestEvents = "  There are no test events: the data set is too short, or too many events have the same time."

// writeNextSummary is the table of a training on the task "next".
func writeNextSummary(w io.Writer, s term.Style, sum run.Summary) error {
	r := sum.Runs[0].Next
	if r.Events == 0 {
		_, err := fmt.Fprintln(w, noTestEvents)
		return err
	}
	t := term.NewTable(term.Left("test events"), term.Right("bits per event"))
	for _, row := range []struct {
		name string
		bits run.MeanOf
		ci   *[2]float64
	}{{"all", sum.Next.WhoBits, r.WhoBitsCI}, {"returning pairs", sum.Next.Returning, r.ReturningCI},
		{"first meetings", sum.Next.First, r.FirstCI}} {
		if x := row.bits; len(sum.Runs) > 1 {
			row.ci = &[2]float64{x.Mean - x.Std, x.Mean + x.Std}
		}
		t.Row(row.name, bits(row.bits.Mean, row.ci, row.bits.Mean)) // 0: there are no such events
	}
	if err := t.Write(w, s); err != nil {
		return err
	}
	asked := term.Counted(r.Events, "test event")
	switch {
	case len(sum.Runs) > 1:
		asked += ", ± standard deviation over seeds"
	case r.Of > 0:
		asked = fmt.Sprintf("a draw of %s of %s, ± 95 %% interval", term.Count(r.Events),
			term.Counted(r.Of, "test event"))
	}
	_, err := fmt.Fprintf(w, "\n  %s\n  %s\n",
		s.Dim("−log₂ of the probability of the destination among all candidates; fewer are better"),
		s.Dim("of "+asked+"; 'eval --protocol next' compares with rules that only count"))
	return err
}

// spread is a percentage, with the deviation where there are several runs.
func spread(mean, std float64, runs int) string {
	if runs < 2 {
		return term.Percent(mean)
	}
	return fmt.Sprintf("%s ± %.2f", term.Percent(mean), 100*std)
}

// published is the paper's mean ± deviation in percent, where it has one.
func published(scenario protocol.Scenario, negatives protocol.Negatives, data, model string) (ap, auc string) {
	r, ok := paper.Lookup(scenario, negatives, data, model)
	if !ok || r.Timeout {
		return "", ""
	}
	return fmt.Sprintf("%.2f ± %.2f", r.AP.Mean, r.AP.Std), fmt.Sprintf("%.2f ± %.2f", r.AUC.Mean, r.AUC.Std)
}

// warnFew says of every test with a handful of events that its numbers mean nothing.
func (a *app) warnFew(results []run.Measured) {
	said := map[protocol.Scenario]bool{}
	for _, r := range results {
		if r.Batches == 0 || !r.TooFew() || said[r.Scenario] {
			continue
		}
		said[r.Scenario] = true
		enough := eval.EnoughPositives
		if r.Events > 0 {
			enough = eval.EnoughLabels
		}
		a.log().Warn(fmt.Sprintf("%s: too few test events to conclude: %s, want at least %d; AP and AUC are mostly "+
			"chance",
			r.Scenario, term.Count(r.Positives), enough))
	}
}

// doubted puts a number in brackets that is of too few events.
func doubted(cell string, few bool) string {
	if few && cell != "" {
		return "(" + cell + ")"
	}
	return cell
}

// fewNote explains the brackets.
func fewNote(any bool) string {
	if any {
		return "; ( ): too few test events to conclude"
	}
	return ""
}
