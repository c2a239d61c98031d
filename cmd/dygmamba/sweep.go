package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/queue"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

func (f *trainFlags) addSweep(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "", "config.json `file` of a run: use its model, data and settings; "+
		"other flags override it")
	flags.StringArrayVar(&f.sweep, "sweep", nil,
		"values of a setting to try, as `key=value,value,…`, or key=low..high with --trials; repeatable")
	flags.IntVar(&f.trials, "trials", 0,
		"with --sweep: number of random combinations to try (default: all combinations)")
	flags.BoolVar(&f.full, "full", false,
		"with --sweep: train all trials to the end; otherwise trials stop early when they fall behind")
	f.spread.add(cmd)
	flags.Lookup("queue").Usage = "with --sweep: " + flags.Lookup("queue").Usage
	flags.Lookup("shard").Usage = "with --sweep and --full: part of the trials to train here, as `i/n` with i from 0 " +
		"to n-1; for job arrays that share --out. Then choose with --resume (default: all)"
}

// checkSweep looks at the flags alone, before anything is remembered.
func (f *trainFlags) checkSweep() error {
	switch {
	case f.trials < 0:
		return usagef("--trials is %d, must be at least 1", f.trials)
	case len(f.sweep) == 0 && f.trials > 0 && !f.options.Resume:
		return usagef("--trials needs --sweep")
	case len(f.sweep) == 0 && f.full && !f.options.Resume:
		return usagef("--full needs --sweep")
	case len(f.sweep) > 0 && f.runs.out == "":
		return usagef("--sweep needs --out, the directory for its trials")
	case f.config != "" && f.options.Resume:
		return usagef("--config cannot be used with --resume, which reads the configuration from --out")
	}
	if err := f.checkSpread(); err != nil {
		return err
	}
	axes, err := f.axes()
	if err != nil {
		return err
	}
	for _, a := range axes {
		if slices.ContainsFunc(f.what.set, func(s string) bool { return strings.HasPrefix(s, a.Key+"=") }) {
			return usagef("%s is in both --set and --sweep, want one of them", a.Key)
		}
	}
	return nil
}

// checkSpread looks at what shares a sweep among machines.
func (f *trainFlags) checkSpread() error {
	_, parts, err := f.spread.part()
	name := "--queue"
	if parts > 0 {
		name = "--shard"
	}
	switch {
	case err != nil:
		return err
	case f.spread.queue == "" && parts == 0:
		return nil
	case len(f.sweep) == 0 && !f.options.Resume:
		return usagef("%s shares the trials of a sweep: --sweep is missing", name)
	case f.options.MaxTime > 0:
		return usagef("--max-time cannot be used with %s: machines come and go; limit num_epochs instead", name)
	case parts > 0 && !f.full:
		return usagef("--shard needs --full: trials that may stop early are compared with those of all parts; " +
			"or use --queue")
	case f.spread.queue != "" && (f.options.From != "" || f.fit != "" || f.data.sampling != ""):
		return usagef("--queue cannot be used with --from, --fit or --sampling")
	}
	if parts > 0 { // others may have begun it
		f.options.Resume = true
	}
	return nil
}

