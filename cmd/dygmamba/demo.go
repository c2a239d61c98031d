package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/models/edgebank"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/train"
)

func newDemo(a *app) *cobra.Command {
	t := tour{app: a, stream: demoStream, settings: demoSettings}
	var seed uint64
	var out string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Take a tour: make a stream, train on it, explain a prediction, see it all on a page",
		Long: `Makes a small stream in which every pair meets in a rhythm of its own, trains DyGMamba on it and beside it the same model without its sense
of rhythm (ablation A), compares both with EdgeBank, explains one prediction, and writes a page with plots.

It takes less than a minute on two cores and reads or downloads nothing. The same seed gives the same numbers and the same page.`,
		Example: `  dygmamba demo
  dygmamba demo --out tour.html --seed 7
  dygmamba demo --json`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return usagef("--out is empty, want a file for the page")
			}
			if err := writable("out", out); err != nil {
				return err
			}
			t.stream.Seed = seed
			doc, err := t.run(cmd.Context(), out)
			if err != nil {
				return err
			}
			return a.emit(doc, doc.farewell)
		},
	}
	cmd.Flags().Uint64Var(&seed, "seed", 1, "seed of the stream and of both models")
	cmd.Flags().StringVar(&out, "out", "dygmamba-demo.html", "where to write the page")
	return cmd
}

// demoStream has so many pairs that the short histories below rarely show the same pair twice: to know its rhythm one must look at the pair itself.
var demoStream = dataset.PeriodicOptions{Sources: 16, Targets: 16, Events: 8000, ShortGap: 20, LongGap: 100, Noise: 0.02}

// demoSettings make both models small and quick to learn.
var demoSettings = []string{
	"channel_embedding_dim=32", "width_divisor=16", "gamma=1", "num_layers=1", "node_feat_dim=64", "edge_feat_dim=1", "dropout=0",
	"patch_size=2", "max_input_sequence_length=15", "max_interaction_times=4", "batch_size=50", "learning_rate=0.002", "num_epochs=16",
}

// tour is the demo on its way.
type tour struct {
	app      *app
	stream   dataset.PeriodicOptions
	settings []string

	set   *dataset.Set
	split *dataset.Split
	dir   string // of both runs, for as long as the tour lasts
	doc   demoDoc
}

// run goes from station to station, telling about each as soon as it is there.
func (t *tour) run(ctx context.Context, out string) (_ *demoDoc, err error) {
	began := time.Now()
	if t.dir, err = os.MkdirTemp("", "dygmamba-demo-*"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(t.dir)
	if err := t.makeStream(); err != nil {
		return nil, err
	}
	if err := t.compare(ctx); err != nil {
		return nil, err
	}
	if t.doc.Example, err = t.explain(ctx); err != nil {
		return nil, err
	}
	t.say(t.doc.Example.tell)
	if err := t.writePage(out); err != nil {
		return nil, err
	}
	t.doc.Page, t.doc.Seconds = out, time.Since(began).Seconds()
	return &t.doc, nil
}

func (t *tour) makeStream() (err error) {
	if t.set, err = dataset.Periodic(t.stream); err != nil {
		return err
	}
	if t.split, err = dataset.NewSplit(t.set.Log, dataset.SplitOptions{Sampling: t.set.Sampling}); err != nil {
		return err
	}
	t.doc = demoDoc{Seed: t.stream.Seed, Data: eval.RecordData(t.set), Split: eval.RecordSplit(t.split), Settings: t.settings}
	t.say(t.tellStream)
	return nil
}

// The three models, by the names of the catalogue.
const (
	demoWhole   = "dygmamba"
	demoWithout = "dygmamba-a"
	demoBank    = "edgebank"
)

// compare trains two models and measures three on the same events against the same negatives.
func (t *tour) compare(ctx context.Context) error {
	t.say(t.tellModels)
	for _, name := range []string{demoWhole, demoWithout} {
		m, err := t.train(ctx, name)
		if err != nil {
			return err
		}
		t.doc.Models = append(t.doc.Models, m)
		t.say(m.tell)
	}
	bank, err := t.bank(ctx)
	if err != nil {
		return err
	}
	t.doc.Models = append(t.doc.Models, bank)
	t.say(t.doc.tellVerdict)
	return nil
}

func (t *tour) train(ctx context.Context, name string) (demoModel, error) {
	dev := cpu.New(cpu.Options{})
	defer dev.Close()
	progress := t.app.console.Progress(name, "events")
	defer progress.Done()
	began := time.Now()
	summary, err := dygmamba.Train(ctx, dygmamba.TrainOptions{
		Set: t.set, Device: dev, Model: name, Settings: t.settings, Seeds: []uint64{t.stream.Seed}, Dir: filepath.Join(t.dir, name),
		OnStep: func(_ uint64, s train.Step) {
			done, all := (s.Epoch-1)*s.Total+s.Done, s.Epochs*s.Total
			progress.Set(int64(done), int64(all), fmt.Sprintf("epoch %d of %d, loss %.3f, AP %s", s.Epoch, s.Epochs, s.Loss, term.Percent(s.AP)))
		},
	})
	if err != nil {
		return demoModel{}, err
	}
	r := summary.Runs[0]
	m := demoModel{Name: name, Parameters: r.Params, BestEpoch: r.BestEpoch, Seconds: time.Since(began).Seconds()}
	for _, e := range r.History {
		epoch := demoEpoch{Epoch: e.Epoch, Loss: e.Loss}
		if e.Val != nil {
			epoch.AP = e.Val.AP
		}
		m.Epochs = append(m.Epochs, epoch)
	}
	for _, x := range r.Results {
		if x.Setting == eval.Transductive {
			m.AP, m.AUC = x.AP, x.AUC
		}
	}
	return m, nil
}

// bank is the best of EdgeBank's memories.
func (t *tour) bank(ctx context.Context) (best demoModel, err error) {
	spec, err := t.spec()
	if err != nil {
		return best, err
	}
	protocol := eval.NewProtocol(t.split, eval.Options{Sampling: t.set.Sampling, BatchSize: spec.Training.BatchSize})
	for _, c := range edgebank.Variants() {
		bank, err := edgebank.New(c)
		if err != nil {
			return best, err
		}
		if err := protocol.Warm(ctx, bank); err != nil {
			return best, err
		}
		r, err := protocol.Evaluate(ctx, bank, eval.Test, sample.Random)
		if err != nil {
			return best, err
		}
		if best.Name == "" || r.AP > best.AP {
			best = demoModel{Name: demoBank, Variant: c.String(), AP: r.AP, AUC: r.AUC}
		}
	}
	return best, nil
}
