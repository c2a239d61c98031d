package run

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/protocol"
)

// Result is what a run achieved, the content of result.json.
type Result struct {
	Model     string        `json:"model"`
	Data      string        `json:"data"`
	Seed      uint64        `json:"seed"`
	Task      protocol.Task `json:"task,omitempty"` // "" is link prediction; ByKind in newer records
	Preset    string        `json:"preset"`
	Params    int           `json:"parameters"`
	Epochs    int           `json:"epochs"`
	BestEpoch int           `json:"best_epoch"` // 0: none was chosen, the checkpoint has the last weights
	// ChosenBy is the measure on validation data that chose it; "" where none did, and in older records.
	ChosenBy string `json:"chosen_by,omitempty"`
	// TrainEvents counts the training events of all steps, those of an epoch that was cut short included; 0 in older
	// records.
	TrainEvents int     `json:"train_events,omitempty"`
	Seconds     float64 `json:"seconds"`       // training and validation of all epochs
	PerEpoch    float64 `json:"epoch_seconds"` // mean, training only
	Peak        int64   `json:"peak_bytes"`    // device memory of a training step
	Device      string  `json:"device"`
	Val         *Metric `json:"val,omitempty"` // of the best epoch
	// Others is the same with other negatives, where that had a say in which epoch is the best.
	Others Validations `json:"val_*,omitempty"`

	// Next is the test of the task "next", which has no other results, and NextVal its validation.
	Next    *eval.Next `json:"next,omitempty"`
	NextVal *eval.Next `json:"next_val,omitempty"`

	// Fit is that of Config: then Results and Val are those of the run that chose the epoch, not of these weights.
	Fit *Fit `json:"fit,omitempty"`
	// Sampled says which training events an epoch had, nil: all. Val and Results say it of theirs.
	Sampled *eval.Sampled `json:"sampled,omitempty"`

	Results []Measured     `json:"results"`
	Split   string         `json:"split_hash"`
	Ended   string         `json:"ended,omitempty"` // EndedByTime, where it ended before it was over
	Order   protocol.Order `json:"order,omitempty"` // in which a memory learned of events
	// what scores depend on beside what happened before their own time
	Depends []string `json:"conditions,omitempty"`
	// Checkpoint is the SHA-256 of the file that was measured, for audits; runs that are older, or keep nothing, have
	// none.
	Checkpoint string  `json:"checkpoint_sha256,omitempty"`
	History    []Epoch `json:"-"`
	Paused     bool    `json:"-"` // at Run.Until: there are epochs to come
}

// MarshalJSON writes validations of all kinds beside the other members.
func (r Result) MarshalJSON() ([]byte, error) {
	type plain Result
	return protocol.MarshalInline(plain(r), r.Others, validationPrefix)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *Result) UnmarshalJSON(raw []byte) error {
	type plain Result
	return protocol.UnmarshalInline(raw, (*plain)(r), &r.Others, validationPrefix)
}

// OfLinks says whether the run learned links, by kind or not.
func (r Result) OfLinks() bool { return r.Task == "" || r.Task == protocol.ByKind }

// EndedByTime is in a Result that came before its training was over, as time was short.
const EndedByTime = "max-time"

// Cut says that a time limit ended the training before it was over.
func (r Result) Cut() bool { return r.Ended != "" || r.Epochs == 0 }

// CutMark says of a training that was cut short how far it came, in a few words; "" of one that was not.
func (r Result) CutMark() string {
	switch {
	case !r.Cut():
		return ""
	case r.Epochs == 0:
		return "cut short in epoch 1"
	}
	return fmt.Sprintf("cut short after epoch %d", r.Epochs)
}

// PartMark says in a few words that a run was trained or tested on a part of the events, or on all of them, "" where
// neither is so.
func (r Result) PartMark() string {
	var list []string
	if r.Sampled != nil {
		list = append(list, "trained on "+r.Sampled.String())
	}
	if s := r.TestSampled(); s != nil {
		list = append(list, "tested on "+s.String())
	}
	if r.Fit != nil {
		list = append(list, "fitted to all events: the results are those of "+r.Fit.Chosen)
	}
	return strings.Join(list, ", ")
}

