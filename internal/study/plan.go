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

	Total  float64 `json:"total_s"` // typical time of all that is not done, with so many at once
	Fits   int     `json:"fits"`    // runs not done that end within the budget; all without one
	Budget float64 `json:"budget_s,omitempty"`
	Share  float64 `json:"share_s,omitempty"` // what every training has, in a study that gives all the same
}

// Sum is the plan in one sentence.
func (p *Plan) Sum() string {
	open := len(p.Runs) - counted(p.Runs, Done)
	switch {
	case open == 0:
		return "all are done"
	case p.Share > 0:
		return fmt.Sprintf("%d are not done: within the budget of %s each has %s", open, minutes(seconds(p.Budget)),
			minutes(seconds(p.Share)))
	case p.Budget > 0:
		return fmt.Sprintf("%d are not done and take about %s; %d fit into the budget of %s", open,
			minutes(seconds(p.Total)), p.Fits, minutes(seconds(p.Budget)))
	}
	return fmt.Sprintf("%d are not done and take about %s", open, minutes(seconds(p.Total)))
}

// counted is how many runs are in a state.
func counted(runs []Planned, state string) (n int) {
	for _, r := range runs {
		if r.State == state {
			n++
		}
	}
	return n
}

// add adds a run, the next that would be begun.
func (p *Plan) add(r Planned) {
	p.Runs = append(p.Runs, r)
	if r.State == Done {
		return
	}
	p.Total += r.Expects / float64(p.Jobs)
	if p.Budget == 0 || p.Total <= p.Budget {
		p.Fits++
	}
}

// Planned is one run of a plan.
type Planned struct {
	Run     string  `json:"run"`
	State   string  `json:"state"`
	Least   float64 `json:"least_s"`   // of what is left, if nothing better comes any more
	Expects float64 `json:"expects_s"` // typical
}

// plan makes the jobs, each once whatever exhibits show it, and looks what there is of them.
func (r *runner) plan() error {
	var list []*Job
	for e, set := range r.shown() {
		for _, m := range r.asked(e) {
			if !models.Get(m).Trains {
				continue
			}
			jobs, err := r.needs(e, set, m)
			if err != nil {
				return fmt.Errorf("%s: %s on %s: %w", e.ID, m, set.Name, err)
			}
			for _, j := range jobs {
				if i := slices.IndexFunc(list, func(x *Job) bool { return x.Name == j.Name }); i >= 0 {
					list[i].weight = max(list[i].weight, j.weight)
				} else {
					list = append(list, j)
				}
			}
		}
	}
	for seed := range uint64(r.Seeds) {
		for _, training := range list {
			j := *training
			j.Seed = seed
			j.look(r.Out, r.earlier)
			r.estimate.learn(&j, r.device)
			r.jobs = append(r.jobs, &j)
			r.trainings[j.Name] = append(r.trainings[j.Name], &j)
		}
	}
	return nil
}

// needs are the trainings that an exhibit wants of a model on a data set.
func (r *runner) needs(e paper.Exhibit, set *source, m string) (list []*Job, err error) {
	add := func(settings []string, task protocol.Task, weight float64) {
		j, failed := r.newJob(set, m, settings, task)
		if err = cmp.Or(err, failed); failed == nil {
			j.weight = weight
			list = append(list, j)
		}
	}
	weight := costOf(m).weight
	if r.Own != nil {
		trials, err := r.Own.trials(m, set)
		if err != nil {
			return nil, err
		}
		for _, settings := range trials {
			add(settings, "", 1)
		}
		return list, err
	}
	switch e.Kind {
	case paper.Links, paper.Totals, paper.Labels:
		add(nil, "", weight)
	case paper.Varied:
		for _, p := range e.Points {
			add(p.Settings(m), "", 1)
		}
	}
	if e.Kind == paper.Labels {
		add(nil, protocol.NodeClassification, weight/2)
	}
	return list, err
}

// newJob is a training of the plan.
func (r *runner) newJob(set *source, name string, settings []string, task protocol.Task) (*Job, error) {
	preset := preset
	if r.Own != nil {
		preset = cmp.Or(r.Own.Preset, full(models.Get(name)))
	}
	j, err := newJob(set, name, preset, settings, task, r.Epochs)
	if err == nil {
		j.timed = r.timed()
	}
	return j, err
}

// seeds are the trainings of the plan that are one but for their seed.
func (r *runner) seeds(set *source, name string, settings []string, task protocol.Task) []*Job {
	if j, err := r.newJob(set, name, settings, task); err == nil {
		return r.trainings[j.Name]
	}
	return nil
}

// order sorts jobs: all first seeds before all second ones, and then by how much they tell for their time.
func (r *runner) order(jobs []*Job) []*Job {
	worth := map[*Job]float64{}
	for _, j := range jobs {
		_, usual := r.estimate.remaining(j)
		worth[j] = j.weight / max(1, usual.Seconds())
	}
	slices.SortStableFunc(jobs, func(a, b *Job) int {
		return cmp.Or(cmp.Compare(a.Seed, b.Seed), cmp.Compare(worth[b], worth[a]))
	})
	return jobs
}

func round(d time.Duration) float64 { return d.Round(time.Second).Seconds() }
