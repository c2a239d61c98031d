package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
)

// replayed is a run's model, loaded and ready to be asked again.
type replayed struct {
	predictor *predict.Predictor // the caller of load closes it
	scorer    model.Scorer
	session   *eval.Session
	tell      func(done, total int) // how far it is; nil: nobody listens
	what      string                // is being asked
}

// load opens the model. It is nil where that cannot be done, and the report says why.
func (a *auditor) load(ctx context.Context) (*replayed, error) {
	if !a.weights() {
		return nil, nil
	}
	predictor, err := predict.Load(a.Dir, predict.Options{Set: a.Set, Device: a.Device, Threads: a.Threads})
	if err != nil {
		var full *device.OutOfMemory
		var broken *device.Failure
		if errors.As(err, &full) || errors.As(err, &broken) { // this machine's fault, not the run's
			return nil, err
		}
		a.report.without(err.Error(), 1)
		return nil, nil
	}
	r := &replayed{predictor: predictor, scorer: predictor.Scorer(), what: "validation"}
	if a.OnBatch != nil {
		r.tell = func(done, total int) { a.OnBatch(r.what, done, total) }
	}
	if r.session, err = predictor.Evaluation(ctx, eval.Options{OnBatch: r.tell,
		Limits: a.run.Config.Parts()}); err != nil {
		predictor.Close()
		return nil, err
	}
	return r, nil
}

// keep copies the answers to a batch. Where there are no negatives, all are about events.
func keep(b eval.Answers) scored {
	events := cmp.Or(b.Paired, len(b.Scores))
	return scored{slices.Clone(b.Scores[:events]), slices.Clone(b.Scores[events:])}
}

// ask has the questions of a test answered again.
func (r *replayed) ask(ctx context.Context, t *test, what string) error {
	r.what = what
	listen := func(b eval.Answers) { t.answers = append(t.answers, keep(b)) }
	session := r.session.As(t.part, t.noted.Sampled)
	if _, err := session.Evaluate(ctx, r.predictor.Contender(""), t.part, t.noted.Strategy, listen); err != nil {
		return fmt.Errorf("ask again: %w", err)
	}
	return nil
}

// leaks looks for answers to a test that depend on more than they may.
func (r *replayed) leaks(ctx context.Context, t test, report *Report) error {
	pass, err := r.session.Protocol().Pass(t.part, t.noted.Strategy)
	if err != nil {
		return err
	}
	r.what = "leaks"
	probe := prober{scorer: r.scorer, pass: pass, test: t, tell: r.tell}
	return probe.look(ctx, report)
}

// validate measures validation again, where that can be done: a checkpoint's memory is that after validation.
func (a *auditor) validate(ctx context.Context, again *replayed) error {
	if _, remembers := again.scorer.(model.StatefulScorer); remembers {
		a.report.tell(validated, "not made: the checkpoint remembers validation already")
		return nil
	}
	p := again.session.Protocol()
	if a.result.Val == nil && a.result.Cut() && a.result.BestEpoch == 0 {
		a.report.tell(validated, "not made: "+a.result.CutMark()+", before the first validation")
		return nil
	}
	if a.result.Val == nil {
		a.report.add(validated, p.Events(eval.Val).Len() == 0, "no validation in the record", bestValidation)
		return nil
	}
	r, err := again.session.Evaluate(ctx, again.predictor.Contender(""), eval.Val, protocol.RandomNegatives, nil)
	if err != nil {
		return fmt.Errorf("validate again: %w", err)
	}
	loss := 0.0
	if r.Loss != nil {
		loss = *r.Loss
	}
	v, most := a.result.Val, a.tolerance()
	off := max(math.Abs(v.AP-r.AP), math.Abs(v.AUC-r.AUC), math.Abs(v.Loss-loss)/cmp.Or(max(1, v.Loss), 1))
	a.report.add(validated, off <= most, fmt.Sprintf("AP %.6f, AUC %.6f, loss %.6f", r.AP, r.AUC, loss),
		fmt.Sprintf("AP %.6f, AUC %.6f, loss %.6f, off by at most %.0e", v.AP, v.AUC, v.Loss, most))
	return nil
}