// Mark is both. Whoever lists results shows it beside the numbers.
func (r Result) Mark() string {
	return strings.Join(slices.DeleteFunc([]string{r.CutMark(), r.PartMark()},
		func(text string) bool { return text == "" }), ", ")
}

// TestSampled says which part of the test events the first result is of that has not all; nil: all have.
func (r Result) TestSampled() *eval.Sampled {
	for _, m := range r.Results {
		if m.Sampled != nil {
			return m.Sampled
		}
	}
	return nil
}

// Measured is one evaluation: a scenario under one kind of negatives.
type Measured struct {
	Scenario protocol.Scenario  `json:"setting"`   // "setting" for users
	Strategy protocol.Negatives `json:"negatives"` // "" for labels
	eval.Result
}

// Name says which evaluation it is: "transductive, random".
func (m Measured) Name() string { return fmt.Sprintf("%s, %s", m.Scenario, m.Strategy) }

// Summary is what several seeds achieved: means and sample standard deviations.
type Summary struct {
	Model   string    `json:"model"`
	Data    string    `json:"data"`
	Preset  string    `json:"preset"`
	Seeds   []uint64  `json:"seeds"`
	Results []MeanStd `json:"results"`
	// Next is of the task "next", which has no other results.
	Next *NextSummary `json:"next,omitempty"`
	Runs []Result     `json:"runs"`
}

// NextSummary is the test of the task "next" over several seeds.
type NextSummary struct {
	WhoBits   MeanOf `json:"who_bits"`
	Returning MeanOf `json:"who_bits_returning"`
	First     MeanOf `json:"who_bits_first"`
	MRR       MeanOf `json:"mrr"`
	Hits10    MeanOf `json:"hits_10"`
}

// MeanOf is a measure over several seeds.
type MeanOf struct {
	Mean float64 `json:"mean"`
	Std  float64 `json:"std"`
}

// summarizeNext is nil where no run has learned that.
func summarizeNext(runs []Result) *NextSummary {
	var of [5][]float64
	for _, r := range runs {
		if n := r.Next; n != nil {
			for k, x := range []float64{n.WhoBits, n.Returning, n.First, *n.MRR, *n.Hits10} {
				of[k] = append(of[k], x)
			}
		}
	}
	if of[0] == nil {
		return nil
	}
	var means [5]MeanOf
	for k, list := range of {
		means[k].Mean, means[k].Std = meanStd(list)
	}
	return &NextSummary{means[0], means[1], means[2], means[3], means[4]}
}

// MeanStd is one evaluation over several seeds.
type MeanStd struct {
	Scenario protocol.Scenario  `json:"setting"`
	Strategy protocol.Negatives `json:"negatives"`
	AP       float64            `json:"ap"`
	APStd    float64            `json:"ap_std"`
	AUC      float64            `json:"auc"`
	AUCStd   float64            `json:"auc_std"`
	// Of classes with names, and of values.
	Accuracy *MeanOf `json:"accuracy,omitempty"`
	MacroF1  *MeanOf `json:"macro_f1,omitempty"`
	MAE      *MeanOf `json:"mae,omitempty"`
	RMSE     *MeanOf `json:"rmse,omitempty"`

	Runs int `json:"runs"`
}

// Summarize puts runs of one configuration together.
func Summarize(runs []Result) Summary {
	var s Summary
	if len(runs) == 0 {
		return s
	}
	s = Summary{Model: runs[0].Model, Data: runs[0].Data, Preset: runs[0].Preset, Runs: runs, Next: summarizeNext(runs)}
	for _, r := range runs {
		s.Seeds = append(s.Seeds, r.Seed)
	}
	for _, m := range measuredIn(runs) {
		var ap, auc []float64
		for _, r := range runs {
			for _, x := range r.Results {
				if x.Scenario == m.Scenario && x.Strategy == m.Strategy {
					ap, auc = append(ap, x.AP), append(auc, x.AUC)
				}
			}
		}
		m.AP, m.APStd = meanStd(ap)
		m.AUC, m.AUCStd = meanStd(auc)
		m.Runs = len(ap)
		m.Accuracy = meanOf(runs, m, func(r eval.Result) *float64 { return r.Accuracy })
		m.MacroF1 = meanOf(runs, m, func(r eval.Result) *float64 { return r.MacroF1 })
		m.MAE = meanOf(runs, m, func(r eval.Result) *float64 { return r.MAE })
		m.RMSE = meanOf(runs, m, func(r eval.Result) *float64 { return r.RMSE })
		s.Results = append(s.Results, m)
	}
	return s
}

