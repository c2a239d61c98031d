package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/atomicfile"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/run"
)

// modelSlots holds the current model and the previous one. A new model takes over between two requests; those that wait
// for the old one still get its answers.
type modelSlots struct {
	server  *Server
	current atomic.Pointer[generation]

	device *sync.Mutex // held while a GPU is used, which all generations share; nil: there is none

	mu       sync.Mutex // one change at a time; guards what follows
	previous *generation
	count    int
}

// generation is one checkpoint. On the CPU it is opened twice: the quick lane scores, the slow lane does what takes
// longer, so that no score waits for a ranking.
type generation struct {
	Number     int       `json:"number"` // from 1
	Checkpoint string    `json:"checkpoint"`
	Hash       string    `json:"sha256"`
	Since      time.Time `json:"since"`
	Learned    bool      `json:"learned,omitempty"` // by this server, from new events

	name        string
	epoch       *epoch // whose events it knows
	quick, slow *lane

	mu     sync.Mutex // guards what follows
	past   *historian // nil: nobody asked about the past of a model with memory yet
	closed bool
}

// newModelSlots opens the first model. If kept is its memory from a snapshot, it continues from there.
func newModelSlots(ctx context.Context, s *Server, path string, learned bool, kept *modelMemory) (*modelSlots, error) {
	m := &modelSlots{server: s}
	if dev := s.options.Load.Device; dev != nil {
		if _, cpu := dev.(device.Threaded); !cpu {
			m.device = new(sync.Mutex)
		}
	}
	g, err := m.load(ctx, s.engine.epoch.Load(), path, learned, kept)
	m.current.Store(g)
	return m, err
}

// load makes a checkpoint ready to be the current model of an epoch.
func (m *modelSlots) load(ctx context.Context, ep *epoch, path string, learned bool, kept *modelMemory) (*generation,
	error) {
	g, err := m.open(ep, path)
	if err != nil {
		return nil, err
	}
	if kept != nil && kept.Hash == g.Hash {
		for _, l := range g.lanes() {
			if !l.predictor.Remembers() { // what is derived belongs to the events that are known
				if err := l.predictor.Look(ep.now().PastView); err != nil {
					m.shut(g)
					return nil, err
				}
			}
			if err := l.predictor.Recall(kept.Remembered); err != nil {
				m.server.log.Warn("the model's memory is built again from all events: " + err.Error())
			}
		}
	}
	if err := m.ready(ctx, g); err != nil {
		m.shut(g)
		return nil, err
	}
	m.count++
	g.Number, g.Since, g.Learned = m.count, time.Now(), learned
	for _, l := range g.lanes() {
		l.running = true
		go l.run()
	}
	return g, nil
}

// open loads a checkpoint. Its lanes do not run yet.
func (m *modelSlots) open(ep *epoch, path string) (*generation, error) {
	files, err := run.Checkpoints(path)
	if err != nil {
		return nil, err
	}
	if len(files) > 1 {
		return nil, fmt.Errorf("%s holds %d runs: choose one of its directories, such as %s", path, len(files),
			filepath.Dir(files[0]))
	}
	g := &generation{Checkpoint: files[0], epoch: ep}
	if g.Hash, err = atomicfile.Hash(files[0]); err != nil {
		return nil, err
	}
	defer hold(m.device)()
	threads := cmp.Or(m.server.options.Load.Threads, runtime.GOMAXPROCS(0))
	if m.device != nil {
		g.quick, err = m.loadLane(g, threads) // a second one would only wait for the first
		g.slow = g.quick
		return g, err
	}
	if g.quick, err = m.loadLane(g, max(1, threads/2)); err != nil { // one pair needs few, and events need a core too
		return nil, err
	}
	if g.slow, err = m.loadLane(g, threads); err != nil {
		m.shut(g)
	}
	return g, err
}

// loadLane opens the checkpoint of a generation once more. Its lane does not run yet.
func (m *modelSlots) loadLane(g *generation, threads int) (*lane, error) {
	o := m.server.options.Load
	o.Set, o.Live, o.Names = m.server.options.Set, g.epoch.past, g.epoch.names
	o.Shared = &g.epoch.shared
	if m.device == nil {
		o.Device, o.Threads = nil, threads
	}
	p, err := predict.Load(g.Checkpoint, o)
	var c *predict.Chooser
	if errors.Is(err, predict.ErrNext) {
		if c, err = predict.LoadChooser(g.Checkpoint, o); err == nil {
			p = c.Base()
		}
	}
	if err != nil {
		return nil, err
	}
	if g.name == "" { // others may read it while a further lane is opened
		g.name = p.Model()
	}
	l := newLane(m.server, g.epoch, p, m.device)
	if l.chooser = c; c != nil {
		l.follows = nil // its counts follow the latest state
	}
	return l, nil
}

