package predict

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/dygmamba/dygmamba/calibration"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// ErrNoCalibration says that there is nothing to fit probabilities to.
var ErrNoCalibration = errors.New("cannot calibrate")

// Calibrated is what calibration did to a run: how far probabilities were off, and are. Negatives are random ones.
type Calibrated struct {
	Run        string         `json:"run"`     // its directory
	Answers    int            `json:"answers"` // that the map was fitted to
	Knots      int            `json:"knots"`
	Validation BeforeAndAfter `json:"validation"` // to the latest answers of which the map was fitted
	Test       BeforeAndAfter `json:"test"`
}

// BeforeAndAfter are expected calibration errors: of the model's own probabilities, and of those that were fitted.
type BeforeAndAfter struct {
	Before float64 `json:"ece_before"`
	After  float64 `json:"ece"`
}

// Calibrate fits the probabilities of one seed's run to its validation data and keeps the map in its checkpoint. A map
// that is there is replaced. Logits, and with them every AP and AUC, stay as they are; Set must be the data of the
// training.
func Calibrate(ctx context.Context, dir string, o Options) (Calibrated, error) {
	c := Calibrated{Run: dir}
	record, err := run.Open(dir)
	if err != nil {
		return c, err
	}
	if record.Task() == protocol.Next {
		return c, fmt.Errorf("%w: %s was trained on the task next, whose shares and windows are fitted to validation "+
			"events in every training; 'eval --protocol next' measures them", ErrNoCalibration, dir)
	}
	if !record.Compare(o.Set).Same {
		return c, fmt.Errorf("%w: the events or features of %s are not those that %s was trained on", ErrNoCalibration,
			o.Set.Name, dir)
	}
	p, err := Load(dir, o)
	if err != nil {
		return c, err
	}
	defer p.Close()
	if p.spec.Task.OfEvents() {
		return c, fmt.Errorf("%w: %s was trained on the task %s, want a model of links", ErrNoCalibration, dir,
			p.spec.Task)
	}
	session, err := p.Evaluation(ctx, eval.Options{OnBatch: o.OnBatch})
	if err != nil {
		return c, err
	}
	said, own := new(answers), p.Contender("")
	if _, err := session.Revalidate(ctx, own, said.listen); err != nil {
		return c, err
	}
	m := said.Fit()
	if m == nil {
		return c, fmt.Errorf("%w: validation has %d answers, too few to fit probabilities to", ErrNoCalibration,
			len(said.Logits))
	}
	c.Answers, c.Knots, c.Validation = m.Answers, len(m.From), said.errors(m)
	if _, err := session.Evaluate(ctx, own, eval.Test, protocol.RandomNegatives, said.listen); err != nil {
		return c, err
	}
	c.Test = said.errors(m)
	if err := run.Recalibrate(dir, m); err != nil {
		return c, err
	}
	if above := filepath.Dir(dir); run.Exists(filepath.Join(above, run.ResultFile)) {
		return c, run.WriteSummary(above)
	}
	return c, nil
}

// answers are those of a model in its last evaluation.
type answers struct{ calibration.Answers }

func (a *answers) listen(batch eval.Answers) { a.Add(batch.Batch, batch.Logits, batch.Right) }

// errors are those without a map and with it.
func (a *answers) errors(m *calibration.Map) BeforeAndAfter {
	var before, after calibration.Tally
	for i, x := range a.Logits {
		before.Add((*calibration.Map)(nil).Probability(x), a.Happened[i])
		after.Add(m.Probability(x), a.Happened[i])
	}
	return BeforeAndAfter{before.Reliability().ECE, after.Reliability().ECE}
}

// Evaluation opens a session that measures contenders on the last part of the predictor's data set, or the predictor
// alone if there are none. The task is the predictor's; sampling, batch size, order and threads are too, unless o says
// otherwise. All contenders are warm: a memory that belongs to other events than those before the test is made anew.
func (p *Predictor) Evaluation(ctx context.Context, o eval.Options, list ...eval.Contender) (*eval.Session, error) {
	if p.options.Set == nil {
		return nil, errors.New("evaluate: no data set to measure on")
	}
	if err := p.sameLabels(); err != nil {
		return nil, err
	}
	o.Task, o.ByKind = p.spec.Task, p.spec.Training.ByKind()
	o.Classes, o.Target = p.spec.Classes, p.spec.Target
	o.Sampling = cmp.Or(o.Sampling, p.sampling())
	o.BatchSize = cmp.Or(o.BatchSize, p.spec.Training.BatchSize)
	o.Order = cmp.Or(o.Order, p.spec.Order)
	o.Threads = cmp.Or(o.Threads, p.options.Threads)
	if list == nil {
		list = []eval.Contender{p.Contender("")}
	}
	session, err := eval.OpenSession(ctx, p.options.Set, o, list...)
	if err != nil {
		return nil, err
	}
	return session, p.untrained(session.Protocol())
}

// ErrTrainedOn says that a model learned from the events that it would be measured on.
var ErrTrainedOn = errors.New("the model was trained on the test events")

// untrained refuses a protocol whose test has events that the model learned from, as one that was fitted to all events.
func (p *Predictor) untrained(proto *eval.Protocol) error {
	until, err := strconv.ParseFloat(p.origin.FitUntil, 64)
	if err != nil || proto.Events(eval.Test).Len() == 0 || proto.Events(eval.Test).At(0).Time > until {
		return nil
	}
	where := "the run that chose its epochs"
	if record, err := run.Open(p.choice.Dir()); err == nil && record.Config.Fit != nil {
		where = record.Path(record.Config.Fit.Chosen)
	}
	return fmt.Errorf("%s: %w: it was fitted to all events up to time %s; measure %s instead, or later events",
		p.choice.File, ErrTrainedOn, p.origin.FitUntil, where)
}

// Contender is the predictor for a session, beside others of the same data set and settings.
func (p *Predictor) Contender(name string) eval.Contender {
	return eval.Contender{Name: name, Scorer: p.Scorer(), Calibration: p.calibration, Ask: p.LogitsNow, Warm: p.warm}
}

// warm says whether the memory that the checkpoint holds is the one after a protocol's validation: the data and their
// split must be those of the training, by hash. An older checkpoint without its run has no hashes; there the name of
// the data set decides.
func (p *Predictor) warm(protocol *eval.Protocol) bool {
	if !p.stored {
		return false
	}
	if p.origin.DataHash == "" {
		return p.origin.Data == p.options.Set.Name
	}
	split := protocol.Split().Hash
	return cmp.Or(p.origin.SplitHash, split) == split && p.origin.DataHash == p.options.Set.Hash()
}
