package servebench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/dygmamba/dygmamba/client"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/eventlog/embedded"
	"github.com/dygmamba/dygmamba/serve"
)

// Disturbed says what happens to a server while its answers are verified.
type Disturbed struct {
	Verification
	Retain float64 // period for which events are kept, in the unit of times; 0: a quarter of the whole time
	Checks int     // how often answers are compared; 0: 12
	Dir    string  // of the store; it must not exist
}

// Disturbances are what happened to a server that was verified.
type Disturbances struct {
	Checks   int     `json:"checks"`
	Late     int     `json:"late_events"`
	NewNodes int     `json:"new_nodes"`
	Restarts int     `json:"restarts"` // every second one without a snapshot
	Reloads  int     `json:"reloads"`
	Cuts     int     `json:"cuts"`    // different ones that were seen
	Dropped  int     `json:"dropped"` // events that were too old at the end
	Retain   float64 `json:"retain"`
}

// questionsPerCheck is how many pairs are asked about at each comparison.
const questionsPerCheck = 200

// VerifyDisturbed replays the last part of a data set through a real server with a store: with late events, new nodes,
// restarts with and without a snapshot, reloads, and old events that are dropped. Now and then it compares the server's
// answers with those of the library, which gets the events that came so far, in the same order, from the cut on.
func VerifyDisturbed(ctx context.Context, v Disturbed) (verdict Verdict, err error) {
	log := v.Set.Log
	if !log.Sorted() || v.From < 1 || v.From >= log.Len() {
		return verdict, fmt.Errorf("verify: want events in the order of time and between 1 and %d of them to start "+
			"with, not %d", log.Len()-1, v.From)
	}
	if v.Retain == 0 {
		v.Retain = (log.At(log.Len()-1).Time - log.At(0).Time) / 4
	}
	if v.Checks == 0 {
		v.Checks = 12
	}
	began := time.Now()
	d := &disturbed{Disturbed: v, cut: math.Inf(-1), verdict: Verdict{Events: v.From, Replayed: log.Len() - v.From,
		Disturbed: &Disturbances{Retain: v.Retain}}}
	if err := d.run(ctx); err != nil {
		return d.verdict, fmt.Errorf("verify: %w", errors.Join(err, d.stop()))
	}
	d.verdict.Seconds = time.Since(began).Seconds()
	return d.verdict, d.stop()
}

type disturbed struct {
	Disturbed
	verdict Verdict
	order   []int // numbers of the events that come, in the order in which they come
	server  *running
	log     *embedded.Log
	client  *client.Client
	cut     float64
}

func (d *disturbed) run(ctx context.Context) error {
	d.order = d.arrivals()
	if err := d.start(ctx); err != nil {
		return err
	}
	done := 0
	for check := range d.Checks {
		upTo := len(d.order) * (check + 1) / d.Checks
		for some := range slices.Chunk(d.order[done:upTo], 100) {
			if _, err := d.client.Ingest(ctx, d.wire(some)); err != nil {
				return err
			}
		}
		done = upTo
		if err := d.disturb(ctx, check); err != nil {
			return err
		}
		if err := d.compare(ctx, done, check); err != nil {
			return err
		}
		if d.OnEvent != nil {
			d.OnEvent(done, len(d.order))
		}
	}
	return nil
}

// arrivals is the order in which events come: of every fifty, one comes up to 150 events later.
func (d *disturbed) arrivals() (order []int) {
	rng := rand.New(rand.NewPCG(28, 1))
	late := map[int][]int{} // by the event after which they come
	n := d.Set.Log.Len()
	for i := d.From; i < n; i++ {
		if rng.IntN(50) == 0 && i+1 < n {
			after := min(n-1, i+1+rng.IntN(150))
			late[after] = append(late[after], i)
			d.verdict.Disturbed.Late++
		} else {
			order = append(order, i)
		}
		order = append(order, late[i]...)
	}
	return order
}

// start opens the store and starts a server of the first events.
func (d *disturbed) start(ctx context.Context) (err error) {
	if d.log, err = embedded.Open(d.Dir, embedded.Options{}); err != nil {
		return err
	}
	d.server, err = start(ctx, serve.Options{Set: d.Set.First(d.From), Checkpoint: d.Checkpoint, Load: d.Load,
		Log: d.log, Durable: true, Retain: serve.Retention{Period: d.Retain},
		Snapshots: serve.Snapshots{File: d.snapshot(), Every: max(1, len(d.order)/7)}})
	if err != nil {
		return err
	}
	d.client = client.New(d.server.port.URL())
	return nil
}

