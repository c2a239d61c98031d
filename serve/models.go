package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/atomicfile"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/run"
)

// roster holds the model that answers, and the one before it. A new one takes over between two questions: whoever asked
// the old one is answered by it.
type roster struct {
	server  *Server
	current atomic.Pointer[generation]

	device *sync.Mutex // of a GPU, which all generations share: one goroutine at a time may use it; nil: none

	mu       sync.Mutex // one change at a time; guards what follows
	previous *generation
	count    int
}

// generation is one checkpoint, opened twice where that is possible: quick lanes score, slow ones do what takes long,
// so
// that a ranking keeps no score waiting.
type generation struct {
	Number     int       `json:"number"` // from 1
	Checkpoint string    `json:"checkpoint"`
	Hash       string    `json:"sha256"`
	Since      time.Time `json:"since"`
	Learned    bool      `json:"learned,omitempty"` // here, from what came in

	name        string
	quick, slow *lane
}

// newRoster opens the first model and lets it go on from what it remembered, if that is known.
func newRoster(ctx context.Context, s *Server, path string, kept *memory) (*roster, error) {
	m := &roster{server: s}
	if dev := s.options.Load.Device; dev != nil {
		if _, cpu := dev.(device.Threaded); !cpu {
			m.device = new(sync.Mutex)
		}
	}
	g, err := m.open(path)
	if err != nil {
		return nil, err
	}
	if kept != nil && kept.Hash == g.Hash {
		for _, l := range g.lanes() {
			if err := errors.Join(l.predictor.Recall(kept.Remembered)); err != nil {
				s.log.Warn("what the model remembered is learned again: " + err.Error())
			}
		}
	}
	if err := m.ready(ctx, g); err != nil {
		m.shut(g)
		return nil, err
	}
	m.start(g)
	m.current.Store(g)
	return m, nil
}

// open loads a checkpoint; its lanes do not run yet.
func (m *roster) open(path string) (*generation, error) {
	files, err := run.Checkpoints(path)
	if err != nil {
		return nil, err
	}
	if len(files) > 1 {
		return nil, fmt.Errorf("%s holds %d runs: choose one of its directories, such as %s", path, len(files),
			filepath.Dir(files[0]))
	}
	g := &generation{Checkpoint: files[0]}
	if g.Hash, err = atomicfile.Hash(files[0]); err != nil {
		return nil, err
	}
	o := m.server.options.Load
	o.Set, o.Live = m.server.options.Set, m.server.engine.past
	threads := cmp.Or(o.Threads, runtime.GOMAXPROCS(0))
	lanes := []**lane{&g.quick, &g.slow}
	if m.device != nil {
		lanes = lanes[:1] // there is nothing to be had from a second one
		m.device.Lock()
		defer m.device.Unlock()
	} else {
		o.Device = nil // each has threads of its own
	}
	for i, to := range lanes {
		if o.Device == nil {
			o.Threads = threads
			if i == 0 { // a pair is scored sooner by few, and events need a core too
				o.Threads = max(1, threads/2)
			}
		}
		p, err := predict.Load(files[0], o)
		if err != nil {
			m.shut(g)
			return nil, err
		}
		g.name = p.Model()
		*to = &lane{engine: m.server.engine, predictor: p}
	}
	if g.slow == nil {
		g.slow = g.quick
	}
	return g, nil
}

// ready lets a model that remembers learn of all that has happened, before anybody asks it.
func (m *roster) ready(ctx context.Context, g *generation) error {
	if m.device != nil {
		m.device.Lock()
		defer m.device.Unlock()
	}
	for _, l := range g.lanes() {
		p := l.predictor
		if err := p.Look(m.server.engine.now().Moment); err != nil {
			return err
		}
		began, told := time.Now(), time.Now()
		for left := 1; left > 0; {
			var err error
			if left, err = p.CatchUp(ctx, 8); err != nil {
				return err
			}
			if time.Since(told) > 5*time.Second {
				told = time.Now()
				m.server.log.Info("the model learns of what has happened", "events_left", left, "for",
					time.Since(began).Round(time.Second))
			}
		}
		if first, ok, err := p.Remembered(); err == nil && ok && l != g.slow { // the other one need not do it again
			if err := g.slow.predictor.Look(m.server.engine.now().Moment); err != nil {
				return err
			}
			if err := g.slow.predictor.Recall(first); err != nil {
				return err
			}
		}
	}
	return nil
}

