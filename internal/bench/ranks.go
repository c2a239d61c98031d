package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/collective"
	"github.com/dygmamba/dygmamba/internal/dry"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/train"
)

// Ranks asks what is lost when ranks share a training: the throughput of the group, divided by the total of as many
// independent trainings at the same time. Both are measured in the same processes, in turn, so that whatever else the
// machine does meets both. All ranks run it together.
type Ranks struct {
	Model   string // its name, for the report
	Factory model.Factory
	Spec    model.Spec
	Set     *dataset.Set
	Device  device.Device
	Threads int
	Group   *collective.Group
	Shards  int // of a batch; 0: train.DefaultShards
	Batches int // that are measured in a turn
	Rounds  int // turns of each kind

	OnTurn func(done, total int) // may be nil
}

// RanksRow is what was measured for one model and size of batches.
type RanksRow struct {
	Model     string `json:"model"`
	Preset    string `json:"preset"`
	BatchSize int    `json:"batch_size"`
	Batches   int    `json:"batches"` // in a turn
	Numbers   int    `json:"numbers"` // of a gradient
	// Medians over the turns, events per second: of all independent trainings together, and of the shared one.
	Alone float64 `json:"alone_events_per_second"`
	Rate  float64 `json:"ranks_events_per_second"`
	// Efficiency is the median of Efficiencies, of each round one: Rate / Alone.
	Efficiency   float64   `json:"efficiency"`
	Efficiencies []float64 `json:"efficiencies"`
	// CPU is the same in processor time per event instead of rates: where other programs take turns on the cores, it
	// still tells how much more work sharing is. It does not see who waits for whom, but for polling.
	CPU float64 `json:"cpu_efficiency,omitempty"`
	// Parts of a shared step on rank 0, in ms.
	Compute  float64 `json:"compute_ms"`
	Exchange float64 `json:"exchange_ms"`
	Commit   float64 `json:"commit_ms"`
	Update   float64 `json:"update_ms"`
	Other    float64 `json:"other_ms"` // waiting for batches, commits in strict order, measures of the batch
}

// ranksWarmUp is the number of batches before the measured ones.
const ranksWarmUp = 2

// turn is what one rank measured in one turn.
type turn struct {
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu"`
	Events  int     `json:"events"`
	spent   train.Spent
}

// Run measures.
func (r Ranks) Run(ctx context.Context) (RanksRow, error) {
	size := r.Spec.Training.BatchSize
	row := RanksRow{Model: r.Model, Preset: r.Spec.Preset, BatchSize: size, Batches: r.Batches}
	var err error
	if row.Numbers, err = r.numbers(); err != nil {
		return row, err
	}
	var alone, together, cpu []float64
	var spent train.Spent
	seconds := 0.0
	for round := range r.Rounds {
		kinds := []*collective.Group{nil, r.Group}
		if round%2 == 1 { // so that a machine that gets faster or slower favours nobody
			slices.Reverse(kinds)
		}
		var rates, work [2]float64
		for i, g := range kinds {
			if r.OnTurn != nil {
				r.OnTurn(2*round+i, 2*r.Rounds)
			}
			own, all, err := r.turn(ctx, g)
			if err != nil {
				return row, err
			}
			k := 0
			if g != nil {
				k, spent, seconds = 1, sum(spent, own.spent), seconds+own.Seconds
			}
			rates[k], work[k] = totals(all, g != nil)
		}
		alone, together = append(alone, rates[0]), append(together, rates[1])
		row.Efficiencies = append(row.Efficiencies, rates[1]/rates[0])
		if work[1] > 0 {
			cpu = append(cpu, work[0]/work[1])
		}
	}
	row.Alone, row.Rate, row.CPU = median(alone), median(together), median(cpu)
	row.Efficiency = median(slices.Clone(row.Efficiencies))
	steps := float64(r.Rounds * r.Batches)
	row.Compute, row.Exchange = milliseconds(spent.Compute)/steps, milliseconds(spent.Exchange)/steps
	row.Commit, row.Update = milliseconds(spent.Commit)/steps, milliseconds(spent.Update)/steps
	row.Other = 1000*seconds/steps - row.Compute - row.Exchange - row.Commit - row.Update
	return row, nil
}

