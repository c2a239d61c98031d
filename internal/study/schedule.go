package study

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// State is how far a reproduction is.
type State struct {
	Done, Running, Left int // runs
	Spent               time.Duration
	Ahead               time.Duration // as far as can be told; 0: nobody knows
	Now                 []string      // what is running
}

// carryOut measures, then trains, within the budget.
func (r *runner) carryOut(ctx context.Context) error {
	if err := r.openState(); err != nil {
		return err
	}
	if r.Budget > 0 {
		left := r.Budget - r.state.spent()
		r.deadline = r.began.Add(left - min(10*time.Second, r.Budget/10)) // the rest is for the report
		deadlined, cancel := context.WithDeadline(ctx, r.deadline)
		defer cancel()
		ctx = deadlined
	}
	err := r.phase("statistics and rules", func() error { return r.lookAtData(ctx) })
	if err != nil {
		return err
	}
	const part = 0.15 // of the budget; 0 without one
	room := time.Duration(part * float64(r.Budget))
	if err := r.phase("measuring steps", func() error { return r.measureSteps(ctx, room) }); err != nil {
		return err
	}
	if err := r.phase("training", func() error { return r.trainAll(ctx) }); err != nil {
		return err
	}
	if r.measures.left == 0 || r.deadline.IsZero() {
		return nil
	}
	return r.phase("measuring more steps", func() error { return r.measureSteps(ctx, time.Until(r.deadline)) })
}

// ended is what came of a training.
type ended struct {
	job *Job
	why string // it failed
}

// trainAll trains what is not done, several at once. Every run has a goroutine of its own, which ends when its worker
// has; the loop here alone touches what is known of runs.
func (r *runner) trainAll(ctx context.Context) error {
	open := slices.DeleteFunc(slices.Clone(r.jobs), func(j *Job) bool {
		state := r.found[j.id()].state
		return state == Done || state == Failed
	})
	running := map[string]*Job{}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var broken error
	over, news := make(chan ended), make(chan *Job)
	ticks := time.NewTicker(500 * time.Millisecond)
	defer ticks.Stop()
	for {
		for len(running) < r.Jobs && ctx.Err() == nil {
			j := r.next(open)
			if j == nil {
				break
			}
			open = slices.DeleteFunc(open, func(x *Job) bool { return x == j })
			running[j.id()] = j
			r.start(ctx, j, over, news)
		}
		if len(running) == 0 {
			return cmp.Or(broken, ctx.Err())
		}
		select {
		case e := <-over:
			delete(running, e.job.id())
			if err := r.note(e); err != nil && broken == nil {
				broken = err
				stop()
			}
		case j := <-news:
			r.refresh(j)
		case <-ticks.C:
		}
		r.tell(open, running)
	}
}

// next is the run to begin now: the most telling that is likely to be over in time, or else the most telling that can
// be. Those that cannot are not begun.
func (r *runner) next(open []*Job) *Job {
	r.order(open)
	left := time.Until(r.deadline)
	var possible *Job
	for _, j := range open {
		if !r.ready(j) {
			continue
		}
		least, usual := r.estimate.remaining(j, r.found[j.id()].epochs)
		switch {
		case r.deadline.IsZero() || usual <= left:
			return j
		case possible == nil && least <= left:
			possible = j
		}
	}
	return possible
}

// ready says whether a job can begin: a classifier needs its model.
func (r *runner) ready(j *Job) bool {
	if j.Task != protocol.NodeClassification {
		return true
	}
	link, err := j.backbone(r.Epochs)
	return err == nil && r.found[link.id()].state == Done
}

