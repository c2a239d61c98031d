package audit

import (
	"cmp"
	"context"
	"fmt"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/run"
)

// NextCompared is what a training of the task next reached on test events, in bits per event.
type NextCompared struct {
	Run       string     `json:"run"`
	Model     string     `json:"model"`
	Bits      float64    `json:"who_bits"` // means over seeds
	Returning float64    `json:"who_bits_returning"`
	First     float64    `json:"who_bits_first"`
	MRR       float64    `json:"mrr"`
	Blocks    []float64  `json:"block_bits"` // means over blockEvents events that follow each other
	Seeds     []NextSeed `json:"seeds"`
	CutShort  string     `json:"cut_short,omitempty"` // why it is not a whole training
}

// NextSeed is what one seed reached.
type NextSeed struct {
	Seed uint64 `json:"seed"`
	eval.Next
}

// NextComparison is trainings that were asked about the same events, side by side.
type NextComparison struct {
	Events      int              `json:"events"` // that were asked about
	FirstShare  float64          `json:"first_share"`
	Runs        []NextCompared   `json:"runs"`
	Differences []NextDifference `json:"differences"` // to the first run
}

// NextDifference is how many bits fewer a training needs than another, in blocks of events.
type NextDifference struct {
	Run    string  `json:"run"`
	Than   string  `json:"than"`
	Bits   float64 `json:"who_bits"` // mean of the differences; below 0 is better
	Better int     `json:"better"`
	Blocks int     `json:"blocks"`
	P      float64 `json:"p"` // how often chance alone gives as much, whoever is better

	Chance string `json:"-"` // P for people to read
}

// blockEvents is how many events are compared as one: events that follow each other are much alike.
const blockEvents = 50

// CompareNext measures trainings of the task next once more, on the same test events. Each is named by its path, and
// has the directories of its seeds.
func CompareNext(ctx context.Context, paths []string, seeds [][]string, load predict.Options) (c NextComparison,
	err error,
) {
	for i, dirs := range seeds {
		r := NextCompared{Run: paths[i]}
		for _, dir := range dirs {
			if err := r.ask(ctx, &c, dir, len(dirs), load); err != nil {
				return c, err
			}
		}
		c.Runs = append(c.Runs, r)
		if i > 0 {
			first := c.Runs[0]
			if len(first.Blocks) != len(r.Blocks) {
				return c, fmt.Errorf("%s was asked about %d blocks of events and %s about %d: they have other splits",
					first.Run, len(first.Blocks), r.Run, len(r.Blocks))
			}
			d := Paired(r.Blocks, first.Blocks)
			c.Differences = append(c.Differences, NextDifference{Run: r.Run, Than: first.Run, Bits: d.AP,
				Better: d.Worse, Blocks: d.Batches, P: d.P, Chance: d.Chance()})
		}
	}
	return c, nil
}

// ask measures one of n seeds.
func (r *NextCompared) ask(ctx context.Context, c *NextComparison, dir string, n int, load predict.Options) error {
	record, err := run.Open(dir)
	if err != nil {
		return err
	}
	if err := sameData(record, dir, load); err != nil {
		return err
	}
	chooser, err := predict.LoadChooser(dir, load)
	if err != nil {
		return err
	}
	defer chooser.Close()
	proto, err := chooser.Protocol()
	if err != nil {
		return err
	}
	var bits []float64
	found, err := chooser.EvaluateWho(ctx, proto, eval.NextOptions{Limit: eval.NextSample,
		OnBits: func(b float64) { bits = append(bits, b) }})
	if err != nil {
		return err
	}
	if found.Events == 0 {
		return fmt.Errorf("%s: the test has no events", dir)
	}
	c.Events, c.FirstShare = found.Events, found.Share
	by := 1 / float64(n)
	r.Model = record.Config.Model
	r.Bits, r.Returning = r.Bits+by*found.WhoBits, r.Returning+by*found.Returning
	r.First, r.MRR = r.First+by*found.First, r.MRR+by**found.MRR
	r.Seeds = append(r.Seeds, NextSeed{record.Config.Seed, found})
	if result, err := record.Result(); err == nil {
		r.CutShort = cmp.Or(r.CutShort, result.Mark())
	}
	blocks := (len(bits) + blockEvents - 1) / blockEvents
	if r.Blocks == nil {
		r.Blocks = make([]float64, blocks)
	}
	if len(r.Blocks) != blocks {
		return fmt.Errorf("%s was asked about %d blocks of events and other seeds about %d: they have other splits",
			dir, blocks, len(r.Blocks))
	}
	for k := range r.Blocks {
		part := bits[k*blockEvents : min((k+1)*blockEvents, len(bits))]
		for _, b := range part {
			r.Blocks[k] += by * b / float64(len(part))
		}
	}
	return nil
}