// numbers is the length of a gradient.
func (r Ranks) numbers() (n int, err error) {
	dev, _, _ := dry.Like(r.Device)
	p, err := eval.Open(r.Set, eval.Options{BatchSize: r.Spec.Training.BatchSize, Order: r.Spec.Order})
	if err != nil {
		return 0, err
	}
	m := meter{Run: train.Run{Model: r.Model, Factory: r.Factory, Spec: r.Spec, Set: r.Set, Protocol: p}}
	l, err := m.learner(dev)
	if err != nil {
		return 0, err
	}
	_, flat := l.Params().Flat()
	return flat.Len, nil
}

func sum(a, b train.Spent) train.Spent {
	return train.Spent{Compute: a.Compute + b.Compute, Exchange: a.Exchange + b.Exchange, Commit: a.Commit + b.Commit,
		Update: a.Update + b.Update}
}

// totals is events per second of all ranks together, and processor seconds per event.
func totals(all []turn, shared bool) (rate, work float64) {
	events, slowest := 0, 0.0
	for _, t := range all {
		rate += float64(t.Events) / t.Seconds
		work += t.CPU
		events += t.Events
		slowest = max(slowest, t.Seconds)
	}
	if shared { // all have the same events
		events = all[0].Events
		rate = float64(events) / slowest
	}
	return rate, work / float64(events)
}

// turn trains on some batches, together or alone, and tells what all ranks measured.
func (r Ranks) turn(ctx context.Context, g *collective.Group) (own turn, all []turn, err error) {
	if err := r.Group.Barrier(ctx); err != nil {
		return own, nil, err
	}
	if own, err = r.train(ctx, g); err != nil {
		return own, nil, err
	}
	err = r.Group.AllGatherJSON(ctx, own, &all)
	return own, all, err
}

// train takes the last batches of the training events, and ends after those: every rank after the same step, so that
// none waits for another.
func (r Ranks) train(ctx context.Context, g *collective.Group) (own turn, err error) {
	size := r.Spec.Training.BatchSize
	p, err := eval.Open(r.Set, eval.Options{BatchSize: size, Threads: r.Threads, Order: r.Spec.Order,
		Shares: r.Spec.Training.Negatives, Limits: eval.Limits{Train: (ranksWarmUp + r.Batches) * size}})
	if err != nil {
		return own, err
	}
	if n := p.TrainEvents().Len(); n < (ranksWarmUp+r.Batches)*size {
		return own, fmt.Errorf("%s has %d training events, must have %d batches of %d", r.Set.Name, n,
			ranksWarmUp+r.Batches, size)
	}
	stopped, stop := context.WithCancel(ctx)
	defer stop()
	var began time.Time
	var cpu time.Duration
	var before train.Spent
	t := train.Run{Model: r.Model, Factory: r.Factory, Spec: r.Spec, Set: r.Set, Protocol: p, Device: r.Device,
		Ranks: g, Shards: r.Shards}
	t.OnStep = func(s train.Step) {
		switch s.Done {
		case ranksWarmUp * size:
			began, cpu, before = time.Now(), cpuTime(), s.Spent
		case (ranksWarmUp + r.Batches) * size:
			own = turn{Seconds: time.Since(began).Seconds(), CPU: (cpuTime() - cpu).Seconds(), Events: r.Batches * size}
			own.spent = train.Spent{Compute: s.Spent.Compute - before.Compute, Commit: s.Spent.Commit - before.Commit,
				Exchange: s.Spent.Exchange - before.Exchange, Update: s.Spent.Update - before.Update}
			stop()
		}
	}
	if _, err = t.Train(stopped); own.Events == 0 || ctx.Err() != nil {
		return own, errors.Join(err, ctx.Err())
	}
	return own, nil
}