func (f *trainFlags) axes() ([]run.Axis, error) {
	var list []run.Axis
	for _, text := range f.sweep {
		a, err := run.ParseAxis(text)
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

// remember takes over what --config or, with --resume, the directory says.
func (f *trainFlags) remember(given func(flag string) bool) error {
	f.options.ByBoth = given("select-by-ap") && !f.options.ByAP
	if f.config != "" {
		record, err := run.Read(f.config)
		if err != nil {
			return err
		}
		if !given("seed") {
			f.runs.seed = record.Config.Seed
		}
		return f.take(record, given)
	}
	s, err := run.OpenSweep(f.runs.out)
	switch {
	case f.runs.out == "" || errors.Is(err, os.ErrNotExist):
		if f.options.Resume {
			return f.recall(given)
		}
		return f.takeFrom(given)
	case err != nil:
		return err
	case !f.options.Resume:
		return run.ExistsIn(f.runs.out, "sweep")
	}
	return f.recallSweep(s, given)
}

// takeFrom takes over from the run of --from what the command line leaves open.
func (f *trainFlags) takeFrom(given func(flag string) bool) error {
	if f.options.From == "" {
		return nil
	}
	choice, err := run.Best(f.options.From)
	if err != nil {
		return err
	}
	record, err := run.Open(choice.Dir())
	if errors.Is(err, os.ErrNotExist) { // a checkpoint alone: its weights are taken
		return nil
	}
	if err != nil {
		return err
	}
	return f.take(record, given)
}

// recallSweep takes over from a sweep that goes on what the command line leaves open.
func (f *trainFlags) recallSweep(s *run.Sweep, given func(flag string) bool) error {
	if !given("sweep") {
		for _, a := range s.Axes {
			f.sweep = append(f.sweep, a.String())
		}
	}
	if !given("trials") {
		f.trials = s.Asked
	}
	if !given("full") {
		f.full = s.Full
	}
	if !given("seed") && !given("runs") {
		f.runs.begun = s.Seeds
	}
	record, err := run.Open(run.SeedDir(filepath.Join(f.runs.out, s.Trials[0].Name), s.Seeds[0]))
	if errors.Is(err, os.ErrNotExist) { // it was stopped before the first trial: the command line must tell again
		return nil
	}
	if err != nil {
		return err
	}
	return f.take(record, given)
}

type sweepDoc struct {
	run.Sweep
	Dir    string      `json:"dir"`    // of the chosen trial
	Result run.Summary `json:"result"` // that it achieved
}

// runSweep tries everything and shows what came of it.
func (f *trainFlags) runSweep(ctx context.Context, a *app) error {
	axes, err := f.axes()
	if err != nil {
		return err
	}
	o := dygmamba.SweepOptions{TrainOptions: f.options, Axes: axes, Trials: f.trials, Full: f.full}
	w := watch(a, &o.TrainOptions)
	w.trials = true
	var turn dygmamba.Turn
	o.OnTurn = func(t dygmamba.Turn) { turn = t }
	o.OnTrial = func(t run.Trial, until int) {
		w.done()
		left := ""
		if turn.Left > 0 {
			left = "; sweep: " + term.Range(turn.Left, turn.Left) + " left"
		}
		a.log().Info(fmt.Sprintf("%s (trial %d of %d) up to epoch %d: %s%s", t.Name, turn.Number, turn.Of, until,
			strings.Join(t.Settings, " "), left))
	}
	close, err := f.share(ctx, a, &o)
	if err != nil {
		return err
	}
	defer close()
	s, summary, err := dygmamba.RunSweep(ctx, o)
	w.done()
	if errors.Is(err, context.Canceled) {
		a.log().Info(afterwards(o.Dir))
	}
	if err != nil {
		return err
	}
	if o.Parts > 0 {
		a.log().Info(fmt.Sprintf("part %s of the sweep is trained; when all are, choose with: train --resume --out %s",
			f.spread.shard, o.Dir))
		return a.emit(s, func(io.Writer, term.Style) error { return nil })
	}
	doc := sweepDoc{*s, filepath.Join(o.Dir, s.Best), summary}
	return a.emit(doc, func(w io.Writer, style term.Style) error { return doc.write(w, style, o.Set) })
}

// share lets other machines train trials, where the flags say so.
func (f *trainFlags) share(ctx context.Context, a *app, o *dygmamba.SweepOptions) (closed func(), err error) {
	if o.Part, o.Parts, err = f.spread.part(); err != nil || f.spread.queue == "" {
		return func() {}, err
	}
	if o.Task != "" && o.Task != protocol.LinkPrediction {
		return nil, usagef("--queue cannot be used with --task %s, only with %s", o.Task, protocol.LinkPrediction)
	}
	q, err := queue.Open(ctx, f.spread.queue)
	if err != nil {
		return nil, err
	}
	path := ""
	if abs, err := filepath.Abs(f.data.name); err == nil && run.Exists(abs) {
		path = abs
	}
	o.Launch = q.Sweep(path, !f.where.tf32, func(dir string, seed uint64, e run.Epoch) {
		a.log().Info(fmt.Sprintf("%s, seed %d: epoch %d, validation AP %s", filepath.Base(dir), seed, e.Epoch,
			term.Percent(e.Judged().AP)))
	})
	return q.Close, nil
}

// sweepMeasure is a column of the table of trials.
type sweepMeasure struct {
	key, name string
	show      func(float64) string
}

// measures are those of validation.
func (d *sweepDoc) measures() []sweepMeasure {
	if d.Measure == run.SweepBits {
		return []sweepMeasure{{d.Measure, "bits", func(x float64) string { return fmt.Sprintf("%.3f", x) }}}
	}
	if d.Measure == run.SweepError {
		return []sweepMeasure{{d.Measure, "RMSE", term.Number}}
	}
	return []sweepMeasure{{"ap", "AP", term.Percent}, {"auc", "AUC", term.Percent}}
}

// write is the table of trials, then the result of the chosen one.
func (d *sweepDoc) write(w io.Writer, s term.Style, set *dataset.Set) error {
	columns := []term.Column{term.Left("trial")}
	for _, a := range d.Axes {
		columns = append(columns, term.Right(a.Key))
	}
	columns = append(columns, term.Right("epochs"))
	for _, m := range d.measures() {
		columns = append(columns, term.Right("val "+m.name))
	}
	columns = append(columns, term.Right("time"), term.Left(""))
	t := term.NewTable(columns...)
	for i := range d.Trials {
		x := &d.Trials[i]
		cells := []string{x.Name}
		for _, setting := range x.Settings {
			_, value, _ := strings.Cut(setting, "=")
			cells = append(cells, value)
		}
		cells = append(cells, term.Count(x.Epochs()))
		for _, m := range d.measures() {
			cells = append(cells, m.show(x.Score(m.key, x.Epochs())))
		}
		cells = append(cells, term.Duration(seconds(x.Seconds())))
		switch {
		case x.Failed != "":
			t.Row(append(cells, "failed: "+x.Failed)...)
		case x.Ended > 0:
			t.Row(append(cells, fmt.Sprintf("ended early, at epoch %d", x.Ended))...)
		case x.Chosen:
			t.Mark(append(cells, "chosen")...)
		default:
			t.Row(cells...)
		}
	}
	if err := t.Write(w, s); err != nil {
		return err
	}
	how, unit := "AP", ", in percent"
	switch d.Measure {
	case "auc":
		how = "AUC"
	case run.SweepBits:
		how, unit = "bits per event", ""
	case run.SweepError:
		how, unit = "RMSE", ""
	}
	if len(d.Seeds) > 1 {
		how = fmt.Sprintf("the mean %s of %d seeds", how, len(d.Seeds))
	}
	note := "chosen by " + how + " on the validation events" + unit + "; only the chosen one is measured on the test"
	usual := []string{"", "AP", "AUC", run.ErrorMeasure}
	if by := d.Result.Runs[0].ChosenBy; !slices.Contains(usual, by) && d.Measure != run.SweepBits {
		note += "; the epoch of each trial by " + by
	}
	fmt.Fprintf(w, "\n  %s\n\n", s.Dim(note))
	return writeSummary(w, s, set, d.Dir, d.Result)
}
