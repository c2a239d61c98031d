// Package report answers: how did this run go, and how far can its answers be relied on?
//
// It asks the questions of the test again, looks at the answers one by one, and draws a page: how the model learned,
// when and for whom it is right, whether its probabilities can be taken at their word, its worst and its best answers
// with their reasons.
package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"time"

	"github.com/dygmamba/dygmamba/calibration"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// Options say which run to look at, and how closely. The first three are needed.
type Options struct {
	Dir       string             // of one seed's run
	Set       *dataset.Set       // that it was trained on
	Predictor *predict.Predictor // its model, loaded from Dir with Set
	Chooser   *predict.Chooser   // the same for a model of the task next, in place of Predictor

	Seeds     []string           // directories of all seeds of the training, for the table of results; nil: Dir alone
	Scenario  protocol.Scenario  // which test is looked at closely; "" is transductive
	Negatives protocol.Negatives // and with which negatives; "" is random
	Cases     int                // this many of each kind; 0: none

	OnBatch func(what string, done, total int) // told after every batch; may be nil
}

// Report is all that a page shows. All but Seconds is the same for the same run.
type Report struct {
	Run       string           `json:"run"`
	Model     string           `json:"model"`
	Task      protocol.Task    `json:"task,omitempty"`   // "" is link prediction
	Column    string           `json:"column,omitempty"` // that is told, of regression
	Preset    string           `json:"preset"`
	Seed      uint64           `json:"seed"`
	Data      eval.DataRecord  `json:"data"`
	Split     eval.SplitRecord `json:"split"`
	Finished  bool             `json:"finished"`
	BestEpoch int              `json:"best_epoch"`
	Epochs    []run.Epoch      `json:"epochs"`
	Mark      string           `json:"mark,omitempty"` // that it is not finished, or was cut short
	// TrainEvents counts those of all steps; 0: the record does not say.
	TrainEvents int    `json:"train_events,omitempty"`
	Seeds       []Seed `json:"seeds,omitempty"` // of the training, where there are several
	// Results are as the run has noted them; of an unfinished one what was measured now.
	Results []run.Measured `json:"results"`

	Scenario  protocol.Scenario  `json:"setting"`   // what the following is about
	Negatives protocol.Negatives `json:"negatives"` // "" for labels
	Measured  eval.Result        `json:"measured"`  // now
	// whether that is what the run has noted; nil: it has nothing on this
	Repeats     *bool                   `json:"repeats,omitempty"`
	Reliability calibration.Reliability `json:"reliability"`
	Calibrated  bool                    `json:"calibrated"` // probabilities were fitted to validation data
	Period      []Slice                 `json:"period"`
	Seen        []Group                 `json:"seen"`
	Baseline    *Baseline               `json:"baseline,omitempty"`
	Cases       []Case                  `json:"cases"`
	Next        *NextTest               `json:"next,omitempty"` // of a run of the task next, in place of the above

	Parameters int               `json:"parameters"`
	Device     string            `json:"device,omitempty"` // that it was trained on
	Peak       int64             `json:"peak_bytes,omitempty"`
	Trained    float64           `json:"train_seconds"`
	Settings   []model.Setting   `json:"settings"`
	Order      protocol.Order    `json:"order,omitempty"`
	Conditions []string          `json:"conditions,omitempty"`
	Sampling   protocol.Sampling `json:"sampling"`
	Hashes     run.Hashes        `json:"hashes"`
	Notes      []string          `json:"notes,omitempty"` // what a reader should know first
	Page       string            `json:"page,omitempty"`
	Seconds    float64           `json:"seconds"`

	dates bool        // times are dates
	parts eval.Limits // that training and validation were limited to
}

// Seed is one of several of a training.
type Seed struct {
	Seed      uint64         `json:"seed"`
	BestEpoch int            `json:"best_epoch"`
	Epochs    int            `json:"epochs"`
	Mark      string         `json:"mark,omitempty"` // that it is not finished, or was cut short
	Results   []run.Measured `json:"results"`        // of one that is not finished none
	Next      *eval.Next     `json:"next,omitempty"` // of the task next
}

// seedsIn are those of directories.
func seedsIn(dirs []string) ([]Seed, error) {
	if len(dirs) < 2 {
		return nil, nil
	}
	var list []Seed
	for _, dir := range dirs {
		record, err := run.Open(dir)
		if err != nil {
			return nil, err
		}
		result, err := record.Result()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		list = append(list, Seed{record.Config.Seed, result.BestEpoch, result.Epochs, run.Mark(dir), result.Results,
			result.Next})
	}
	return list, nil
}

// Labels says whether the run learned labels of nodes, not links.
func (r *Report) Labels() bool { return r.Task == protocol.NodeClassification }

// OfEvents says whether the run was asked about events alone: no node was hidden.
func (r *Report) OfEvents() bool { return r.Task.OfEvents() }

// InWords says whether the run tells classes with names, or values: its page has results and rules alone.
func (r *Report) InWords() bool { return r.Measured.Classes != nil || r.Measured.RMSE != nil }

