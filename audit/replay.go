package audit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/sample"
)

// Names of the checks that need the model.
const (
	ofThisRun    = "checkpoint is of this run"
	validated    = "validation replayed"
	metrics      = "metrics recomputed"
	asAsked      = "scores need no answers"
	blind        = "scores without what lies at or after their time"
	shuffled     = "scores in a shuffled batch"
	cutApart     = "scores in smaller batches"
	otherQueries = "scores among other queries"
	batchSizes   = "batch size of the measure"
)

// modelChecks are these checks, and what they want, in the order in which they are made.
var modelChecks = []struct{ name, want string }{
	{ofThisRun, "the model, data, seed, epoch and settings of the record"},
	{validated, bestValidation}, {metrics, "what the record says"},
	{asAsked, unchanged}, {blind, unchanged}, {shuffled, unchanged}, {cutApart, unchanged}, {otherQueries, unchanged},
	{batchSizes, information},
}

const bestValidation = "the validation of the best epoch"

// question is one batch of a test: events, and the queries about them and their negatives.
type question struct {
	events  event.Span
	queries []sample.Query // events' first
}

// test is one result and what was asked for it.
type test struct {
	noted     run.Measured
	part      eval.Part
	questions []question
	answers   []scored // probabilities; nil before the model was asked
	longest   int      // row that the model looks at; 0: nobody knows
	labels    []bool   // of events, where these are asked for; else there are negatives
}

// draw asks all questions of a part anew, without a model, and takes the hash of the negatives.
func draw(p *eval.Protocol, part eval.Part, strategy protocol.Negatives, size int) ([]question, string, error) {
	pass, err := p.Pass(part, strategy)
	if err != nil {
		return nil, "", err
	}
	pass.Negatives.Reset()
	hash := sha256.New()
	var list []question
	for span := range p.Events(part).All().Batches(size) {
		n := span.Len()
		qs := make([]sample.Query, n, 2*n)
		for i := range n {
			qs[i] = sample.Query{Src: span.Src[i], Dst: span.Dst[i], Time: span.Time[i]}
		}
		qs = append(qs, qs...)
		pass.Negatives.Draw(span, qs[n:])
		var line []string
		for _, q := range qs[n:] {
			line = append(line, fmt.Sprintf("%d,%d", q.Src, q.Dst))
		}
		fmt.Fprintln(hash, strings.Join(line, ";"))
		list = append(list, question{span, qs})
	}
	return list, hex.EncodeToString(hash.Sum(nil)), nil
}

// questions draws the negatives of validation and of every result again.
func (a *auditor) questions(p *eval.Protocol) error {
	size := a.spec.Training.BatchSize
	if p.Events(eval.Val).Len() > 0 {
		_, hash, err := draw(p, eval.Val, protocol.RandomNegatives, size)
		if err != nil {
			return err
		}
		a.report.same("negatives of validation", hash, a.run.Config.Hashes.Negatives)
	}
	a.complete(p)
	seen := map[string]bool{}
	for _, r := range a.result.Results {
		name := r.Name()
		part, err := eval.PartOf(r.Scenario)
		if err != nil || !slices.Contains(protocol.Published(), r.Strategy) || seen[name] || r.Ranking != nil {
			a.report.add("results", false, name, "a setting and a kind of negatives, each pair once")
			continue
		}
		seen[name] = true
		asked := p.As(part, r.Sampled)
		list, hash, err := draw(asked, part, r.Strategy, size)
		if err != nil {
			return err
		}
		describe := func(hash string, batches, positives int) string {
			return fmt.Sprintf("%s of %d events in %d batches", hash, positives, batches)
		}
		a.report.same("negatives, "+name, describe(hash, len(list), asked.Events(part).Len()),
			describe(r.Negatives, r.Batches, r.Positives))
		a.sampled(name, asked, part, r.Sampled)
		a.tests = append(a.tests, test{noted: r, part: part, questions: list})
	}
	if len(a.tests) > 0 {
		a.report.enough(a.tests[0].noted)
	}
	return nil
}

