package modeltest

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// TestBadModels: for every promise there is a model that breaks it, and it is found out.
func TestBadModels(t *testing.T) {
	if onGPU() {
		t.Skip("several are only bad on a CPU")
	}
	found := map[string]bool{}
	for _, c := range []struct {
		name    string
		made    func(*toy) model.Model
		promise string
		says    string
	}{
		{
			"knows its labels", func(m *toy) model.Model { return &labelled{m} },
			"does not know the answer", "are about events",
		},
		{
			"peeks", func(m *toy) model.Model { return &hasty{m} },
			"sees nothing of its own instant or later", "and with",
		},
		{
			"peeks in secret", func(m *toy) model.Model { return &hasty{m} },
			"declares what it depends on", "Conditions must say",
		},
		{
			"follows others", func(m *toy) model.Model { return &average{m} },
			"answers each query alone", "alone with",
		},
		{
			"shares too much", func(m *toy) model.Model { return &careless{m} },
			"answers the same when work is shared", "when work is shared",
		},
		{
			"only seems to have sides", func(m *toy) model.Model { return &torn{m} },
			"answers the same when work is shared", "when nodes are described alone",
		},
		{
			"notes questions", func(m *toy) model.Model { return &curious{m} },
			"remembers in Commit alone", "a question changes",
		},
		{
			"cannot forget", func(m *toy) model.Model { return &stubborn{m} },
			"remembers in Commit alone", "is left when",
		},
		{
			"is not rewound", func(m *toy) model.Model { return &stubborn{m} },
			"is rewound by evaluations", "something else",
		},
		{
			"counts in secret", func(m *toy) model.Model { return &secret{toy: m} },
			"is rewound by evaluations", "something else",
		},
		{
			"loses a part in files", func(m *toy) model.Model { return &secret{toy: m} },
			"travels through files", "answered otherwise",
		},
		{
			"remembers units otherwise", func(m *toy) model.Model { return &sloppy{m} },
			"knows the units it may know", "something else",
		},
		{
			"allocates", func(m *toy) model.Model { return &wasteful{toy: m} },
			"does not allocate", "a step allocates",
		},
		{
			"forgets when it grows", func(m *toy) model.Model { return &cramped{m} },
			"makes room for more nodes", "with more room",
		},
		{
			"believes everything", func(m *toy) model.Model { return &gullible{m} },
			"refuses to remember nonsense", "is accepted",
		},
		{
			"is confused by errors", func(m *toy) model.Model { return &confused{m} },
			"refuses to remember nonsense", "has changed",
		},
		{
			"keeps memory", func(m *toy) model.Model { return &leaky{m} },
			"gives all memory back", "bytes are left",
		},
		{
			"knows its threads", func(m *toy) model.Model { return &threaded{m} },
			"says the same again", "on 2 threads",
		},
		{
			"knows no seed", seedless,
			"says the same again", "another seed",
		},
		{
			"is afraid of strangers", func(m *toy) model.Model { return &shy{m} },
			"answers every query", "NaN",
		},
		{
			"has moods", func(m *toy) model.Model { return &moody{toy: m} },
			"goes on where it was interrupted", "with interruptions",
		},
		{
			"needs what nobody plans", func(m *toy) model.Model { return &hungry{m} },
			"plans its memory", "were planned",
		},
		{
			"moves unnoticed", func(m *toy) model.Model { return struct{ model.Memory }{m} },
			"can be recorded", "recorded",
		},
		{
			"computes on the host", func(m *toy) model.Model { return &scaled{m} },
			"can be recorded", "recorded",
		},
		{
			"has nothing to say", nil,
			"is described", "none may be empty",
		},
	} {
		factory := toyFactory(c.made)
		if c.made == nil {
			factory = model.Make(model.Kind[toyConfig]{
				Remembers: true, Default: toyConfig{Dim: 8},
				Build: func(env model.Env, c toyConfig) (model.Model, error) { return newToy(env, c), nil },
			})
		}
		i := slices.IndexFunc(promises, func(p promise) bool { return p.name == c.promise })
		said := failures(t, func(t testing.TB) { promises[i].check(t, newEntry(t, "bad", factory)) })
		if !strings.Contains(said, c.says) {
			t.Errorf("a model that %s: %q is said to be broken by %q, want %q", c.name, c.promise, said, c.says)
		}
		found[c.promise] = true
	}
	for _, p := range promises {
		if !found[p.name] {
			t.Errorf("no model breaks the promise that it %s", p.name)
		}
	}
}

// failures runs a check that is to fail and returns what it says.
func failures(t testing.TB, check func(t testing.TB)) string {
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		check(r)
	}()
	<-done
	return strings.Join(r.said, "; ")
}

// recorder takes failures for another test, which does not fail.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Error(args ...any)                 { r.said = append(r.said, fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, args ...any) { r.Error(fmt.Sprintf(format, args...)) }
func (r *recorder) Fatal(args ...any)                 { r.Error(args...); runtime.Goexit() }
func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...); runtime.Goexit() }

// labelled gives itself away where queries are about events.
type labelled struct{ *toy }

func (m *labelled) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	e := m.toy.Embed(tp, b)
	marks := make([]float32, e.Src.Len())
	for i := range b.Positives * e.Src.Cols() {
		marks[i] = 1
	}
	e.Src = grad.Add(tp, e.Src, tp.Floats(marks, e.Src.Dim(0), e.Src.Cols()))
	return e
}

