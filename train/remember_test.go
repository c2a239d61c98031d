package train_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
	"github.com/dygmamba/dygmamba/train"
)

// tally is a model that remembers how many events it was told of, and answers with a multiple of that.
type tally struct {
	params *nn.Params
	answer nn.Linear
	seen   float32
}

type tallyConfig struct{}

func (tallyConfig) Check() error { return nil }

var tallyFactory = model.Make(model.Kind[tallyConfig]{
	Summary: "counts events", Remembers: true,
	Build: func(env model.Env, _ tallyConfig) (model.Model, error) {
		m := &tally{params: nn.NewParams(env.Seed)}
		m.answer = nn.NewLinear(m.params.In("0"), 1, 1)
		m.params.Place(env.Device)
		return m, nil
	},
})

func (m *tally) Plan() sample.Plan     { return sample.Plan{} }
func (m *tally) UnitPlan() sample.Plan { return sample.Plan{} }
func (m *tally) Params() *nn.Params    { return m.params }
func (m *tally) Head() model.Head      { return m }
func (m *tally) Close()                { m.params.Close() }
func (m *tally) Grow(int)              {}

func (m *tally) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	n := len(b.Queries)
	return model.Embedding{Src: tp.Floats(slices.Repeat([]float32{m.seen / 1000}, n), n, 1)}
}

func (m *tally) Logit(tp *grad.Tape, e model.Embedding) *tensor.Tensor {
	return m.answer.Forward(tp, e.Src)
}

func (m *tally) Commit(_ *grad.Tape, b *sample.Batch, _ *model.Embedding) {
	m.seen += float32(b.Events.Len())
}

func (m *tally) Snapshot() []tensor.Named {
	return []tensor.Named{{Name: "seen", Shape: []int{1}, Data: []float32{m.seen}}}
}

func (m *tally) Restore(list []tensor.Named) error {
	m.seen = 0
	if list != nil {
		m.seen = list[0].Data[0]
	}
	return nil
}

// remembering is a training of the tally.
func remembering(t *testing.T, dir string, order protocol.Order, onBatch func(done, total int)) *train.Run {
	t.Helper()
	job := small(t, dir)
	spec, err := tallyFactory.Spec("", model.Data{}, "num_epochs=2", "batch_size=100")
	if err != nil {
		t.Fatal(err)
	}
	spec.Order = order
	split, err := dataset.NewSplit(job.Set.Log, dataset.SplitOptions{Sampling: job.Set.Sampling})
	if err != nil {
		t.Fatal(err)
	}
	job.Model, job.Factory, job.Spec, job.TestEvery = "tally", tallyFactory, spec, 1
	o := eval.Options{Sampling: job.Set.Sampling, BatchSize: 100, Order: order, OnBatch: onBatch}
	job.Protocol = eval.NewProtocol(split, o)
	return job
}

// TestResumeRemembers interrupts a training after every batch of every pass, one after another, in each order: it
// ends with what it would have remembered without.
func TestResumeRemembers(t *testing.T) {
	for _, order := range protocol.Orders() {
		t.Run(string(order), func(t *testing.T) {
			whole, batches := t.TempDir(), 0
			job := remembering(t, whole, order, func(int, int) { batches++ })
			if _, err := job.Train(t.Context()); err != nil {
				t.Fatal(err)
			}
			// Every epoch begins with nothing and ends with the events of training and validation.
			known, _ := tensor.Find(lastTensors(t, whole), "state/seen")
			split := job.Protocol.Split()
			if want := split.Train.Len() + split.Val.Len(); known.Data[0] != float32(want) {
				t.Errorf("%v events are remembered after two epochs, want %d", known.Data, want)
			}
			for cut := 1; cut < batches; cut++ {
				dir, at := t.TempDir(), 0
				ctx, cancel := context.WithCancel(t.Context())
				_, err := remembering(t, dir, order, func(int, int) {
					if at++; at == cut {
						cancel()
					}
				}).Train(ctx)
				cancel()
				if !errors.Is(err, context.Canceled) {
					t.Fatalf("interrupted after %d of %d batches: %v", cut, batches, err)
				}
				again := remembering(t, dir, order, nil)
				again.Resume = true
				if _, err := again.Train(t.Context()); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(read(t, whole, run.CheckpointFile), read(t, dir, run.CheckpointFile)) {
					t.Errorf("interrupted after %d of %d batches: the best epoch differs", cut, batches)
				}
				if got, want := lastTensors(t, dir), lastTensors(t, whole); !reflect.DeepEqual(got, want) {
					t.Errorf("interrupted after %d of %d batches: ends with %v, want %v", cut, batches, got, want)
				}
			}
		})
	}
}

// TestProtocolOfAnother: a protocol with other batches, or another order, than the configuration's is refused.
func TestProtocolOfAnother(t *testing.T) {
	for want, change := range map[string]func(*model.Spec){
		"the protocol's order is strict, that of tally is arrival": func(s *model.Spec) { s.Order = protocol.Arrival },
		"the protocol has batches of 100 events, batch_size is 50": func(s *model.Spec) { s.Training.BatchSize = 50 },
	} {
		job := remembering(t, "", protocol.Strict, nil)
		change(&job.Spec)
		if _, err := job.Train(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func lastTensors(t *testing.T, dir string) []checkpoint.Tensor {
	t.Helper()
	f, err := checkpoint.Load(filepath.Join(dir, run.LastFile))
	if err != nil {
		t.Fatal(err)
	}
	return f.Tensors
}
