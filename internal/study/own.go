package study

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dygmamba/dygmamba/audit"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/paper"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// Own is a study of one's own: models on data sets, with the seeds and the budget of Options, all under the same
// conditions. Without axes these are the same time for every training where there is a budget, and else the same
// largest number of epochs.
type Own struct {
	Data   []string   // names, directories or files
	Models []string   // that learn links
	Preset string     // of all models; "": the full size of each
	Axes   []run.Axis // settings to try; of each model the combination that does best on validation data counts
	Trials int        // so many combinations drawn at random, the same number for each model; 0: all
}

// timed says whether every training gets the same time.
func (r *runner) timed() bool { return r.Own != nil && r.Budget > 0 && r.Epochs == 0 }

// rulesName is how the rules of audits are called, which are measured beside the models of every study.
const rulesName = "rules"

// chooseOwn checks what was named, and makes the one exhibit that a study of one's own has. Models that learn nothing
// may be named, but are in every study anyway.
func (r *runner) chooseOwn() error {
	names, own := models.Names(true), *r.Own
	own.Models = slices.DeleteFunc(slices.Clone(own.Models), func(name string) bool {
		f, err := model.Find(name)
		return err == nil && !f.Trains
	})
	r.Own = &own
	for i, name := range r.Own.Models {
		switch f, err := model.Find(name); {
		case err != nil:
			return unknown("no model", name, names, "there are %s")
		case f.Task != "" && f.Task != protocol.LinkPrediction:
			return fmt.Errorf("%w: %s learns the task %s, a study compares models of links: %s", ErrName, name, f.Task,
				strings.Join(names, ", "))
		case slices.Contains(r.Own.Models[:i], name):
			return fmt.Errorf("%w: %s is named twice", ErrName, name)
		case r.Own.Preset != "" && !slices.Contains(f.Presets, r.Own.Preset):
			return fmt.Errorf("%w: %s has no preset %q, and all models of a study need the same; it has %s", ErrName,
				name, r.Own.Preset, strings.Join(f.Presets, ", "))
		}
	}
	if len(r.Own.Models) == 0 || len(r.Own.Data) == 0 {
		return fmt.Errorf("%w: a study needs at least one data set and one model that learns", ErrName)
	}
	e := paper.Exhibit{Heading: Exhibit{ID: "study", Title: "Study"}, Kind: paper.Links, Models: r.Own.Models,
		Scenario: protocol.Transductive, Negatives: protocol.Published(), Metric: "AP"}
	r.exhibits = []paper.Exhibit{e}
	return nil
}

// openOwn opens the data sets of a study of one's own. Each must be there, and be told from the others by its name.
func (r *runner) openOwn(ctx context.Context) error {
	for _, path := range r.Own.Data {
		set, err := dataset.Open(ctx, path, dataset.Options{DataDir: r.DataDir})
		if err != nil {
			return err
		}
		s := &source{Name: plainName(set.Name), Set: set, hash: set.Hash(), path: path}
		r.sources = append(r.sources, s)
		if abs, err := filepath.Abs(path); err == nil && run.Exists(abs) {
			s.path = abs // a worker may run elsewhere
		}
		if slices.Contains(r.exhibits[0].Datasets, s.Name) {
			return fmt.Errorf("%w: two data sets are called %s; give one another name when it is imported", ErrName,
				s.Name)
		}
		r.exhibits[0].Datasets = append(r.exhibits[0].Datasets, s.Name)
		for _, w := range set.Warnings {
			r.Log.Warn(s.Name + ": " + w)
		}
	}
	return ctx.Err()
}

// plainName is a name that can be that of a directory.
func plainName(name string) string {
	return cmp.Or(strings.Trim(strings.Map(func(c rune) rune {
		if strings.ContainsRune(`/\:*?"<>| `, c) {
			return '-'
		}
		return c
	}, name), "-."), "data")
}

// trials are the settings that a model is tried with on a data set; one that has none where nothing is varied.
func (o *Own) trials(name string, set *source) ([][]string, error) {
	if len(o.Axes) == 0 {
		return [][]string{nil}, nil
	}
	f := models.Get(name)
	spec, err := f.Spec(cmp.Or(o.Preset, full(f)), model.DataOf(set.Set))
	if err != nil {
		return nil, err
	}
	return run.Combinations(o.Axes, o.Trials, 0, func(key string) (bool, error) { return model.IsWhole(spec, key) })
}

// left is what a training still has of its share of the time.
func (r *runner) left(j *Job) time.Duration {
	left := r.state.Share - r.state.Runs[j.id()].Used
	if left < 0.02*r.state.Share || left < 1 {
		return 0 // not worth the start of a process
	}
	return seconds(left)
}

// trainEqually trains. Where all have the same time, what some left over is given to those that could use it, the same
// to each, as long as it is worth going on.
func (r *runner) trainEqually(ctx context.Context) error {
	if !r.timed() {
		return r.trainAll(ctx)
	}
	for round := 1; ; round++ {
		var open []*Job
		used := 0.0 // by those that go on
		for _, j := range r.jobs {
			if j.found.state != Done && j.found.state != Failed {
				open, used = append(open, j), used+r.state.Runs[j.id()].Used
			}
		}
		if len(open) == 0 {
			return nil
		}
		share := (time.Until(r.deadline).Seconds()*float64(r.Jobs) + used) / float64(len(open))
		switch more := share - r.state.Share; {
		case r.state.Share > 0 && round == 1: // goes on as it began
		case round > 1 && (more < 10 || more < r.state.Share/4):
			return nil
		default:
			r.state.Share = share
			r.Log.Info(fmt.Sprintf("every training has %v", seconds(share).Round(time.Second)))
		}
		if err := cmp.Or(r.saveState(), r.trainAll(ctx)); err != nil {
			return err
		}
	}
}

// bank is the model that learns nothing.
func bank() string {
	return slices.DeleteFunc(model.Registered(), func(name string) bool { return models.Get(name).Trains })[0]
}

// measureRules measures on a data set what a study sets beside its models: EdgeBank, and the rules of audits.
func (r *runner) measureRules(ctx context.Context, set *source) error {
	for name, find := range map[string]func() (*RuleFacts, error){
		bank():    func() (*RuleFacts, error) { return applyRule(ctx, set, bank(), r.Threads, protocol.Strict) },
		rulesName: func() (*RuleFacts, error) { return auditRules(ctx, set, r.Threads) },
	} {
		same := func(f *RuleFacts) bool { return f.Hash == set.hash && f.Model == name }
		if err := once(r, r.measures.rules, on{set.Name, name}, set.Name+"-own-"+name, same, find); err != nil {
			return fmt.Errorf("%s: %w", set.Name, err)
		}
	}
	return nil
}

// auditRules measures the rules of audits in all settings.
func auditRules(ctx context.Context, set *source, threads int) (*RuleFacts, error) {
	size := model.Standard.BatchSize
	p, err := eval.Open(set.Set, eval.Options{BatchSize: size, Threads: threads})
	if err != nil {
		return nil, err
	}
	f := &RuleFacts{Hash: set.hash, Model: rulesName, BatchSize: size}
	for _, scenario := range protocol.Scenarios() {
		for _, negatives := range protocol.Published() {
			rows, err := audit.Rules(ctx, set.Set, p, scenario, negatives, size)
			if err != nil {
				return nil, err
			}
			f.Rules = append(f.Rules, rows...)
		}
	}
	return f, nil
}
