package audit

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// Compared is what one run reached in the batches of a test.
type Compared struct {
	Run        string         `json:"run"`
	Model      string         `json:"model"`
	Seed       uint64         `json:"seed"`
	AP         float64        `json:"ap"`
	AUC        float64        `json:"auc"`
	Batches    []float64      `json:"batch_ap"`
	Order      protocol.Order `json:"order,omitempty"`
	Conditions []string       `json:"conditions,omitempty"` // what scores depend on beside their own past
	// Validation is the AP of every epoch on validation data, as the run's log has it; records without a log have none.
	Validation []float64 `json:"validation_ap,omitempty"`
	CutShort   string    `json:"cut_short,omitempty"` // why it is not a whole training
	Seeds      []Seed    `json:"seeds,omitempty"`     // that it is the mean of, where there are several

	negatives string
}

// Seed is what one of several seeds reached.
type Seed struct {
	Seed uint64  `json:"seed"`
	AP   float64 `json:"ap"`
	AUC  float64 `json:"auc"`
}

// Mean is the mean over the seeds of a training, batch by batch. Validation goes as far as all of them went.
func Mean(dir string, seeds []Compared) (Compared, error) {
	m := seeds[0]
	if len(seeds) == 1 {
		return m, nil
	}
	m.Run, m.AP, m.AUC, m.CutShort = dir, 0, 0, ""
	m.Batches, m.Validation = make([]float64, len(m.Batches)), slices.Clone(m.Validation)
	clear(m.Validation)
	for _, s := range seeds {
		if s.negatives != m.negatives || len(s.Batches) != len(m.Batches) {
			return m, fmt.Errorf("%s and %s were asked about other negatives", seeds[0].Run, s.Run)
		}
		m.Seeds = append(m.Seeds, Seed{s.Seed, s.AP, s.AUC})
		m.CutShort = cmp.Or(m.CutShort, s.CutShort)
		m.Validation = m.Validation[:min(len(m.Validation), len(s.Validation))]
		n := float64(len(seeds))
		m.AP, m.AUC = m.AP+s.AP/n, m.AUC+s.AUC/n
		for i := range m.Batches {
			m.Batches[i] += s.Batches[i] / n
		}
		for i := range m.Validation {
			m.Validation[i] += s.Validation[i] / n
		}
	}
	return m, nil
}

// Difference is how much better one run is than another, batch by batch.
type Difference struct {
	Run     string  `json:"run"`
	Than    string  `json:"than"`
	AP      float64 `json:"ap"` // mean of the differences
	Better  int     `json:"better"`
	Worse   int     `json:"worse"`
	Batches int     `json:"batches"`
	P       float64 `json:"p"` // how often chance alone gives as much, whoever is better
}

// Chance is P for people to read; it is never 0, and does not look like it.
func (d Difference) Chance() string {
	if d.P < 0.0001 {
		return "< 0.0001"
	}
	return fmt.Sprintf("%.4f", d.P)
}

// Ask measures a run once more, keeping the AP of every batch.
func Ask(
	ctx context.Context, dir string, scenario protocol.Scenario, strategy protocol.Negatives, load predict.Options,
) (Compared, error) {
	record, err := run.Open(dir)
	if err != nil {
		return Compared{}, err
	}
	if err := sameData(record, dir, load); err != nil {
		return Compared{}, err
	}
	c := Compared{Run: dir, Model: record.Config.Model, Seed: record.Config.Seed}
	o := dygmamba.EvaluateOptions{LoadOptions: load, Scenarios: []protocol.Scenario{scenario},
		Strategies: []protocol.Negatives{strategy}}
	o.Protocol.OnAnswers = func(a eval.Answers) {
		ap, _ := measure(a.Scores[:a.Paired], a.Scores[a.Paired:])
		c.Batches = append(c.Batches, ap)
	}
	if task := record.Task(); task.OfEvents() {
		return c, fmt.Errorf("%w; %s has learned the task %s", ErrTask, dir, task)
	}
	results, err := dygmamba.Evaluate(ctx, dir, o)
	if err != nil {
		return c, err
	}
	if len(results) != 1 {
		return c, fmt.Errorf("%s: the %s test has no events", dir, scenario)
	}
	c.AP, c.AUC, c.negatives = results[0].AP, results[0].AUC, results[0].Negatives
	if result, err := record.Result(); err == nil {
		c.Order, c.Conditions, c.CutShort = result.Order, result.Depends, result.Mark()
	}
	epochs, err := record.History()
	for _, e := range epochs {
		if e.Val != nil {
			c.Validation = append(c.Validation, e.Val.AP)
		}
	}
	return c, err
}

// sameData is an error if a run was trained on other data.
func sameData(record run.Run, dir string, load predict.Options) error {
	if found, want := load.Set.Hash(), record.Config.Hashes.Data; found != want {
		return &run.Error{File: dir, Err: fmt.Errorf(
			"it was trained on other data: their hash is %.12s…, that of %s is %.12s…", want, load.Set.Name, found)}
	}
	return nil
}

// Against compares two runs that were asked the same, batch by batch.
func (c Compared) Against(other Compared) (Difference, error) {
	d := Difference{Run: c.Run, Than: other.Run, Batches: len(c.Batches)}
	if c.negatives != other.negatives || len(c.Batches) != len(other.Batches) {
		return d, fmt.Errorf("%s was asked in %d batches and %s in %d, or about other negatives: "+
			"there are no pairs to compare", c.Run, len(c.Batches), other.Run, len(other.Batches))
	}
	d.take(c.Batches, other.Batches)
	return d, nil
}

// Paired compares the AP of the same batches.
func Paired(a, b []float64) (d Difference) {
	d.take(a, b)
	return d
}

func (d *Difference) take(a, b []float64) {
	diffs := make([]float64, len(a))
	d.Batches = len(a)
	for i, x := range a {
		diffs[i] = x - b[i]
		d.AP += diffs[i] / float64(len(diffs))
		switch {
		case diffs[i] > 0:
			d.Better++
		case diffs[i] < 0:
			d.Worse++
		}
	}
	d.P = signFlips(diffs)
}

const flips = 20_000

// signFlips is the p-value of a mean of paired differences: were neither better, each could as well have had the other
// sign. Signs are drawn from a fixed seed; what was found counts as one of the draws, so that p is never 0.
func signFlips(diffs []float64) float64 {
	sum := 0.0
	for _, d := range diffs {
		sum += d
	}
	rng := rand.New(rand.NewPCG(2, 3))
	reached := 1
	for range flips {
		s := 0.0
		for _, d := range diffs {
			s += d * float64(1-2*int(rng.Uint64()&1))
		}
		if math.Abs(s) >= math.Abs(sum)-1e-12 {
			reached++
		}
	}
	return float64(reached) / (flips + 1)
}

// Comparison is runs that were asked the same, side by side.
type Comparison struct {
	Scenario    protocol.Scenario  `json:"setting"`
	Negatives   protocol.Negatives `json:"negatives"`
	Runs        []Compared         `json:"runs"`
	Differences []Difference       `json:"differences"` // to the first run
}
