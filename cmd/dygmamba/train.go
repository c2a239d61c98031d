package main

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/paper"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/train"
)

func newTrain(a *app) *cobra.Command {
	var data dataFlags
	var what modelFlags
	var where deviceFlags
	var runs runFlags
	var o dygmamba.TrainOptions
	var negatives, limit string
	cmd := &cobra.Command{
		Use:   "train",
		Short: "Train a model on a data set, with one or more seeds",
		Long: `Trains on the first 70 % of the stream, in the order of time, keeps the epoch that does best on the next 15 % and measures it
on the last 15 %. With --out everything is kept: configuration, a line per epoch, the best checkpoint, and the state to resume from.

Ctrl-C saves; --resume continues in the middle of the epoch and ends with the same bytes as a run that was never stopped.`,
		Example: `  dygmamba train --data uci --out runs/uci
  dygmamba train --data uci --out runs/uci --resume
  dygmamba train --data enron --preset paper --runs 5 --out runs/enron --negatives all
  dygmamba train --data visits.dgm --set max_input_sequence_length=64 --set dropout=0.2 --out runs/visits`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Strategies, err = oneOrAll("negatives", negatives, sample.Strategies()); err != nil {
				return err
			}
			if o.MemoryLimit, err = parseBytes("memory-limit", limit); err != nil {
				return err
			}
			if o.Seeds, err = runs.seeds(); err != nil {
				return err
			}
			if _, err := dygmamba.Factory(what.name); err != nil {
				return usagef("%v", err)
			}
			if o.Resume && runs.out == "" {
				return usagef("--resume needs --out, the directory of the run to continue")
			}
			if o.Set, err = data.open(cmd.Context(), a); err != nil {
				return err
			}
			defer o.Set.Close()
			if o.Device, err = where.open(a); err != nil {
				return err
			}
			defer o.Device.Close()
			o.Model, o.Preset, o.Settings, o.Dir, o.Threads = what.name, what.preset, what.set, runs.out, where.threads
			watch(a, &o)
			summary, err := dygmamba.Train(cmd.Context(), o)
			if err != nil {
				return err
			}
			return a.emit(summary, func(w io.Writer, s term.Style) error { return writeSummary(w, s, o.Set, summary) })
		},
	}
	data.add(cmd)
	what.add(cmd, modelNames, "dygmamba")
	where.add(cmd)
	runs.add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&o.Resume, "resume", false, "continue the run in --out, or begin it when there is none")
	flags.DurationVar(&o.SaveEvery, "save-every", 30*time.Second, "how often to save the state within an epoch")
	flags.StringVar(&limit, "memory-limit", "", "refuse to start when training would need more, such as 8GB (default: what is free)")
	flags.StringVar(&negatives, "negatives", sample.Random, "negatives of the final evaluation: random, historical, inductive or all; training and validation always use random ones")
	flags.BoolVar(&o.ByAP, "select-by-ap", false, "choose the best epoch by validation AP alone; otherwise AP and AUC must both be at least the best so far")
	flags.IntVar(&o.TestEvery, "test-every", 0, "measure the test sets too every so many epochs; shown, never used to choose (default: never)")
	flags.BoolVar(&o.TensorBoard, "tensorboard", false, "write TensorBoard event files to --out")
	completeWith(cmd, "negatives", append(sample.Strategies(), "all")...)
	return cmd
}

func modelNames() []string { return slices.Sorted(maps.Keys(models.All)) }

