package eval

import (
	"context"

	"github.com/dygmamba/dygmamba/calibration"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/replay"
)

// Contender is something to measure beside others.
type Contender struct {
	Name        string // tells it from the others
	Scorer      replay.Scorer
	Calibration *calibration.Map // of its logits; nil: none
	Ask         Asker            // about many destinations at once; nil: query by query
}

// Row is what one contender achieved in one scenario under one kind of negatives.
type Row struct {
	Scenario  string `json:"Setting"` // as records of rules have it
	Strategy  string
	Contender string
	Result
}

// Comparison says who is measured, and where.
type Comparison struct {
	Contenders []Contender
	Scenarios  []string
	Strategies []string

	OnBatch func(done, total int64, scenario, strategy string) // events of all passes together; may be nil
}

// WarmUp is Warm for all contenders that remember.
func (p *Protocol) WarmUp(ctx context.Context, list []Contender) error {
	for _, c := range list {
		memory, remembers := c.Scorer.(model.Rememberer)
		if !remembers {
			continue
		}
		if err := p.Warm(ctx, memory); err != nil {
			return err
		}
	}
	return nil
}

// Compare measures all contenders on the same questions, scenario by scenario and within it one kind of negatives after
// the other. All must be ready for testing: see Evaluate. Rows without events have no batches.
func (p *Protocol) Compare(ctx context.Context, c Comparison) ([]Row, error) {
	total := 0
	for _, scenario := range c.Scenarios {
		part, err := PartOf(scenario)
		if err != nil {
			return nil, err
		}
		total += p.Events(part).Len() * len(c.Strategies) * len(c.Contenders)
	}
	before := 0
	var rows []Row
	for _, scenario := range c.Scenarios {
		part, _ := PartOf(scenario)
		for _, strategy := range c.Strategies {
			for _, one := range c.Contenders {
				asked := p.With(func(o *Options) {
					if o.Calibration = one.Calibration; c.OnBatch != nil {
						o.OnBatch = func(done, _ int) {
							c.OnBatch(int64(before+done), int64(total), scenario, strategy)
						}
					}
				})
				r, err := asked.Evaluate(ctx, one.Scorer, part, strategy)
				if err != nil {
					return nil, err
				}
				before += r.Positives
				rows = append(rows, Row{scenario, strategy, one.Name, r})
			}
		}
	}
	return rows, nil
}
