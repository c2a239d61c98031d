package demo

import (
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
)

// Report is what a tour found. All but its times is the same for the same seed.
type Report struct {
	Seed     uint64           `json:"seed"`
	Data     eval.DataRecord  `json:"data"`
	Split    eval.SplitRecord `json:"split"`
	Settings []string         `json:"settings"`
	Models   []Model          `json:"models"`
	Example  Example          `json:"example"`
	Page     string           `json:"page"` // the file, for whoever writes one
	Seconds  float64          `json:"seconds"`
}

// Model is how one model did on the test events.
type Model struct {
	Name       string  `json:"model"`
	Variant    string  `json:"variant,omitempty"` // EdgeBank's memory
	Parameters int     `json:"parameters"`
	BestEpoch  int     `json:"best_epoch,omitempty"`
	Epochs     []Epoch `json:"epochs,omitempty"`
	AP         float64 `json:"ap"`
	AUC        float64 `json:"auc"`
	Seconds    float64 `json:"seconds,omitempty"`
}

// Epoch is one of a model's training.
type Epoch struct {
	Epoch int     `json:"epoch"`
	Loss  float64 `json:"train_loss"`
	AP    float64 `json:"val_ap"`
}

// Model finds one by name.
func (r *Report) Model(name string) Model {
	for _, m := range r.Models {
		if m.Name == name {
			return m
		}
	}
	return Model{}
}

// Pair is a source and a destination, and when they met within a span of time.
type Pair struct {
	Source, Destination string
	Begin, End          float64
	Meetings            []float64
}

// Pairs are the first source with some destinations, towards the end of the training events.
func (t *Tour) Pairs(n int) []Pair {
	end := t.split.Train.At(t.split.Train.Len() - 1).Time
	begin := end - 4*t.Stream.LongGap
	var list []Pair
	for i := range n {
		dst := event.Node(1 + t.Stream.Sources + i)
		met := t.meetings(1, dst, begin, end)
		list = append(list, Pair{t.set.Names.Name(1), t.set.Names.Name(dst), begin, end, met})
	}
	return list
}

// Commands are what to do next, with events of one's own.
const Commands = `dygmamba data import visits.csv --out visits.dgm
dygmamba train --data visits.dgm --out runs/visits
dygmamba eval --run runs/visits
dygmamba predict --run runs/visits --queries questions.csv --out answers.csv
`
