// Package demo answers: what is all this for? It makes a small stream in which every pair meets in a rhythm of its own,
// trains DyGMamba on it and beside it the same model without its sense of rhythm, compares both with EdgeBank, explains
// one prediction, and draws a page.
package demo

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/train"
)

// Tour is the demo. The same stream and settings give the same numbers and the same page.
type Tour struct {
	Stream   dataset.PeriodicOptions
	Settings []string // key=value, of both models

	Tell   func(at Station, model string) // told at every station; there is a model where one is trained; may be nil
	OnStep func(s train.Step)             // told after every batch of a training; may be nil

	set     *dataset.Set
	session *eval.Session
	split   *dataset.Split
	dir     string // of both runs, for as long as the tour lasts
	report  Report
}

// New is the tour as it was meant, over in less than a minute on two cores.
func New(seed uint64) *Tour {
	return &Tour{
		// So many pairs that the short histories below rarely show the same pair twice: to know its rhythm one must
		// look at the pair itself.
		Stream: dataset.PeriodicOptions{
			Sources: 16, Targets: 16, Events: 8000, ShortGap: 20, LongGap: 100, Noise: 0.02, Seed: seed,
		},
		// Small models that are quick to learn.
		Settings: []string{
			"channel_embedding_dim=32", "width_divisor=16", "gamma=1", "num_layers=1", "node_feat_dim=64",
			"edge_feat_dim=1", "dropout=0", "patch_size=2", "max_input_sequence_length=15", "max_interaction_times=4",
			"batch_size=50", "learning_rate=0.002", "num_epochs=16",
		},
	}
}

// Station is where a tour is.
type Station uint8

// The stations, in their order. Training and Trained come once for each model with weights.
const (
	Made      Station = iota // the stream is there
	Comparing                // models are about to be trained
	Training                 // one of them
	Trained
	Judged    // all models are measured
	Explained // the example is there
)

// The three models, by the names of the catalogue.
const (
	Whole   = "dygmamba"
	Without = "dygmamba-a" // the same without temporal patterns
	Bank    = "edgebank"
)

// Take goes from station to station.
func (t *Tour) Take(ctx context.Context) (_ *Report, err error) {
	if t.dir, err = os.MkdirTemp("", "dygmamba-demo-*"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(t.dir)
	if err := t.makeStream(ctx); err != nil {
		return nil, err
	}
	if err := t.compare(ctx); err != nil {
		return nil, err
	}
	if t.report.Example, err = t.explain(ctx); err != nil {
		return nil, err
	}
	t.tell(Explained, "")
	return &t.report, nil
}

// Report is what is known so far.
func (t *Tour) Report() *Report { return &t.report }

func (t *Tour) tell(at Station, model string) {
	if t.Tell != nil {
		t.Tell(at, model)
	}
}

func (t *Tour) makeStream(ctx context.Context) (err error) {
	if t.set, err = dataset.Periodic(t.Stream); err != nil {
		return err
	}
	spec, err := dygmamba.NewSpec(Whole, "", t.set, t.Settings...)
	if err != nil {
		return err
	}
	t.session, err = eval.OpenSession(ctx, t.set, eval.Options{BatchSize: spec.Training.BatchSize})
	if err != nil {
		return err
	}
	t.split = t.session.Protocol().Split()
	t.report = Report{
		Seed: t.Stream.Seed, Data: eval.RecordData(t.set), Split: eval.RecordSplit(t.split), Settings: t.Settings,
	}
	t.tell(Made, "")
	return nil
}

// compare trains two models and measures three on the same events against the same negatives.
func (t *Tour) compare(ctx context.Context) error {
	t.tell(Comparing, "")
	for _, name := range []string{Whole, Without} {
		t.tell(Training, name)
		m, err := t.train(ctx, name)
		if err != nil {
			return err
		}
		t.report.Models = append(t.report.Models, m)
		t.tell(Trained, name)
	}
	bank, err := t.bank(ctx)
	if err != nil {
		return err
	}
	t.report.Models = append(t.report.Models, bank)
	t.tell(Judged, "")
	return nil
}

func (t *Tour) train(ctx context.Context, name string) (Model, error) {
	dev := cpu.New(cpu.Options{})
	defer dev.Close()
	began := time.Now()
	o := dygmamba.TrainOptions{
		Set: t.set, Device: dev, Model: name, Preset: "steady", Settings: t.Settings,
		Seeds: []uint64{t.Stream.Seed}, Dir: filepath.Join(t.dir, name),
	}
	if t.OnStep != nil {
		o.OnStep = func(_ uint64, s train.Step) { t.OnStep(s) }
	}
	summary, err := dygmamba.Train(ctx, o)
	if err != nil {
		return Model{}, err
	}
	r := summary.Runs[0]
	m := Model{Name: name, Parameters: r.Params, BestEpoch: r.BestEpoch, Seconds: time.Since(began).Seconds()}
	for _, e := range r.History {
		epoch := Epoch{Epoch: e.Epoch, Loss: e.Loss}
		if e.Val != nil {
			epoch.AP = e.Val.AP
		}
		m.Epochs = append(m.Epochs, epoch)
	}
	for _, x := range r.Results {
		if x.Scenario == protocol.Transductive {
			m.AP, m.AUC = x.AP, x.AUC
		}
	}
	return m, nil
}

// bank is the best of EdgeBank's memories.
func (t *Tour) bank(ctx context.Context) (best Model, err error) {
	memories, _, err := models.Contenders(Bank)
	if err != nil {
		return best, err
	}
	if err := t.session.Join(ctx, memories...); err != nil {
		return best, err
	}
	rows, err := t.session.Test(ctx, eval.Tests{
		Scenarios:  []protocol.Scenario{protocol.Transductive},
		Strategies: []protocol.Negatives{protocol.RandomNegatives},
	})
	for _, r := range rows {
		if best.Name == "" || r.AP > best.AP {
			best = Model{Name: Bank, Variant: r.Contender, AP: r.AP, AUC: r.AUC}
		}
	}
	return best, err
}