// meanOf is a measure of one evaluation over the runs that have it; nil: none has.
func meanOf(runs []Result, of MeanStd, measure func(eval.Result) *float64) *MeanOf {
	var list []float64
	for _, r := range runs {
		for _, x := range r.Results {
			if v := measure(x.Result); v != nil && x.Scenario == of.Scenario && x.Strategy == of.Strategy {
				list = append(list, *v)
			}
		}
	}
	if list == nil {
		return nil
	}
	var m MeanOf
	m.Mean, m.Std = meanStd(list)
	return &m
}

// TooFew says whether one of the evaluations behind a mean had too few events to conclude anything: see eval.Result.
func (s Summary) TooFew(m MeanStd) bool {
	return slices.ContainsFunc(s.Runs, func(r Result) bool {
		return slices.ContainsFunc(r.Results, func(x Measured) bool {
			return x.Scenario == m.Scenario && x.Strategy == m.Strategy && x.TooFew()
		})
	})
}

// measuredIn lists the scenarios and negatives that any of the runs was measured with, in the order in which they come.
func measuredIn(runs []Result) []MeanStd {
	var list []MeanStd
	for _, r := range runs {
		for _, x := range r.Results {
			if m := (MeanStd{Scenario: x.Scenario, Strategy: x.Strategy}); !slices.Contains(list, m) {
				list = append(list, m)
			}
		}
	}
	return list
}

// ReadSummary reads the summary in the directory of a training. There may be none: fs.ErrNotExist; or another file of
// that name, an error too.
func ReadSummary(dir string) (s Summary, err error) {
	err = Dir(dir).ReadJSON(ResultFile, &s)
	if !errors.Is(err, fs.ErrNotExist) && (err != nil || len(s.Seeds) == 0 || len(s.Runs) != len(s.Seeds)) {
		err = fmt.Errorf("%s is not the summary of a training and would be overwritten: choose another directory",
			Dir(dir).Path(ResultFile))
	}
	return s, err
}

// DropResult removes the result of a run whose checkpoint is about to be replaced, and takes it out of the summary of
// its training: a result is never about other weights than those beside it.
func (d Dir) DropResult() error {
	if d == "" {
		return nil
	}
	err := os.Remove(d.Path(ResultFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	above, name := filepath.Dir(string(d)), filepath.Base(string(d))
	if _, err := ReadSummary(above); err != nil || !strings.HasPrefix(name, "seed-") {
		return nil
	}
	return WriteSummary(above)
}

// meanStd is the mean and the sample standard deviation, which of one value is 0.
func meanStd(x []float64) (mean, std float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	if len(x) < 2 {
		return mean, 0
	}
	for _, v := range x {
		std += (v - mean) * (v - mean) / float64(len(x)-1)
	}
	return mean, math.Sqrt(std)
}

// Across is what several seeds achieved, each of them a contender: means and sample standard deviations over those that
// had events.
func Across(rows []eval.Row) []MeanStd {
	var runs []Result
	at := map[string]int{}
	for _, r := range rows {
		if r.Batches == 0 {
			continue
		}
		i, known := at[r.Contender]
		if !known {
			i = len(runs)
			at[r.Contender], runs = i, append(runs, Result{})
		}
		runs[i].Results = append(runs[i].Results, Measured{r.Scenario, r.Strategy, r.Result})
	}
	return Summarize(runs).Results
}

// Measurements are the rows of one contender, those without events left out; a test of labels is one in any case.
func Measurements(rows []eval.Row) (list []Measured) {
	for _, r := range rows {
		if r.Batches > 0 || r.Strategy == "" {
			list = append(list, Measured{r.Scenario, r.Strategy, r.Result})
		}
	}
	return list
}
