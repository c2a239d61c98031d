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
	Done, Running, Left int           // runs; done are also those that had their time
	Spent               time.Duration // of earlier calls too
	Ahead               time.Duration // as far as can be told; 0: nobody knows
	Now                 []string      // what is running
}

// carryOut measures, then trains, within the budget.
func (r *runner) carryOut(ctx context.Context) error {
	if err := r.openState(); err != nil {
		return err
	}
	if r.Budget > 0 {
		left := r.Budget - seconds(r.state.Spent)
		r.deadline = r.began.Add(left - min(10*time.Second, r.Budget/10)) // the rest is for the report
		deadlined, cancel := context.WithDeadline(ctx, r.deadline)
		defer cancel()
		ctx = deadlined
	}
	const part = 0.15 // of the budget; 0 without one
	room := time.Duration(part * float64(r.Budget))
	for _, phase := range []struct {
		name string
		do   func() error
	}{
		{"statistics and rules", func() error { return r.lookAtData(ctx) }},
		{"measuring steps", func() error { return r.measureSteps(ctx, room) }},
		{"training", func() error { return r.trainEqually(ctx) }},
	} {
		if err := r.phase(phase.name, phase.do); err != nil {
			return err
		}
	}
	if len(r.measures.skipped) == 0 || r.deadline.IsZero() {
		return nil
	}
	return r.phase("measuring more steps", func() error { return r.measureSteps(ctx, time.Until(r.deadline)) })
}

// ended is what came of a training.
type ended struct {
	job  *Job
	why  string // it failed
	took time.Duration
}

// trainAll trains what is not done, several at once. Every run has a goroutine of its own, which ends when its worker
// has; the loop here alone touches what is known of runs.
func (r *runner) trainAll(ctx context.Context) error {
	open := slices.DeleteFunc(slices.Clone(r.jobs), func(j *Job) bool {
		return !r.own(j) || j.found.state == Done || j.found.state == Failed || r.timed() && r.left(j) <= 0
	})
	var running []*Job
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
			running = append(running, j)
			r.start(ctx, j, len(open)+len(running)/2, over, news)
		}
		if len(running) == 0 {
			return cmp.Or(broken, ctx.Err())
		}
		select {
		case e := <-over:
			running = slices.DeleteFunc(running, func(x *Job) bool { return x == e.job })
			if err := r.note(e); err != nil && broken == nil {
				broken = err
				stop()
			}
		case j := <-news: // an epoch
			j.look(r.Out, nil)
			r.estimate.learn(j, r.device)
		case <-ticks.C:
		}
		r.tell(open, running)
	}
}

// own says whether a job is this process's, where several share them. A classifier is where its model is trained.
func (r *runner) own(j *Job) bool {
	if r.Shards == 0 {
		return true
	}
	if link := r.backbone(j); link != nil {
		j = link
	}
	return slices.Index(r.jobs, j)%r.Shards == r.Shard
}

// next is the run to begin now: the most telling that is likely to be over in time, or else the most telling that can
// be. Those that cannot are not begun.
func (r *runner) next(open []*Job) (possible *Job) {
	left := time.Until(r.deadline)
	for _, j := range r.order(open) {
		if r.timed() {
			return j // all have the same time
		}
		if link := r.backbone(j); link != nil && link.found.state != Done {
			continue
		}
		least, usual := r.estimate.remaining(j)
		switch {
		case r.deadline.IsZero() || usual <= left:
			return j
		case possible == nil && least <= left:
			possible = j
		}
	}
	return possible
}

// backbone is the training on links whose model a classifier looks at; nil of other jobs.
func (r *runner) backbone(j *Job) *Job {
	if j.Task != protocol.NodeClassification {
		return nil
	}
	return r.seeds(j.set, j.Model, nil, "")[j.Seed]
}