// start begins a run, or goes on with one.
func (r *runner) start(ctx context.Context, j *Job, over chan<- ended, news chan<- *Job) {
	verb := "begins"
	if s := r.found[j.id()]; s.state == Unfinished {
		verb = fmt.Sprintf("goes on after epoch %d", len(s.epochs))
	}
	_, usual := r.estimate.remaining(j, r.found[j.id()].epochs)
	r.log().Info(fmt.Sprintf("%s %s, about %v", j.label(), verb, usual.Round(time.Second)))
	r.state.begin(j, r.machine(), r.Version)
	task := Task{Job: *j, Dir: j.dir(r.Out)}
	if j.Task == protocol.NodeClassification {
		link, err := j.backbone(r.Epochs)
		if err == nil && !r.found[link.id()].earlier {
			task.Backbone = link.dir(r.Out)
		} else if err == nil { // its checkpoint may not be there
			task.Backbone = backboneIn(r.found[link.id()].Path)
		}
	}
	o := Order{DataDir: r.DataDir, Device: r.Device, Threads: max(1, r.Threads/r.Jobs), Exact: exact(task.Dir),
		Tasks: []Task{task}}
	go func() {
		e := ended{job: j}
		err := r.Launch(ctx, o, func(n News) {
			if n.Epoch != nil {
				news <- j
			}
			if n.Error != "" {
				e.why = n.Error
			}
		})
		if err != nil {
			e.why = err.Error()
		}
		over <- e
	}()
}

// exact says whether a training has begun without rounding: all of its seeds go on as the first began.
func exact(dir string) bool {
	for _, seed := range run.Seeds(dir) {
		if record, err := run.Open(run.SeedDir(dir, seed)); err == nil {
			return !record.Config.TF32
		}
	}
	return false
}

// backboneIn is the directory of a training whose seed's run is in dir, where it has its checkpoint; "" otherwise.
func backboneIn(dir string) string {
	if run.Seeds(filepath.Dir(dir)) == nil || !exists(filepath.Join(dir, run.CheckpointFile)) {
		return ""
	}
	return filepath.Dir(dir)
}

// refresh takes note of an epoch.
func (r *runner) refresh(j *Job) {
	s := r.found[j.id()]
	s.state, s.Path = Unfinished, run.SeedDir(j.dir(r.Out), j.Seed)
	if epochs, err := run.History(s.Path); err == nil {
		s.epochs = epochs
	}
	r.found[j.id()] = s
	r.estimate.measured(j, seen(s.epochs))
}

// note takes note of the end of a run.
func (r *runner) note(e ended) error {
	s := e.job.look(r.Out, nil)
	if s.state == Done {
		r.log().Info(fmt.Sprintf("%s is done: %s", e.job.label(), outcome(s.Result)))
	} else if e.why != "" {
		s.state, s.why = Failed, e.why
		r.log().Warn(fmt.Sprintf("%s failed: %s", e.job.label(), e.why))
	} else {
		r.log().Info(fmt.Sprintf("%s was stopped after epoch %d of at most %d, its state is kept", e.job.label(),
			len(s.epochs), e.job.spec.Training.Epochs))
	}
	r.found[e.job.id()] = s
	if s.state == Done {
		r.estimate.measured(e.job, s.Result.Seconds/float64(max(1, s.Result.Epochs)))
	}
	return r.state.end(e.job, s)
}

// outcome is a result in a few words.
func outcome(r run.Result) string {
	text := fmt.Sprintf("best epoch %d of %d", r.BestEpoch, r.Epochs)
	if len(r.Results) == 0 {
		return text
	}
	if m := r.Results[0]; r.Task == "" {
		return fmt.Sprintf("AP %.2f, %s", 100*m.AP, text)
	}
	return fmt.Sprintf("AUC %.2f, %s", 100*r.Results[0].AUC, text)
}

// tell says how far everything is.
func (r *runner) tell(open []*Job, running map[string]*Job) {
	if r.OnState == nil {
		return
	}
	s := State{Running: len(running), Left: len(open), Spent: time.Since(r.began)}
	var ahead time.Duration
	for _, j := range r.jobs {
		if r.found[j.id()].state == Done {
			s.Done++
		}
	}
	list := slices.Clone(open)
	for _, j := range running {
		list = append(list, j)
		s.Now = append(s.Now, fmt.Sprintf("%s %d", j.Name, len(r.found[j.id()].epochs)))
	}
	slices.Sort(s.Now)
	for _, j := range list {
		_, usual := r.estimate.remaining(j, r.found[j.id()].epochs)
		ahead += min(usual, 1000*time.Hour) / time.Duration(r.Jobs)
	}
	if !r.deadline.IsZero() {
		ahead = min(ahead, time.Until(r.deadline))
	}
	s.Ahead = max(0, ahead)
	r.OnState(s)
}