// ready builds a model's memory from all events, before it gets its first request.
func (m *modelSlots) ready(ctx context.Context, g *generation) error {
	defer hold(m.device)()
	lanes := g.lanes()
	if lanes[0].follows != nil {
		slices.Reverse(lanes) // the slow one has more threads, and what it derives is that of both
	}
	for _, l := range lanes {
		if err := l.model().Look(g.epoch.now().PastView); err != nil {
			return err
		}
		began, told := time.Now(), time.Now()
		for left := 1; left > 0; {
			var err error
			if left, err = l.model().CatchUp(ctx, 8); err != nil {
				return err
			}
			m.server.tell(fmt.Sprintf("building the model's memory: %d events left", left))
			if time.Since(told) > 5*time.Second {
				told = time.Now()
				m.server.log.Info("building the model's memory", "events_left", left, "seconds",
					time.Since(began).Seconds())
			}
		}
		if first, ok, err := l.predictor.Remembered(); err == nil && ok && l != g.slow { // the other lane copies it
			if err := g.slow.model().Look(g.epoch.now().PastView); err != nil {
				return err
			}
			if err := g.slow.predictor.Recall(first); err != nil {
				return err
			}
		}
	}
	return nil
}

// lanes are the different lanes of a generation.
func (g *generation) lanes() []*lane {
	list := slices.Compact([]*lane{g.quick, g.slow})
	return slices.DeleteFunc(list, func(l *lane) bool { return l == nil })
}

// ask lets the current model answer a job, or the next one if it is replaced before that.
func (m *modelSlots) ask(j *job) error {
	for {
		g := m.current.Load()
		l := g.quick
		if j.do != nil || j.choose != nil && !g.present(j) {
			l = g.slow
		}
		err := l.ask(j)
		if errors.Is(err, errPast) {
			var h *historian
			if h, err = m.historian(g); err == nil {
				err = h.ask(j)
			}
		}
		if !errors.Is(err, errMoved) {
			return err
		}
		if g == m.current.Load() {
			return fail("stopping", "the server is stopping")
		}
	}
}

// present says whether a job for a model of the task "next" asks about no earlier time, for which it would count all
// events again.
func (g *generation) present(j *job) bool {
	last := g.epoch.now().PastView.Last()
	return !slices.ContainsFunc(j.pairs, func(p pair) bool { return !p.now && p.time < last })
}

func (m *modelSlots) replace(ctx context.Context, path string, learned bool) (*generation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.server.leaving, cancel)()
	g, err := m.load(ctx, m.server.engine.epoch.Load(), path, learned, nil)
	if m.server.leaving.Err() != nil {
		if err == nil {
			m.shut(g)
		}
		return nil, errors.New("the server stops")
	}
	if err != nil {
		return nil, err
	}
	old := m.current.Swap(g)
	m.shut(m.previous)
	m.previous = old
	m.server.log.Info("loaded another model", "checkpoint", g.Checkpoint, "generation", g.Number)
	return g, nil
}

// files are the checkpoints of the current and the previous model.
func (m *modelSlots) files() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := []string{m.current.Load().Checkpoint}
	if m.previous != nil {
		list = append(list, m.previous.Checkpoint)
	}
	return list
}

// rollback makes the previous model the current one, and the other way round.
func (m *modelSlots) rollback() (*generation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.previous == nil {
		return nil, fail("conflict", "there is no previous model to go back to")
	}
	m.previous = m.current.Swap(m.previous)
	g := m.current.Load()
	m.server.log.Info("went back to the previous model", "checkpoint", g.Checkpoint, "generation", g.Number)
	return g, nil
}

// memory is the memory of the current model, for a snapshot, or what it derives from the events; nil if it has none.
func (m *modelSlots) memory() (*modelMemory, error) {
	g := m.current.Load()
	switch {
	case g.quick.predictor.Derived() != nil && !g.quick.predictor.Remembers():
		return m.derived(g)
	case !g.quick.predictor.Remembers():
		return nil, nil
	}
	kept := &modelMemory{Hash: g.Hash}
	found := false
	job := &job{ctx: context.Background(), own: true}
	job.do = func(p *predict.Predictor, _ *resolver) (err error) {
		kept.Remembered, found, err = p.Remembered()
		return err
	}
	err := g.quick.ask(job)
	if err != nil || !found {
		return nil, err
	}
	return kept, nil
}

// derived is what a model derives from the events. Questions wait only until its pages are shared, not for the bytes.
func (m *modelSlots) derived(g *generation) (*modelMemory, error) {
	var d predict.Derived
	found := false
	job := &job{ctx: context.Background(), own: true}
	job.do = func(p *predict.Predictor, _ *resolver) error {
		d, found = p.SaveDerived()
		return nil
	}
	if err := g.quick.ask(job); err != nil || !found {
		return nil, err
	}
	return &modelMemory{g.Hash, predict.Remembered{Events: d.Events, State: d.Parts()}}, nil
}

func (m *modelSlots) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shut(m.current.Load())
	m.shut(m.previous)
}

// shut closes the predictors of a generation, which may be nil.
func (m *modelSlots) shut(g *generation) {
	if g == nil {
		return
	}
	g.mu.Lock()
	g.closed = true
	lanes := g.lanes()
	if g.past != nil {
		lanes = append(lanes, g.past.lane)
	}
	g.mu.Unlock()
	for _, l := range lanes {
		if err := l.close(); err != nil {
			m.server.log.Warn("close a model: " + err.Error())
		}
	}
}

// queryTime is the time of a query. Now is right after the latest event, or 0 if there is none.
func (s *state) queryTime(p pair) event.Time {
	if !p.now {
		return p.time
	}
	if last := s.PastView.Last(); !math.IsInf(last, -1) {
		return math.Nextafter(last, math.Inf(1))
	}
	return 0
}