// start begins a run, or goes on with one, while others wait.
func (r *runner) start(ctx context.Context, j *Job, waiting int, over chan<- ended, news chan<- *Job) {
	verb := "begins"
	if j.found.state == Unfinished {
		verb = fmt.Sprintf("goes on after epoch %d", len(j.found.epochs))
	}
	_, usual := r.estimate.remaining(j)
	r.Log.Info(fmt.Sprintf("%s %s, about %v", j.label(), verb, usual.Round(time.Second)))
	r.noteState(j, true) // not being able to write that down is no reason not to begin
	task := Task{Job: *j, Dir: j.dir(r.Out), Batches: r.Own != nil}
	if link := r.backbone(j); link != nil {
		dir := link.found.Path // an earlier one may have no checkpoint
		if run.Seeds(filepath.Dir(dir)) != nil && run.Exists(filepath.Join(dir, run.CheckpointFile)) {
			task.Backbone = filepath.Dir(dir)
		}
	}
	if r.timed() {
		equal := time.Until(r.deadline) * time.Duration(r.Jobs) / time.Duration(waiting+1)
		task.MaxTime = max(1, min(r.left(j), equal).Seconds()) // those before may have taken a little longer
	}
	o := Order{DataDir: r.DataDir, Device: r.Device, Threads: max(1, r.Threads/r.Jobs), Tasks: []Task{task}}
	if first, err := run.OpenSeed(task.Dir, j.Seed); err == nil {
		o.Exact = !first.Config.TF32 // all seeds of a training go on as the first began
	}
	go func() {
		e, began := ended{job: j}, time.Now()
		err := r.Launch(ctx, o, func(n News) {
			if n.Epoch != nil {
				news <- j
			}
			e.why = cmp.Or(n.Error, e.why)
		})
		if err != nil {
			e.why = err.Error()
		}
		e.took = time.Since(began)
		over <- e
	}()
}

// note takes note of the end of a run.
func (r *runner) note(e ended) error {
	j := e.job
	j.look(r.Out, nil)
	r.estimate.learn(j, r.device)
	switch found := &j.found; {
	case found.state == Cut:
		r.Log.Info(fmt.Sprintf("%s has had its time: %s, %s", j.label(), outcome(found.Result), found.Result.Mark()))
	case found.state == Done:
		r.Log.Info(fmt.Sprintf("%s is done: %s", j.label(), outcome(found.Result)))
		if r.Into != "" {
			if _, err := AddRecords(r.Into, found.Path); err != nil {
				r.Log.Warn(err.Error())
			}
		}
	case e.why != "":
		found.state, found.why = Failed, e.why
		r.Log.Warn(fmt.Sprintf("%s failed: %s", j.label(), e.why))
	default:
		r.Log.Info(fmt.Sprintf("%s was stopped after epoch %d of at most %d, its state is kept", j.label(),
			len(found.epochs), j.spec.Training.Epochs))
	}
	o := r.state.Runs[j.id()]
	o.Used += e.took.Seconds()
	r.state.Runs[j.id()] = o
	return r.noteState(j, false)
}

// outcome is a result in a few words.
func outcome(r run.Result) string {
	text := fmt.Sprintf("best epoch %d of %d", r.BestEpoch, r.Epochs)
	switch {
	case len(r.Results) == 0:
		return text
	case r.OfLinks():
		return fmt.Sprintf("AP %.2f, %s", 100*r.Results[0].AP, text)
	}
	return fmt.Sprintf("AUC %.2f, %s", 100*r.Results[0].AUC, text)
}

// tell says how far everything is.
func (r *runner) tell(open, running []*Job) {
	if r.OnState == nil {
		return
	}
	s := State{Running: len(running), Left: len(open), Spent: seconds(r.state.Spent) + time.Since(r.began)}
	for _, j := range r.jobs {
		ended := j.found.state == Done || j.found.state == Cut
		if ended && !slices.Contains(open, j) && !slices.Contains(running, j) {
			s.Done++
		}
	}
	for _, j := range running {
		s.Now = append(s.Now, fmt.Sprintf("%s %d", j.Name, len(j.found.epochs)))
	}
	slices.Sort(s.Now)
	for _, j := range slices.Concat(open, running) {
		_, usual := r.estimate.remaining(j)
		s.Ahead += min(usual, 1000*time.Hour) / time.Duration(r.Jobs)
	}
	if !r.deadline.IsZero() {
		s.Ahead = max(0, min(s.Ahead, time.Until(r.deadline)))
	}
	r.OnState(s)
}
