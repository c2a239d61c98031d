package serve

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/eventlog"
)

// Retention says for how long events are kept.
type Retention struct {
	Period float64 // in the unit of times; 0: for ever

	manual bool // a test moves the cut itself
}

// retainSteps is the number of steps in which the cut moves by a whole period.
const retainSteps = 10

// retainer drops events that are older than the period. Between two moves of the cut the server is one whose data begin
// at the cut. A move is a rebuild.
type retainer struct {
	Retention
	server *Server
	step   float64
	left   event.Time // how far the last move left the cut behind, while it is due; only who moves it uses it

	mu     sync.Mutex // guards what follows
	moving bool
	last   retentionDoc
}

// retentionDoc is the retention in the status.
type retentionDoc struct {
	Period  float64     `json:"period"`            // in the unit of times
	Step    float64     `json:"step"`              // by which the cut moves, at most
	Cut     *event.Time `json:"cut"`               // events before it are not known; null: none was dropped
	Moving  bool        `json:"moving"`            // a later cut is being prepared
	Moved   *time.Time  `json:"moved,omitempty"`   // when the cut last moved
	Dropped int         `json:"dropped,omitempty"` // events then
	Seconds float64     `json:"seconds,omitempty"` // that it took
}

func newRetainer(s *Server, r Retention) *retainer {
	return &retainer{Retention: r, server: s, step: r.Period / retainSteps, left: math.Inf(1)}
}

// target is the cut that belongs to a latest event. Where times are dates or Unix times, an event of the future does
// not count.
func (k *retainer) target(latest event.Time) event.Time {
	if clock := k.server.options.Set.Clock(); clock.Known() {
		latest = min(latest, float64(time.Now().Unix())*clock.Second())
	}
	return math.Floor((latest-k.Period)/k.step) * k.step
}

// start is the cut to start with: at least cut, and what belongs to the latest event that is known.
func (k *retainer) start(cut, latest event.Time) event.Time {
	if k.Period <= 0 {
		return cut
	}
	return max(cut, k.target(latest))
}

// next is the next cut, at most a step later than the present one, or than the oldest event; false: it stays. Where
// time goes on by more than a step while a cut is prepared, the next one is where it belongs: otherwise more and more
// events would be kept, and every move would take longer.
func (k *retainer) next() (event.Time, bool) {
	at := k.server.engine.now()
	want := k.target(at.PastView.Last())
	if math.IsNaN(want) || want <= at.epoch.cut {
		k.left = math.Inf(1)
		return 0, false
	}
	oldest := math.Inf(1)
	for _, t := range at.Events().Time {
		oldest = min(oldest, t)
	}
	from := max(at.epoch.cut, math.Floor(oldest/k.step)*k.step)
	cut, before := min(want, from+k.step), k.left
	if want-cut >= before {
		cut = want
	}
	if k.left = want - cut; k.left == 0 {
		k.left = math.Inf(1)
	}
	return cut, true
}

// catchUp says which cut is due while a server reads the log at its start. A log may have many times the events of a
// period: they are dropped on the way, whenever those that are known have doubled, and not by many moves afterwards.
func (k *retainer) catchUp() func(*state) (event.Time, bool) {
	const least = 1 << 16
	enough := max(least, 2*k.server.engine.now().Len())
	return func(at *state) (event.Time, bool) {
		if at.Len() < enough {
			return 0, false
		}
		want := k.target(at.PastView.Last())
		left := 0
		for _, t := range at.Events().Time {
			if t >= want {
				left++
			}
		}
		enough = max(least, k.server.options.Set.Log.Len()/4, 2*left)
		return want, want > at.epoch.cut && left < at.Len()
	}
}

// caughtUp moves the cut to where it belongs after the log was read, if that is more than the one step that is made in
// the background.
func (k *retainer) caughtUp() {
	e := k.server.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	e.due = nil
	if cut, due := k.next(); due && cut < k.target(e.now().PastView.Last()) {
		e.cutAt(k.target(e.now().PastView.Last()))
	}
}

// watch moves the cut whenever it is due, until ctx ends.
func (k *retainer) watch(ctx context.Context) {
	if k.Period <= 0 || k.manual {
		return
	}
	for pause := time.Duration(0); sleep(ctx, pause); {
		cut, due := k.next()
		if pause = time.Second; !due {
			continue
		}
		err := k.fits()
		if err == nil {
			err = k.move(ctx, cut)
			k.server.room.collected() // the state before the move is not in use any more
		}
		if err == nil {
			pause = 0
		} else if ctx.Err() == nil {
			k.server.log.Error("could not drop old events: " + err.Error())
			pause = time.Minute
		}
	}
}

// fits says why a later cut cannot be prepared beside the present state, nil if it can. A start needs no such room.
func (k *retainer) fits() error {
	u := k.server.room.collected()
	if u.limit > 0 && float64(u.live) > maxMoved*float64(u.limit) {
		return fmt.Errorf("%d MiB of the memory limit of %d MiB are in use, and this needs as much again; restart the "+
			"server, with a shorter --retain or more memory", u.live>>20, u.limit>>20)
	}
	return nil
}

// resting says that old events are to be dropped, and none are being dropped now.
func (k *retainer) resting() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.Period > 0 && !k.moving
}

// move makes the server one whose data begin at a cut.
func (k *retainer) move(ctx context.Context, cut event.Time) error {
	k.note(func() { k.moving = true })
	defer k.note(func() { k.moving = false })
	s, began := k.server, time.Now()
	dropped, err := s.rebuild(ctx, func(which selection) (selection, error) {
		which.cut = cut
		return which, nil
	})
	if err != nil {
		return err
	}
	k.note(func() {
		now := time.Now().UTC()
		k.last = retentionDoc{Moved: &now, Dropped: dropped, Seconds: time.Since(began).Seconds()}
	})
	s.log.Info("dropped old events", "before", s.options.Set.Clock().Write(cut), "events", dropped,
		"seconds", time.Since(began).Seconds())
	return s.trim(ctx, cut)
}

func (k *retainer) note(do func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	do()
}

func (k *retainer) doc() *retentionDoc {
	if k.Period <= 0 {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	doc := k.last
	doc.Period, doc.Step, doc.Moving = k.Period, k.step, k.moving
	if cut := k.server.engine.epoch.Load().cut; !math.IsInf(cut, -1) {
		doc.Cut = &cut
	}
	return &doc
}

// trim writes a snapshot and then removes what is before the cut from the log, if the log can do that.
func (s *Server) trim(ctx context.Context, cut event.Time) error {
	log, ok := s.options.Log.(eventlog.Trimmer)
	if s.snapshotter.File == "" || !ok {
		return nil
	}
	if err := s.snapshotter.write(); err != nil {
		return err
	}
	return log.Trim(ctx, cut, s.snapshotter.reached())
}

// logBegin is after which sequence the log begins, and the cut that it was trimmed with.
func (s *Server) logBegin() (after uint64, cut event.Time) {
	if log, ok := s.options.Log.(eventlog.Trimmer); ok {
		return log.Begin()
	}
	return 0, math.Inf(-1)
}
