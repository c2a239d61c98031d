package study

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/run"
)

//go:embed costs.csv
var costTable string

// cost is what is known of a model before anything is measured here, a row of costs.csv.
type cost struct {
	family    string  // the row's model; others are variants of it
	cpu, cuda float64 // milliseconds of a step of 200 events of uci: on two cores, on an H200
	epochs    int     // typical number
	weight    float64 // how much a reader wants to see its results; studies of settings are worth 1
}

var costs = sync.OnceValue(func() map[string]cost {
	all := map[string]cost{}
	for line := range strings.Lines(costTable) {
		var c cost
		_, err := fmt.Sscan(strings.ReplaceAll(line, ",", " "), &c.family, &c.cpu, &c.cuda, &c.epochs, &c.weight)
		if err == nil { // else it is the head
			all[c.family] = c
		}
	}
	return all
})

// costOf is that of a model; of a variant, its parent's.
func costOf(name string) cost {
	if c, ok := costs()[name]; ok {
		return c
	}
	parent, _, _ := strings.Cut(name, "-")
	c, ok := costs()[parent]
	if !ok {
		c = cost{"", 350, 5, 50, 0}
	}
	c.weight = 3
	return c
}

// estimator says how long trainings take: from a table at first, then from what was measured here.
type estimator struct {
	gpu     bool
	threads int              // of one training
	jobs    int              // trainings at once
	known   map[string]*pace // by Job.pace
}

// pace is what was seen of a training: seconds of an epoch with its validation, 0 where nobody saw.
type pace struct {
	family string
	actual float64 // among others
	alone  float64 // from steps that had the machine for themselves
	guess  float64
}

func newEstimator(gpu bool, threads, jobs int) *estimator {
	return &estimator{gpu, threads, jobs, map[string]*pace{}}
}

// sizes are how many events each part has, 0 where the data set cannot be split. Validation and test count as much as
// answers alone take of the time of a step.
func (s *source) sizes() (train, val, test float64) {
	if s.parts == nil {
		s.parts = new([3]float64)
		if x, err := dataset.NewSplit(s.Set.Log, dataset.SplitOptions{Sampling: s.Set.Sampling}); err == nil {
			const forwards = 0.4
			*s.parts = [3]float64{float64(x.Train.Len()), forwards * float64(x.Val.Len()+x.NewVal.Len()),
				forwards * float64(x.Test.Len()+x.NewTest.Len())}
		}
	}
	return s.parts[0], s.parts[1], s.parts[2]
}

// guess is the seconds of an epoch as the table has it.
func (e *estimator) guess(j *Job) float64 {
	train, val, _ := j.set.sizes()
	if train == 0 {
		return math.Inf(1)
	}
	c := costOf(j.Model)
	ms := c.cuda
	if !e.gpu {
		ms = c.cpu * 2 / float64(max(1, min(e.threads, 8)))
	}
	const batch = 200
	return ms / 1000 * (train + val) / batch * j.longer()
}

// longer is how many times longer than on uci a job's rows are: positions, and neighbours of models without patches.
func (j *Job) longer() float64 {
	values := map[string]float64{}
	for _, s := range model.Settings(j.spec.Config) {
		if n, ok := s.Value.(int); ok {
			values[s.Key] = float64(n)
		}
	}
	if length, patch := values["max_input_sequence_length"], values["patch_size"]; length > 0 && patch > 0 {
		const usual = 32
		return 0.2 + 0.8*length/patch/usual
	}
	const usual = 20
	if n := values["num_neighbors"]; n > 0 && len(j.Settings) > 0 {
		return 0.3 + 0.7*n/usual
	}
	return 1
}

// at is what is known of a job's pace.
func (e *estimator) at(j *Job) *pace {
	p := e.known[j.pace]
	if p == nil {
		p = &pace{family: costOf(j.Model).family, guess: e.guess(j)}
		e.known[j.pace] = p
	}
	return p
}

// crowding is how much longer epochs take among other trainings than alone.
func (e *estimator) crowding() float64 {
	if e.jobs == 1 {
		return 1
	}
	var list []float64
	for _, p := range e.known {
		if p.actual > 0 && p.alone > 0 {
			list = append(list, p.actual/p.alone)
		}
	}
	if list == nil {
		return 0.5 * float64(e.jobs) // some compute on the GPU most of the time, some hardly
	}
	return middle(list)
}

// seconds is what an epoch of this pace takes, 0 where nobody saw one.
func (p *pace) seconds(crowding float64) float64 {
	if p.actual > 0 {
		return p.actual
	}
	return p.alone * crowding
}

// epoch is the seconds of an epoch: as measured, or the guess corrected by how wrong guesses were, for this kind
// of model or else for all.
func (e *estimator) epoch(j *Job) float64 {
	own, crowding := e.at(j), e.crowding()
	if s := own.seconds(crowding); s > 0 {
		return s
	}
	var ofModel, ofAll []float64
	for _, p := range e.known {
		if s := p.seconds(crowding); s > 0 && p.guess > 0 && !math.IsInf(p.guess, 0) {
			ofAll = append(ofAll, s/p.guess)
			if p.family == own.family {
				ofModel = append(ofModel, s/p.guess)
			}
		}
	}
	switch {
	case ofModel != nil:
		return own.guess * middle(ofModel)
	case ofAll != nil:
		return own.guess * middle(ofAll)
	}
	return own.guess * crowding
}

func middle(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}

// remaining is the minimum time for the rest of a job, if no epoch is better than the best so far, and the typical one;
// its final evaluation is part of both.
func (e *estimator) remaining(j *Job) (least, usual time.Duration) {
	t := j.spec.Training
	done, idle := len(j.found.epochs), waited(j.found.epochs)
	fewest := min(t.Patience-idle, t.Epochs-done)
	if done == 0 {
		fewest = min(t.Patience+1, t.Epochs)
	}
	expected := max(fewest, min(costOf(j.Model).epochs, t.Epochs)-done)
	one := e.epoch(j)
	if math.IsInf(one, 0) {
		return math.MaxInt64, math.MaxInt64
	}
	train, val, test := j.set.sizes()
	last := one * 3 * test / max(1, train+val)
	return seconds(float64(max(0, fewest))*one + last), seconds(float64(max(0, expected))*one + last)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// waited is how many epochs at the end of a history were not better than those before.
func waited(epochs []run.Epoch) int {
	n := 0
	for _, e := range epochs {
		if n++; e.Improved {
			n = 0
		}
	}
	return n
}

// learn takes note of how long an epoch takes: the mean of the last few, where they were trained on this device.
func (e *estimator) learn(j *Job, device string) {
	const few = 3
	last, one := j.found.epochs[max(0, len(j.found.epochs)-few):], 0.0
	for _, x := range last {
		one += (x.Seconds.Train + x.Seconds.Evaluate) / float64(len(last))
	}
	if one == 0 && j.found.state == Done {
		one = j.found.Result.Seconds / float64(max(1, j.found.Result.Epochs))
	}
	if one > 0 && (!j.found.earlier || j.found.Result.Device == device) {
		e.at(j).actual = one
	}
}