// watch shows live progress, and a line for every epoch.
func watch(a *app, o *dygmamba.TrainOptions) {
	o.Log = a.log()
	progress := a.console.Progress("train", "events")
	label := func(seed uint64) string {
		if len(o.Seeds) > 1 {
			return fmt.Sprintf("seed %d, ", seed)
		}
		return ""
	}
	o.OnStep = func(seed uint64, s train.Step) {
		note := fmt.Sprintf("%sepoch %d of at most %d, loss %.4f, AP %s", label(seed), s.Epoch, s.Epochs, s.Loss, term.Percent(s.AP))
		progress.Set(int64(s.Done), int64(s.Total), note)
	}
	o.OnEpoch = func(seed uint64, e train.Epoch) {
		progress.Done()
		attrs := []any{slog.Float64("loss", round(e.Loss, 4))}
		for _, m := range []struct {
			name string
			m    *train.Metric
		}{{"val", e.Val}, {"new", e.NewVal}, {"test", e.Test}} {
			if m.m != nil {
				attrs = append(attrs, slog.String(m.name+"_ap", term.Percent(m.m.AP)), slog.String(m.name+"_auc", term.Percent(m.m.AUC)))
			}
		}
		attrs = append(attrs, slog.String("train", term.Duration(seconds(e.Seconds.Train))), slog.String("eval", term.Duration(seconds(e.Seconds.Evaluate))))
		if e.Improved {
			attrs = append(attrs, slog.Bool("best", true))
		}
		a.log().Info(fmt.Sprintf("%sepoch %d", label(seed), e.Epoch), attrs...)
		progress = a.console.Progress("train", "events")
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func round(x float64, places int) float64 {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'f', places, 64), 64)
	return v
}

// writeSummary is the table at the end, with the paper's number where it has one.
func writeSummary(w io.Writer, s term.Style, set *dataset.Set, sum train.Summary) error {
	var f term.Facts
	f.Add("model", fmt.Sprintf("%s, preset %s, %s parameters", sum.Model, sum.Preset, term.Count(int64(sum.Runs[0].Params))))
	f.Add("data", sum.Data)
	for _, r := range sum.Runs {
		f.Add(fmt.Sprintf("seed %d", r.Seed), fmt.Sprintf("best epoch %d of %d, %s an epoch on %s, %s memory a step",
			r.BestEpoch, r.Epochs, term.Duration(seconds(r.PerEpoch)), r.Device, term.Bytes(r.Peak)))
	}
	if err := f.Write(w, s); err != nil {
		return err
	}
	t := term.NewTable(term.Left("setting"), term.Left("negatives"), term.Right("AP"), term.Right("AUC"), term.Right("paper AP"), term.Right("paper AUC"))
	for _, m := range sum.Results {
		ap, auc := published(m.Setting, m.Strategy, set.Name, sum.Model)
		t.Row(m.Setting, m.Strategy, spread(m.AP, m.APStd, m.Runs), spread(m.AUC, m.AUCStd, m.Runs), ap, auc)
	}
	return t.Write(w, s)
}

// spread is a percentage, with the deviation where there are several runs.
func spread(mean, std float64, runs int) string {
	if runs < 2 {
		return term.Percent(mean)
	}
	return fmt.Sprintf("%s ± %.2f", term.Percent(mean), 100*std)
}

// parseBytes reads sizes such as 8GB, 512MiB or 1000000.
func parseBytes(flag, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	units := []struct {
		suffix string
		size   float64
	}{{"KIB", 1 << 10}, {"MIB", 1 << 20}, {"GIB", 1 << 30}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"B", 1}}
	number, size := strings.ToUpper(strings.TrimSpace(text)), 1.0
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.suffix); ok {
			number, size = strings.TrimSpace(rest), u.size
			break
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v > 0) || v*size > 1<<60 {
		return 0, usagef("--%s is %q, must be a size such as 8GB or 512MiB", flag, text)
	}
	return int64(v * size), nil
}

// published is the paper's mean ± deviation in percent, where it has one.
func published(setting, negatives, data, model string) (ap, auc string) {
	r, ok := paper.Lookup(setting, negatives, data, model)
	if !ok || r.Timeout {
		return "", ""
	}
	return fmt.Sprintf("%.2f ± %.2f", r.AP.Mean, r.AP.Std), fmt.Sprintf("%.2f ± %.2f", r.AUC.Mean, r.AUC.Std)
}
