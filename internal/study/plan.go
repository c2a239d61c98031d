package study

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/dygmamba/dygmamba/internal/paper"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/protocol"
)

// Plan is what is to be done, the most telling first.
type Plan struct {
	Exhibits []Exhibit `json:"exhibits"`
	Device   string    `json:"device"`
	Jobs     int       `json:"jobs"` // at once
	Runs     []Planned `json:"runs"`
	Missing  []Missing `json:"missing"` // data sets
}

// Planned is one run of a plan.
type Planned struct {
	Run     string  `json:"run"`
	State   string  `json:"state"`
	Least   float64 `json:"least_s"`   // of what is left, if nothing better comes any more
	Expects float64 `json:"expects_s"` // as is usual
}

// plan makes the jobs, each once whatever exhibits show it, and looks what there is of them.
func (r *runner) plan() error {
	byName := map[string]*Job{}
	var list []*Job
	add := func(set *source, model string, settings []string, task protocol.Task, weight float64) error {
		j, err := newJob(set, model, settings, task, r.Epochs)
		if err != nil {
			return err
		}
		if was := byName[j.Name]; was != nil {
			was.weight = max(was.weight, weight)
			return nil
		}
		j.weight = weight
		byName[j.Name], list = j, append(list, j)
		return nil
	}
	for _, e := range r.exhibits {
		for _, d := range e.Datasets {
			set := r.source(d)
			for _, m := range e.Models {
				if set == nil || !r.asked(m) || !models.Get(m).Trains {
					continue
				}
				if err := r.needs(e, set, m, add); err != nil {
					return fmt.Errorf("%s: %s on %s: %w", e.ID, m, d, err)
				}
			}
		}
	}
	for seed := range uint64(r.Seeds) {
		for _, j := range list {
			r.jobs = append(r.jobs, j.at(seed))
		}
	}
	for _, j := range r.jobs {
		s := j.look(r.Out, r.earlier)
		r.found[j.id()] = s
		if s.Config.Model != "" && (!s.earlier || s.Result.Device == r.device) {
			if one := seen(s.epochs); one > 0 {
				r.estimate.measured(j, one)
			} else if s.state == Done {
				r.estimate.measured(j, s.Result.Seconds/float64(max(1, s.Result.Epochs)))
			}
		}
	}
	return nil
}

// needs adds the trainings that an exhibit wants of a model on a data set.
func (r *runner) needs(
	e paper.Exhibit, set *source, m string, add func(*source, string, []string, protocol.Task, float64) error,
) error {
	switch e.Kind {
	case paper.Links, paper.Totals:
		return add(set, m, nil, "", paper.Telling(m))
	case paper.Labels:
		if err := add(set, m, nil, "", paper.Telling(m)); err != nil {
			return err
		}
		return add(set, m, nil, protocol.NodeClassification, paper.Telling(m)/2)
	case paper.Varied:
		for _, p := range e.Points {
			if err := add(set, m, p.Settings(m), "", 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// asked says whether a model is among those that are wanted.
func (r *runner) asked(model string) bool { return r.Models == nil || slices.Contains(r.Models, model) }

// order sorts jobs: all first seeds before all second ones, and then by how much they tell for their time.
func (r *runner) order(jobs []*Job) {
	worth := map[*Job]float64{}
	for _, j := range jobs {
		_, usual := r.estimate.remaining(j, r.found[j.id()].epochs)
		worth[j] = j.weight / max(1, usual.Seconds())
	}
	slices.SortStableFunc(jobs, func(a, b *Job) int {
		return cmp.Or(cmp.Compare(a.Seed, b.Seed), cmp.Compare(worth[b], worth[a]))
	})
}

func (r *runner) preview() *Plan {
	p := &Plan{Device: r.device, Jobs: r.Jobs, Runs: []Planned{}, Missing: r.missing()}
	for _, e := range r.exhibits {
		p.Exhibits = append(p.Exhibits, Exhibit{e.ID, e.Number, e.Title})
	}
	jobs := slices.Clone(r.jobs)
	r.order(jobs)
	for _, j := range jobs {
		s := r.found[j.id()]
		one := Planned{Run: j.id(), State: s.state}
		if s.state != Done {
			least, usual := r.estimate.remaining(j, s.epochs)
			one.Least, one.Expects = round(least), round(usual)
		}
		p.Runs = append(p.Runs, one)
	}
	return p
}

func round(d time.Duration) float64 { return d.Round(time.Second).Seconds() }

// missing are the data sets that are not there.
func (r *runner) missing() []Missing {
	list := []Missing{}
	for _, s := range r.sources {
		if s.Set == nil {
			list = append(list, s.missing())
		}
	}
	return list
}