// OfAnswers says whether the page looks at single answers to questions about links or labels.
func (r *Report) OfAnswers() bool { return !r.InWords() && r.Next == nil }

// Make looks at a run.
func Make(ctx context.Context, o Options) (*Report, error) {
	began := time.Now()
	record, err := run.Open(o.Dir)
	if err != nil {
		return nil, err
	}
	r := &Report{Run: o.Dir, dates: o.Set.Clock().Unit == dataset.TimeUnits[0]}
	if o.Chooser != nil {
		o.Predictor = o.Chooser.Base()
	}
	if err := r.recall(record, o.Predictor, o.Set); err != nil {
		return nil, err
	}
	if r.Seeds, err = seedsIn(o.Seeds); err != nil {
		return nil, err
	}
	if o.Chooser != nil {
		if err := r.takeNext(ctx, o, record); err != nil {
			return nil, err
		}
		r.Seconds = time.Since(began).Seconds()
		return r, nil
	}
	r.Scenario, r.Negatives = cmp.Or(o.Scenario, protocol.Transductive), cmp.Or(o.Negatives, protocol.RandomNegatives)
	if r.Task.OfEvents() {
		r.Scenario, r.Negatives = protocol.Transductive, ""
	}
	t := test{report: r, options: o, predictor: o.Predictor}
	if err := t.take(ctx); err != nil {
		return nil, err
	}
	r.compare()
	if r.Measured.TooFew() {
		r.note(fmt.Sprintf("The test has too few events to conclude anything: %d.", r.Measured.Positives))
	}
	r.Seconds = time.Since(began).Seconds()
	return r, nil
}

// recall takes down what the run says about itself.
func (r *Report) recall(record run.Run, p *predict.Predictor, set *dataset.Set) error {
	c, spec := record.Config, p.Spec()
	r.Model, r.Task, r.Preset, r.Seed = c.Model, spec.Task, spec.Preset, c.Seed
	if spec.Target != nil {
		r.Column = spec.Target.Column
	}
	r.Parameters, r.Sampling, r.Hashes = c.Params, c.Sampling, c.Hashes
	r.parts = c.Parts()
	r.Calibrated = p.Calibration() != nil
	r.Order, r.Conditions = spec.Order, spec.Conditions()
	r.Data = eval.RecordData(set)
	r.Settings = model.Settings(spec.Config, spec.Training)
	var err error
	if r.Epochs, err = record.History(); err != nil {
		return err
	}
	for _, e := range r.Epochs {
		if e.Improved {
			r.BestEpoch = e.Epoch
		}
		r.Trained += e.Seconds.Train + e.Seconds.Evaluate
	}
	result, err := record.Result()
	switch {
	case err == nil:
		r.TrainEvents = result.TrainEvents
		r.Finished, r.Results, r.Device, r.Peak = true, result.Results, result.Device, result.Peak
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	switch r.Mark = run.Mark(record.Dir); {
	case r.Mark == "":
	case r.Finished && result.Cut() && r.BestEpoch == 0:
		r.note(fmt.Sprintf("The training was %s, after %d training events: no epoch was chosen by validation.", r.Mark,
			r.TrainEvents))
	case r.Finished && !result.Cut():
		r.note("The run was " + r.Mark + ".")
	case r.Finished && result.Cut():
		r.note("The training was " + r.Mark + ": this is about its best epoch until then.")
	default:
		r.note("The training is not finished: this is about its best epoch so far.")
	}
	if c.Hashes.Data != r.Data.Hash {
		r.note(fmt.Sprintf("The events or features of %s are not those that the model was trained on.", set.Name))
	}
	return nil
}

func (r *Report) note(text string) { r.Notes = append(r.Notes, text) }

// compare looks whether the test came out as the run has noted. On another kind of device the last digits may differ.
func (r *Report) compare() {
	measured := run.Measured{Scenario: r.Scenario, Strategy: r.Negatives, Result: r.Measured}
	if !r.Finished {
		r.Results = []run.Measured{measured}
		return
	}
	if m := r.noted(); m.Batches > 0 {
		same := math.Abs(m.AP-r.Measured.AP) < tolerance && math.Abs(m.AUC-r.Measured.AUC) < tolerance
		if m.RMSE != nil && r.Measured.RMSE != nil {
			same = math.Abs(*m.RMSE-*r.Measured.RMSE) <= tolerance**m.RMSE
		}
		if r.Repeats = &same; !same {
			r.note(fmt.Sprintf("Asked again, the model has AP %.2f and AUC %.2f where the run noted %.2f and %.2f.",
				100*r.Measured.AP, 100*r.Measured.AUC, 100*m.AP, 100*m.AUC))
		}
		return
	}
	r.Results = append(r.Results, measured)
}

// noted is what the run has noted of the test that the report is about, without batches where that is nothing.
func (r *Report) noted() run.Measured {
	for _, m := range r.Results {
		if m.Scenario == r.Scenario && m.Strategy == r.Negatives {
			return m
		}
	}
	return run.Measured{}
}

// tolerance is what rounding on another device may move a measure by.
const tolerance = 5e-5
