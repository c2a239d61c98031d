package eval

import (
	"context"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
)

// History is how much of the past there is to answer the queries of a scenario from, under one kind of negatives.
type History struct {
	Scenario protocol.Scenario
	Strategy protocol.Negatives
	dataset.Availability
}

// Histories measures the history of all test queries. Scenarios without events are left out.
func (p *Protocol) Histories(ctx context.Context) ([]History, error) {
	var all []History
	for _, scenario := range protocol.Scenarios() {
		part, _ := PartOf(scenario)
		for _, strategy := range protocol.Published() {
			h := History{Scenario: scenario, Strategy: strategy}
			if err := p.history(ctx, part, strategy, &h.Availability); err != nil {
				return nil, err
			}
			if h.Ends > 0 {
				all = append(all, h)
			}
		}
	}
	return all, nil
}

func (p *Protocol) history(
	ctx context.Context, part Part, strategy protocol.Negatives, found *dataset.Availability,
) error {
	pass, err := p.Pass(part, strategy)
	if err != nil {
		return err
	}
	pass.Negatives.Reset()
	for step, err := range pass.Batches(ctx, onlooker{}, p.Events(part).All()) {
		if err != nil {
			return err
		}
		found.Add(pass.Past, step.Batch.Queries)
	}
	return nil
}

// onlooker wants nothing gathered.
type onlooker struct{}

func (onlooker) Plan() sample.Plan { return sample.Plan{} }