// sampled says whether a test of a part of the events is of those that the rules choose.
func (a *auditor) sampled(name string, asked *eval.Protocol, part eval.Part, noted *eval.Sampled) {
	if noted == nil {
		return
	}
	all := asked.Events(part).All()
	found := fmt.Sprintf("%s, SHA-256 %s", noted, noted.Hash)
	now := *noted
	now.Events, now.Hash = all.Len(), eval.HashEdges(all)
	a.report.same("sample, "+name, found, fmt.Sprintf("%s, SHA-256 %s", &now, now.Hash))
}

// complete says whether the record has all results that its configuration promises: the bad ones may not be left out.
func (a *auditor) complete(p *eval.Protocol) {
	list := func(results []run.Measured) string {
		var names []string
		for _, r := range results {
			names = append(names, fmt.Sprintf("%s/%s", r.Scenario, r.Strategy))
		}
		return cmp.Or(strings.Join(names, ", "), "none")
	}
	strategies := a.run.Config.Final
	if len(strategies) == 0 {
		strategies = []protocol.Negatives{protocol.RandomNegatives}
	}
	var promised []run.Measured
	for _, scenario := range protocol.Scenarios() {
		part, _ := eval.PartOf(scenario)
		for _, s := range strategies {
			if p.Events(part).Len() > 0 {
				promised = append(promised, run.Measured{Scenario: scenario, Strategy: s})
			}
		}
	}
	a.report.same("results that were promised", list(a.result.Results), list(promised))
}

// ask loads the model and asks all questions again.
func (a *auditor) ask(ctx context.Context) error {
	r, err := a.load(ctx)
	if err != nil || r == nil {
		return err
	}
	defer r.predictor.Close()
	if err := a.validate(ctx, r); err != nil {
		return err
	}
	for _, d := range r.scorer.Plan().Draws {
		for i := range a.tests {
			a.tests[i].longest = max(a.tests[i].longest, d.Neighbors)
		}
	}
	off, worst := 0.0, "no results"
	for i := range a.tests {
		t := &a.tests[i]
		what, difference := t.noted.Name(), t.off
		if t.labels != nil {
			what, difference = "labels", t.offLabels
		}
		if err := r.ask(ctx, t, what); err != nil {
			return err
		}
		if d, found := difference(); i == 0 || d > off || d != d {
			off, worst = d, found
		}
	}
	most := a.tolerance()
	a.report.add(metrics, len(a.tests) > 0 && off <= most, worst, fmt.Sprintf("at most %.0e from the record", most))
	if len(a.tests) == 0 {
		a.report.without("no results", 3)
		return nil
	}
	return r.leaks(ctx, a.tests[0], &a.report)
}

// tolerance is how far metrics may be off: kinds of devices add in different orders.
func (a *auditor) tolerance() float64 {
	kind := func(name string) string { return strings.SplitN(name, " ", 2)[0] }
	here := "cpu"
	if a.Device != nil {
		here = a.Device.Name()
	}
	if kind(here) == kind(a.result.Device) {
		return 1e-6
	}
	return 1e-3
}

// off is the largest difference between what the record says and what the answers give.
func (t *test) off() (most float64, found string) {
	all := joined(t.answers)
	ap, auc := batchMean(t.answers)
	globalAP, globalAUC := measure(all.pos, all.neg)
	for _, m := range []struct {
		name         string
		noted, found float64
	}{
		{"AP", t.noted.AP, ap}, {"AUC", t.noted.AUC, auc},
		{"global AP", t.noted.GlobalAP, globalAP}, {"global AUC", t.noted.GlobalAUC, globalAUC},
	} {
		if d := math.Abs(m.noted - m.found); found == "" || d > most {
			most = d
			found = fmt.Sprintf("%s, %s: %s %.6f, the record has %.6f", t.noted.Scenario, t.noted.Strategy, m.name,
				m.found, m.noted)
		}
	}
	return most, found
}
