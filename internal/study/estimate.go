package study

import (
	_ "embed"
	"encoding/csv"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/run"
)

//go:embed costs.csv
var costTable string // a step of 200 events of uci: on two cores, on an H200; and how many epochs are usual

// cost is what is known of a model before anything is measured here.
type cost struct {
	cpu, cuda float64 // milliseconds
	epochs    int
}

var costs = sync.OnceValue(func() map[string]cost {
	rows, err := csv.NewReader(strings.NewReader(costTable)).ReadAll()
	if err != nil {
		panic(err)
	}
	number := func(cell string) float64 {
		v, err := strconv.ParseFloat(cell, 64)
		if err != nil {
			panic(err)
		}
		return v
	}
	all := map[string]cost{}
	for _, row := range rows[1:] {
		all[row[0]] = cost{number(row[1]), number(row[2]), int(number(row[3]))}
	}
	return all
})

// family is the model of the table that another is a variant of, "" where there is none.
func family(name string) string {
	for {
		if _, ok := costs()[name]; ok {
			return name
		}
		i := strings.LastIndexByte(name, '-')
		if i < 0 {
			return ""
		}
		name = name[:i]
	}
}

// costOf is that of a model; of a variant, its parent's.
func costOf(name string) cost {
	if c, ok := costs()[family(name)]; ok {
		return c
	}
	return cost{350, 5, 50}
}

// estimator says how long trainings take: from a table at first, then from what was measured here.
type estimator struct {
	gpu     bool
	threads int // of one training
	jobs    int // trainings at once
	splits  map[string]*dataset.Split
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
	return &estimator{gpu: gpu, threads: threads, jobs: jobs, splits: map[string]*dataset.Split{},
		known: map[string]*pace{}}
}

// forwards is the part of a step's time that answers alone take.
const forwards = 0.4

// guess is the seconds of an epoch as the table has it.
func (e *estimator) guess(j *Job) float64 {
	split := e.split(j)
	if split == nil {
		return math.Inf(1)
	}
	c := costOf(j.Model)
	ms := c.cuda
	if !e.gpu {
		ms = c.cpu * 2 / float64(max(1, min(e.threads, 8)))
	}
	const batch = 200
	events := float64(split.Train.Len()) + forwards*float64(split.Val.Len()+split.NewVal.Len())
	return ms / 1000 * events / batch * e.longer(j)
}

func (e *estimator) split(j *Job) *dataset.Split {
	if s, ok := e.splits[j.Data]; ok {
		return s
	}
	s, err := dataset.NewSplit(j.set.Set.Log, dataset.SplitOptions{Sampling: j.set.Set.Sampling})
	if err != nil {
		s = nil
	}
	e.splits[j.Data] = s
	return s
}

// longer is how many times longer than on uci a job's rows are: positions, and neighbours of models without patches.
func (e *estimator) longer(j *Job) float64 {
	value := func(key string) float64 {
		for _, s := range model.Settings(j.spec.Config) {
			if n, ok := s.Value.(int); ok && s.Key == key {
				return float64(n)
			}
		}
		return 0
	}
	if length, patch := value("max_input_sequence_length"), value("patch_size"); length > 0 && patch > 0 {
		const usual = 32
		return 0.2 + 0.8*length/patch/usual
	}
	const usual = 20
	if n := value("num_neighbors"); n > 0 && len(j.Settings) > 0 {
		return 0.3 + 0.7*n/usual
	}
	return 1
}

// at is what is known of a job's pace.
func (e *estimator) at(j *Job) *pace {
	p := e.known[j.pace]
	if p == nil {
		p = &pace{family: family(j.Model), guess: e.guess(j)}
		e.known[j.pace] = p
	}
	return p
}

// measured notes the time of an epoch that was seen in a training.
func (e *estimator) measured(j *Job, seconds float64) {
	if seconds > 0 {
		e.at(j).actual = seconds
	}
}

// timed notes the time of an epoch as steps alone on the machine tell it.
func (e *estimator) timed(j *Job, seconds float64) {
	if seconds > 0 {
		e.at(j).alone = seconds
	}
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
	crowding := e.crowding()
	if s := e.at(j).seconds(crowding); s > 0 {
		return s
	}
	var ofModel, ofAll []float64
	for _, p := range e.known {
		if s := p.seconds(crowding); s > 0 && p.guess > 0 && !math.IsInf(p.guess, 0) {
			ofAll = append(ofAll, s/p.guess)
			if p.family == family(j.Model) {
				ofModel = append(ofModel, s/p.guess)
			}
		}
	}
	switch {
	case ofModel != nil:
		return e.at(j).guess * middle(ofModel)
	case ofAll != nil:
		return e.at(j).guess * middle(ofAll)
	}
	return e.at(j).guess * crowding
}

func middle(x []float64) float64 {
	if len(x) == 0 {
		return 1
	}
	slices.Sort(x)
	return x[len(x)/2]
}

// remaining is how long the rest of a job takes at the least, if nothing better comes any more, and as is usual; its
// final evaluation is part of both.
func (e *estimator) remaining(j *Job, epochs []run.Epoch) (least, usual time.Duration) {
	t := j.spec.Training
	done, idle := len(epochs), waited(epochs)
	fewest := min(t.Patience-idle, t.Epochs-done)
	if done == 0 {
		fewest = min(t.Patience+1, t.Epochs)
	}
	expected := max(fewest, min(costOf(j.Model).epochs, t.Epochs)-done)
	one := e.epoch(j)
	last := 0.0
	if s := e.split(j); s != nil {
		all := float64(s.Train.Len()) + forwards*float64(s.Val.Len()+s.NewVal.Len())
		last = one * 3 * forwards * float64(s.Test.Len()+s.NewTest.Len()) / max(1, all)
	}
	if math.IsInf(one, 0) {
		return math.MaxInt64, math.MaxInt64
	}
	return seconds(float64(max(0, fewest))*one + last), seconds(float64(max(0, expected))*one + last)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// seen is the seconds of an epoch in a history, 0 for none: the mean of the last few.
func seen(epochs []run.Epoch) float64 {
	const few = 3
	last := epochs[max(0, len(epochs)-few):]
	sum := 0.0
	for _, e := range last {
		sum += (e.Seconds.Train + e.Seconds.Evaluate) / float64(len(last))
	}
	return sum
}