// hasty looks at neighbours of neighbours at rounded times, which may be later than the query's.
type hasty struct{ *toy }

func (m *hasty) Plan() sample.Plan {
	p := m.toy.Plan()
	p.ExactTimes = false
	p.Draws = append(p.Draws, sample.Draw{Of: sample.Hop(0), Neighbors: 1, RowLen: 1})
	return p
}

func (m *hasty) UnitPlan() sample.Plan { return m.Plan() }

func (m *hasty) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	for i, n := range b.Rows[2].Node {
		b.Rows[0].Delta[i] = float32(n)
	}
	return m.toy.Embed(tp, b)
}

// average compares how long ago something was with the mean of the batch.
type average struct{ *toy }

func (m *average) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	mean := float32(0)
	for _, x := range b.Rows[0].Delta {
		mean += x / float32(len(b.Rows[0].Delta))
	}
	for i := range b.Rows[0].Delta {
		b.Rows[0].Delta[i] -= mean
	}
	return m.toy.Embed(tp, b)
}

// careless takes one side for the other where it shares.
type careless struct{ *toy }

func (m *careless) Share(tp *grad.Tape, b *sample.Batch) model.Embedding {
	e := m.Embed(tp, b)
	e.Src, e.Dst = e.Dst, e.Src
	return e
}

// torn describes sources and destinations differently.
type torn struct{ *toy }

func (m *torn) Sided() {}

func (m *torn) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	e := m.toy.Embed(tp, b)
	e.Dst = grad.Scale(tp, e.Dst, 2)
	return e
}

// curious remembers who was asked about.
type curious struct{ *toy }

func (m *curious) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	e := m.toy.Embed(tp, b)
	m.toy.Commit(tp, b, &e)
	return e
}

// stubborn does not go back.
type stubborn struct{ *toy }

func (m *stubborn) Restore([]tensor.Named) error { return nil }

// secret remembers more than it tells: how often it was told anything.
type secret struct {
	*toy
	commits float32
}

func (m *secret) Commit(tp *grad.Tape, b *sample.Batch, e *model.Embedding) {
	m.commits++
	m.toy.Commit(tp, b, e)
}

func (m *secret) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	for i := range b.Rows[0].Delta {
		b.Rows[0].Delta[i] += m.commits
	}
	return m.toy.Embed(tp, b)
}

// sloppy remembers half as much of a unit that nobody asked about.
type sloppy struct{ *toy }

func (m *sloppy) Commit(tp *grad.Tape, b *sample.Batch, e *model.Embedding) {
	if e == nil {
		half := *b
		half.Positives /= 2
		b = &half
	}
	m.toy.Commit(tp, b, e)
}

// wasteful takes new memory for every batch.
type wasteful struct {
	*toy
	last []int32
}

func (m *wasteful) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	m.last = slices.Clone(b.Rows[0].Node)
	return m.toy.Embed(tp, b)
}

// cramped forgets everything when it grows.
type cramped struct{ *toy }

func (m *cramped) Grow(nodes int) { m.toy.Grow(nodes); m.state.Reset() }

// gullible takes NaN for 0.
type gullible struct{ *toy }

func (m *gullible) Restore(list []tensor.Named) error {
	list = clone(list)
	for _, x := range list {
		for i, v := range x.Data {
			if !finite(v) {
				x.Data[i] = 0
			}
		}
	}
	return m.toy.Restore(list)
}

// confused forgets everything when it refuses something.
type confused struct{ *toy }

func (m *confused) Restore(list []tensor.Named) error {
	return errors.Join(m.toy.Restore(nil), m.toy.Restore(list))
}

// leaky does not give back what it remembers.
type leaky struct{ *toy }

func (m *leaky) Close() { m.params.Close() }

// scaled has a factor of each batch that is not on the device.
type scaled struct{ *toy }

func (m *scaled) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	e := m.toy.Embed(tp, b)
	e.Src = grad.Scale(tp, e.Src, float32(b.Queries[0].Src))
	return e
}

// hungry takes memory beside the tape's.
type hungry struct{ *toy }

func (m *hungry) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	tp.Device().Alloc(1 << 10)
	return m.toy.Embed(tp, b)
}

// threaded counts the device's threads.
type threaded struct{ *toy }

func (m *threaded) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	if d, ok := tp.Device().(device.Threaded); ok {
		b.Rows[0].Delta[0] += float32(d.Threads())
	}
	return m.toy.Embed(tp, b)
}

// seedless always begins with the same weights.
func seedless(m *toy) model.Model {
	same := newToy(model.Env{Device: m.params.Device(), NumNodes: m.state.Rows()}, m.cfg)
	m.Close()
	return same
}

// shy has no answer to strangers.
type shy struct{ *toy }

func (m *shy) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	for i, q := range b.Queries {
		if int(q.Src) >= m.state.Rows() {
			var zero float32
			b.Rows[0].Delta[i], b.Rows[0].Node[i] = zero/zero, 1
		}
	}
	return m.toy.Embed(tp, b)
}

// moody learns otherwise in every process.
type moody struct {
	*toy
	steps float32
}

func (m *moody) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	if tp.Recording() {
		m.steps++
		b.Rows[0].Delta[0] += m.steps
	}
	return m.toy.Embed(tp, b)
}
