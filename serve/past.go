package serve

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
)

// errPast says that a lane would have to go back in time for a job, which the historian does instead.
var errPast = errors.New("a question about the past")

// historian answers questions about the past of a model with memory, beside the lanes that answer about the present. It
// owns a predictor of its own, which replays events up to the time that is asked about. It keeps what it has replayed
// when the time of a request ends, and refuses at once what cannot be answered in time; the replay then goes on without
// the request.
type historian struct {
	*lane
	rate   float64   // events replayed a second; 0: not measured yet
	target *moment   // replayed for a request that was refused
	held   time.Time // until then the target, once it is reached, is kept for the request to come again
}

// moment is a time that is replayed for.
type moment struct {
	at   event.Time
	left int // events
}

const (
	replayUnits = 8                // of one step of a replay
	holdFor     = 30 * time.Second // a target that was reached
	pastMarks   = 256 << 20        // bytes of memory states to go back to
)

func newHistorian(l *lane) *historian {
	l.historic = true
	return &historian{lane: l}
}

// run answers jobs until the lane is closed, and replays while there are none.
func (h *historian) run() {
	defer close(h.gone)
	for {
		var idle <-chan time.Time
		if h.target != nil && h.target.left > 0 {
			now := make(chan time.Time)
			close(now)
			idle = now
		}
		select {
		case j := <-h.jobs:
			h.handle(j)
			continue
		case <-h.quit:
			if len(h.jobs) == 0 {
				return
			}
			h.handle(<-h.jobs)
			continue
		case <-idle:
		}
		h.step(h.target)
	}
}

// step replays a little towards a moment.
func (h *historian) step(m *moment) {
	defer hold(h.device)()
	began, was := time.Now(), m.left
	left, err := h.predictor.Replay(context.Background(), m.at, replayUnits)
	if err != nil {
		h.target = nil // the next request gets the error
		return
	}
	m.left = left
	if done := was - left; done > 0 {
		rate := float64(done) / max(time.Since(began).Seconds(), 1e-9)
		if h.rate > 0 {
			rate = 0.8*h.rate + 0.2*rate
		}
		h.rate = rate
	}
	if left == 0 {
		h.held = time.Now().Add(holdFor)
	}
}

func (h *historian) handle(j *job) {
	if err := h.refuse(j); err != nil {
		j.err = err
		close(j.done)
		return
	}
	if h.target != nil && h.target.left == 0 {
		h.target = nil // this request, or another that goes on from there, has come
	}
	first, _ := h.span(j, h.epoch.now())
	h.answer(j)
	if j.ctx.Err() != nil && h.target == nil {
		h.aim(first)
	}
}

// refuse says why a job cannot be answered in time, nil if it can.
func (h *historian) refuse(j *job) error {
	if err := j.ctx.Err(); err != nil {
		return err
	}
	at, err := h.look()
	if err != nil {
		return err
	}
	first, last := h.span(j, at.state)
	behind, back := h.predictor.Behind(first, last)
	if h.target != nil && back && (h.target.left > 0 || time.Now().Before(h.held)) {
		e := fail("replaying", "the server replays the past for another question, %d events are left", h.target.left)
		e.after = h.seconds(h.target.left)
		return e
	}
	if h.rate == 0 && behind > 0 {
		h.step(&moment{first, behind})
		behind, _ = h.predictor.Behind(first, last)
	}
	until, limited := j.ctx.Deadline()
	if !limited || h.rate == 0 || float64(behind)/h.rate < 0.8*time.Until(until).Seconds() {
		return nil
	}
	if h.target == nil || back {
		h.aim(first)
	}
	e := fail("replaying", "this needs a replay of %d events, about %d s; it has begun, ask again then", behind,
		h.seconds(behind))
	e.after = h.seconds(behind)
	return e
}

// aim lets the replay go on to a moment without a request.
func (h *historian) aim(at event.Time) {
	left, _ := h.predictor.Behind(at, at)
	h.target = &moment{at, left}
}

// seconds is how long a replay takes, at least 1.
func (h *historian) seconds(events int) int {
	if h.rate == 0 {
		return 1
	}
	return max(1, int(math.Ceil(float64(events)/h.rate)))
}

// span is the earliest and the latest time that a job asks about.
func (h *historian) span(j *job, at *state) (first, last event.Time) {
	first, last = math.Inf(1), math.Inf(-1)
	for _, p := range j.pairs {
		t := at.queryTime(p)
		first, last = min(first, t), max(last, t)
	}
	return first, last
}

// goesBack says whether a predictor would have to go back in time for a job.
func goesBack(p *predict.Predictor, j *job) bool {
	if !p.Remembers() || p.Spec().Order == protocol.Arrival {
		return false
	}
	reached := p.Reached()
	for _, q := range j.pairs {
		if !q.now && q.time <= reached {
			return true
		}
	}
	return false
}

// historian is that of a generation, which is opened when it is first needed.
func (m *modelSlots) historian(g *generation) (*historian, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return nil, errMoved
	case g.past != nil:
		return g.past, nil
	}
	l, err := m.loadLane(g, 1) // one thread: the present goes first
	if err != nil {
		return nil, err
	}
	if err := l.predictor.Look(g.epoch.now().PastView); err != nil {
		l.close()
		return nil, err
	}
	l.predictor.KeepMarks(pastMarks)
	l.running = true
	g.past = newHistorian(l)
	go g.past.run()
	return g.past, nil
}