func (d *disturbed) snapshot() string { return filepath.Join(d.Dir, "snapshot") }

func (d *disturbed) stop() (err error) {
	if d.server != nil {
		err = d.server.stop()
		d.server = nil
	}
	if d.log != nil {
		err = errors.Join(err, d.log.Close())
		d.log = nil
	}
	return err
}

// disturb restarts the server or loads its model again: before most comparisons one of both.
func (d *disturbed) disturb(ctx context.Context, check int) error {
	told := d.verdict.Disturbed
	switch check % 4 {
	case 1, 3:
		if err := d.stop(); err != nil {
			return err
		}
		if check%4 == 3 {
			if err := os.Remove(d.snapshot()); err != nil {
				return err
			}
		}
		told.Restarts++
		return d.start(ctx)
	case 2:
		told.Reloads++
		return d.client.Reload(ctx, "")
	}
	return nil
}

// wire is events as a client sends them.
func (d *disturbed) wire(numbers []int) (list []client.Event) {
	name := d.Set.Names.Name
	for _, i := range numbers {
		one := d.Set.Log.At(i)
		e := client.Event{Src: name(one.Src), Dst: name(one.Dst), Time: one.Time, Label: float64(one.Label),
			Features: d.Set.Edge.Row(int(one.Edge))}
		if len(d.Set.Kinds) > 0 {
			e.Kind = d.Set.KindName(one.Kind)
		}
		list = append(list, e)
	}
	return list
}

// settled waits until the cut is the one that belongs to the latest event, and returns it.
func (d *disturbed) settled(ctx context.Context, latest float64) (float64, error) {
	step := d.Retain / 10
	d.cut = max(d.cut, math.Floor((latest-d.Retain)/step)*step)
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		s, err := d.client.Status(ctx)
		if err != nil {
			return 0, err
		}
		r := s.Retention
		if r != nil && r.Cut != nil && *r.Cut == d.cut && !r.Moving {
			return d.cut, nil
		}
		if time.Since(began) > 10*time.Minute {
			return 0, fmt.Errorf("the cut is not at %v after 10 minutes: %+v", d.cut, r)
		}
	}
}

// known is what the server should know once some events came: those from the cut on, in the order in which they came.
func (d *disturbed) known(came int, cut float64) (*event.Log, error) {
	log := event.NewLog(0)
	add := func(i int) error {
		e := d.Set.Log.At(i)
		if e.Time < cut {
			return nil
		}
		_, err := log.Append(e)
		return err
	}
	for i := range d.From {
		if err := add(i); err != nil {
			return nil, err
		}
	}
	for _, i := range d.order[:came] {
		if err := add(i); err != nil {
			return nil, err
		}
	}
	d.verdict.Disturbed.Dropped = d.From + came - log.Len()
	return log, nil
}

// compare asks the server and the library the same.
func (d *disturbed) compare(ctx context.Context, came, check int) error {
	latest := 0.0
	for _, i := range d.order[:came] {
		latest = max(latest, d.Set.Log.At(i).Time)
	}
	latest = max(latest, d.Set.Log.At(d.From-1).Time)
	before := d.cut
	cut, err := d.settled(ctx, latest)
	if err != nil {
		return err
	}
	told := d.verdict.Disturbed
	if told.Checks++; check == 0 || cut != before {
		told.Cuts++
	}
	log, err := d.known(came, cut)
	if err != nil {
		return err
	}
	qs := d.pairs(log, latest, uint64(check))
	want, err := d.library(ctx, log, qs)
	if err != nil {
		return fmt.Errorf("offline: %w", err)
	}
	if s, err := d.client.Status(ctx); err != nil || s.Events != log.Len() || s.Last != uint64(came) {
		return fmt.Errorf("the server knows %d events up to sequence %d, want %d up to %d: %w", s.Events, s.Last,
			log.Len(), came, err)
	}
	size := questionsPerCheck
	if len(d.verdict.Depends) > 0 {
		size = 2
	}
	for lo := 0; lo < len(qs); lo += size {
		var asked []client.Query
		for _, q := range qs[lo : lo+size] {
			asked = append(asked, client.At(d.Set.Names.Name(q.Src), d.Set.Names.Name(q.Dst), q.Time))
		}
		got, err := d.client.ScoreWithin(ctx, d.verdict.within, uint64(came), asked...)
		if err != nil {
			return err
		}
		for k, score := range got.Scores {
			d.verdict.note(qs[lo+k], served(score), want[lo+k])
		}
	}
	return nil
}
