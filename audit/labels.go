package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/sample"
)

// A classifier of labels is asked about events that did happen: there are no negatives to draw, and AUC is of all
// events at once. What is left to look at are the data, the labels, the choice of the epoch, the weights of the model
// it looks at, the measure, and whether answers are blind to what lies at or after their time.

// labels asks a run of node classification again.
func (a *auditor) labels(ctx context.Context, p *eval.Protocol) error {
	noted := a.result.Results
	if len(noted) != 1 || noted[0].Scenario != protocol.Transductive || noted[0].Strategy != "" {
		a.report.add("results that were promised", false, fmt.Sprintf("%d results", len(noted)),
			"one, of all test events, without negatives")
		a.report.without("the results are others", 0)
		return nil
	}
	t := test{noted: noted[0], part: eval.Test, labels: []bool{}}
	now := run.Measured{Scenario: t.noted.Scenario}
	for span := range p.As(eval.Test, t.noted.Sampled).Events(eval.Test).All().Batches(a.spec.Training.BatchSize) {
		q := question{events: span}
		for i := range span.Len() {
			q.queries = append(q.queries, sample.Query{Src: span.Src[i], Dst: span.Dst[i], Time: span.Time[i]})
			is := span.Label(i) != 0
			t.labels = append(t.labels, is)
			if now.Events++; is {
				now.Positives++
			}
		}
		t.questions = append(t.questions, q)
	}
	a.report.same("labels of the test", fmt.Sprintf("%d of %d events", now.Positives, now.Events),
		fmt.Sprintf("%d of %d events", t.noted.Positives, t.noted.Events))
	a.report.enough(now)
	a.backbone()
	a.tests = []test{t}
	if err := a.ask(ctx); err != nil || a.tests[0].answers == nil {
		return err
	}
	a.report.tell(batchSizes, "none: AUC is of all events at once")
	return nil
}

// offLabels is the difference between the record and the answers, measured once more by the definition.
func (t *test) offLabels() (off float64, found string) {
	var pos, neg []float32
	for i, score := range joined(t.answers).pos {
		if t.labels[i] {
			pos = append(pos, score)
		} else {
			neg = append(neg, score)
		}
	}
	_, auc := measure(pos, neg)
	return math.Abs(auc - t.noted.AUC), fmt.Sprintf("AUC %.6f, the record has %.6f", auc, t.noted.AUC)
}

// backbone says whether the model that is looked at is the one that was trained on links: a classifier must not move
// it. Records that are handed on may lack it.
func (a *auditor) backbone() {
	const name = "model is that of the training on links"
	links := a.run.Config.Backbone
	if links == "" {
		a.report.tell(name, "not looked at: the record does not say where that was")
		return
	}
	trained, err := checkpoint.Load(a.run.Path(links))
	if errors.Is(err, fs.ErrNotExist) {
		a.report.tell(name, "not looked at: no "+links)
		return
	}
	if err != nil {
		a.report.add(name, false, err.Error(), "a whole checkpoint")
		return
	}
	own, err := checkpoint.Load(filepath.Join(a.Dir, run.CheckpointFile))
	if err != nil {
		return // weights says so
	}
	var apart []string
	same := 0
	for _, w := range trained.Tensors {
		if !strings.HasPrefix(w.Name, "param/") {
			continue
		}
		if is, ok := own.Find(w.Name); !ok || !slices.Equal(is.Data, w.Data) {
			apart = append(apart, w.Name)
		} else {
			same++
		}
	}
	found := fmt.Sprintf("%d tensors are equal", same)
	if apart != nil {
		found = fmt.Sprintf("%d of %d tensors differ, such as %s", len(apart), len(apart)+same, apart[0])
	}
	a.report.add(name, apart == nil && same > 0, found, "all tensors equal")
}

// learnedTask is the task of a run.
func learnedTask(spec model.Spec, r run.Result) protocol.Task {
	if r.Task == protocol.ByKind {
		return protocol.LinkPrediction
	}
	return cmp.Or(spec.Task, r.Task, protocol.LinkPrediction)
}

// learnsLabels says whether a run is one of node classification.
func learnsLabels(spec model.Spec, r run.Result) bool {
	return learnedTask(spec, r) == protocol.NodeClassification
}