// start lets the lanes run.
func (m *roster) start(g *generation) {
	m.count++
	g.Number, g.Since = m.count, time.Now()
	queue := m.server.options.Limits.Waiting
	quick := newLane(m.server.engine, g.quick.predictor, queue, m.device, m.server.metrics.pass)
	if g.slow == g.quick {
		g.quick, g.slow = quick, quick
		return
	}
	g.quick, g.slow = quick, newLane(m.server.engine, g.slow.predictor, queue, m.device, m.server.metrics.pass)
}

// lanes are those of a generation, each once.
func (g *generation) lanes() []*lane {
	var list []*lane
	for _, l := range []*lane{g.quick, g.slow} {
		if l != nil && (len(list) == 0 || list[0] != l) {
			list = append(list, l)
		}
	}
	return list
}

// ask lets the current model answer a job. If it is replaced meanwhile the next one does.
func (m *roster) ask(j *job) (*generation, error) {
	for {
		g := m.current.Load()
		l := g.quick
		if j.do != nil || !g.fresh(j) {
			l = g.slow
		}
		if err := l.ask(j); !errors.Is(err, errMoved) {
			return g, err
		}
		if g == m.current.Load() {
			return g, &refusal{status: 503, kind: "stopping", message: "the server is stopping", after: 1}
		}
	}
}

// fresh says whether a memory can answer from what it knows: a question about an earlier time makes it begin again,
// which takes long.
func (g *generation) fresh(j *job) bool {
	if !g.quick.predictor.Remembers() {
		return true
	}
	last := g.quick.engine.now().Moment.Last()
	for _, p := range j.pairs {
		if !p.now && p.time < last {
			return false
		}
	}
	return true
}

// replace lets another checkpoint answer from now on.
func (m *roster) replace(ctx context.Context, path string, learned bool) (*generation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g, err := m.open(path)
	if err != nil {
		return nil, err
	}
	g.Learned = learned
	if err := m.ready(ctx, g); err != nil {
		m.shut(g)
		return nil, err
	}
	m.start(g)
	old := m.current.Swap(g)
	if m.previous != nil {
		m.shut(m.previous)
	}
	m.previous = old
	m.server.log.Info("another model answers", "checkpoint", g.Checkpoint, "generation", g.Number)
	return g, nil
}

// files are the checkpoints of the model that answers and of the one before.
func (m *roster) files() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := []string{m.current.Load().Checkpoint}
	if m.previous != nil {
		list = append(list, m.previous.Checkpoint)
	}
	return list
}

// errNoPrevious says that there is nothing to go back to.
var errNoPrevious = errors.New("there is no model before this one")

// rollback lets the model before this one answer again; this one is then the one before it.
func (m *roster) rollback() (*generation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.previous == nil {
		return nil, errNoPrevious
	}
	m.previous = m.current.Swap(m.previous)
	g := m.current.Load()
	m.server.log.Info("the model before answers again", "checkpoint", g.Checkpoint, "generation", g.Number)
	return g, nil
}

// remembered is what the current model remembers, for a snapshot; nil if that is nothing.
func (m *roster) remembered() (*memory, error) {
	g := m.current.Load()
	if !g.quick.predictor.Remembers() {
		return nil, nil
	}
	kept := &memory{Hash: g.Hash}
	found := false
	err := g.quick.ask(&job{ctx: context.Background(), do: func(p *predict.Predictor, _ *asked) (err error) {
		kept.Remembered, found, err = p.Remembered()
		return err
	}})
	if err != nil || !found {
		return nil, err
	}
	return kept, nil
}

// close ends all lanes.
func (m *roster) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shut(m.current.Load())
	if m.previous != nil {
		m.shut(m.previous)
	}
}

// shut gives a generation's predictors back.
func (m *roster) shut(g *generation) {
	for _, l := range g.lanes() {
		var err error
		if l.quit == nil {
			err = l.predictor.Close()
		} else {
			err = l.close()
		}
		if err != nil {
			m.server.log.Warn("close a model: " + err.Error())
		}
	}
}

// moment is the time of a question: right after the latest event where none is given. Without events that is 0.
func (s *state) moment(at event.Time, now bool) event.Time {
	if !now {
		return at
	}
	if last := s.Moment.Last(); !math.IsInf(last, -1) {
		return math.Nextafter(last, math.Inf(1))
	}
	return 0
}
