package dygmamba

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// counter is a model whose every answer is how many events it has observed.
type counter struct {
	params *nn.Params
	seen   uint64
}

func (c *counter) Plan() sample.Plan    { return sample.Plan{} }
func (c *counter) Params() *nn.Params   { return c.params }
func (c *counter) Observe(s event.Span) { c.seen += uint64(s.Len()) }
func (c *counter) Snapshot() []byte     { return binary.LittleEndian.AppendUint64(nil, c.seen) }

func (c *counter) Restore(state []byte) error {
	c.seen = 0
	if state != nil {
		c.seen = binary.LittleEndian.Uint64(state)
	}
	return nil
}

func (c *counter) Score(tp *grad.Tape, b *sample.Batch) *tensor.Tensor {
	return tp.Floats(slices.Repeat([]float32{float32(c.seen)}, len(b.Queries)), len(b.Queries), 1)
}

// TestRelive: a model that remembers has observed exactly the whole batches before each query, whatever else is asked, and ends where it began.
func TestRelive(t *testing.T) {
	log := event.NewLog(25)
	for i := range 25 {
		if _, err := log.Append(event.Event{Src: 1, Dst: 2, Time: float64(i / 2)}); err != nil {
			t.Fatal(err)
		}
	}
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	c := &counter{params: nn.NewParams(0), seen: 7}
	c.params.Place(dev)
	p := &Predictor{options: LoadOptions{Set: &dataset.Set{Log: log}}, spec: model.Spec{Training: model.Standard}, model: c, memory: c, scorer: model.NewScorer(c)}
	p.spec.Training.BatchSize = 10
	defer p.Close()
	at := func(times ...float64) (qs []Query) {
		for _, t := range times {
			qs = append(qs, Query{Src: 1, Dst: 2, Time: t})
		}
		return qs
	}
	// Batches of ten end at times 4, 9 and 12.
	got, err := p.Score(t.Context(), at(100, 4, 4.5, -1, 9, 9.1, 12, 12.5, 4.5, 0))
	want := []float32{25, 0, 10, 0, 10, 20, 20, 25, 10, 0}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("observed %v, want %v (%v)", got, want, err)
	}
	if c.seen != 7 {
		t.Errorf("the model remembers %d events afterwards, want 7 as before", c.seen)
	}
	if _, err := p.Explain(t.Context(), at(5)); err == nil {
		t.Error("explained a model that remembers")
	}
	p.options.Set = nil
	if _, err := p.Score(t.Context(), at(5)); err == nil {
		t.Error("relived a past without events")
	}
}
