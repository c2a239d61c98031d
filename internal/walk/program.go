package walk

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/dygmamba/dygmamba/event"
)

// program is what was recorded and is still to be computed. Vectors are cut by scale and coordinate, counts by what
// they are of: no part needs another's results.
type program struct {
	turns    []turn
	decays   []decay
	meetings []rowPair
	copies   []rowCopy
	roles    []roleOp
	tallies  [lists][]tallyOp // by the first bits of their keys, so that a thread reads its own alone
}

// lists is how many parts accounts of the table are cut into at most.
const (
	lists    = 1 << listBits
	listBits = 4
)

// turn is the events of an instant: up to where in the lists of decays and meetings.
type turn struct{ decays, meetings int }

type decay struct {
	row   []float32
	since event.Time
}

type rowPair struct {
	src, dst []float32
	same     bool
}

// rowCopy copies a row after some turns.
type rowCopy struct {
	turns    int
	from, to []float32
}

// roleOp adds to one of a node's accounts, or reads it if there is where to.
type roleOp struct {
	to    *account
	t     event.Time
	place int32
	role  uint8
}

const (
	roleAny = iota
	roleOut
	roleIn
)

// tallyOp adds to an account of the table, or reads it if there is where to.
type tallyOp struct {
	to *account
	t  event.Time
	key
}

func (p *program) add(k key, t event.Time) { p.tally(tallyOp{t: t, key: k}) }
func (p *program) read(k key, to *account) { p.tally(tallyOp{to: to, key: k}) }

func (p *program) tally(x tallyOp) {
	list := &p.tallies[x.hash>>(64-listBits)]
	*list = append(*list, x)
}

// counts says whether there is anything to be counted or read.
func (p *program) counts() bool {
	if len(p.roles) > 0 {
		return true
	}
	for i := range p.tallies {
		if len(p.tallies[i]) > 0 {
			return true
		}
	}
	return false
}

func (p *program) readRole(place int32, role uint8, to *account) {
	p.roles = append(p.roles, roleOp{to: to, place: place, role: role})
}

func (p *program) clear() {
	p.turns, p.decays, p.meetings, p.copies = p.turns[:0], p.decays[:0], p.meetings[:0], p.copies[:0]
	p.roles = p.roles[:0]
	for i := range p.tallies {
		p.tallies[i] = p.tallies[i][:0]
	}
}

// block is the least number of coordinates that a thread works on: those of a cache line.
const block = 16

// Run computes what was recorded, on at most this many threads.
func (s *State) Run(threads int) { runAll(threads, s) }

// runAll does so for several states at once; nil ones are left out.
func runAll(threads int, states ...*State) {
	var list [2 * 64]task
	tasks := list[:0]
	for _, s := range states {
		if s == nil {
			continue
		}
		n := min(threads, 64/len(states), max(1, len(s.program.turns)/16))
		if p := &s.program; len(p.turns)+len(p.copies) > 0 {
			units := Scales * ((s.options.Dim + block - 1) / block)
			parts := min(n, units)
			for i := range parts {
				tasks = append(tasks, task{s, true, i * units / parts, (i + 1) * units / parts})
			}
		}
		if s.program.counts() {
			parts := min(n, lists)
			for i := range parts {
				tasks = append(tasks, task{s, false, i, parts})
			}
		}
	}
	inParallel(threads, tasks)
	for _, s := range states {
		if s != nil {
			s.program.clear()
			s.settle()
		}
	}
}

// task is a part of a program: vectors of units lo to hi−1, or the lo-th of hi parts of the accounts.
type task struct {
	state   *State
	vectors bool
	lo, hi  int
}

func (t task) run() {
	if t.vectors {
		t.state.runVectors(t.lo, t.hi)
	} else {
		t.state.runCounts(uint64(t.lo), uint64(t.hi))
	}
}

func inParallel(threads int, tasks []task) {
	threads = min(threads, len(tasks))
	if threads <= 1 {
		for _, t := range tasks {
			t.run()
		}
		return
	}
	inThreads(threads, append([]task(nil), tasks...))
}

func inThreads(threads int, tasks []task) {
	var next atomic.Int32
	var done sync.WaitGroup
	work := func() {
		for i := int(next.Add(1)) - 1; i < len(tasks); i = int(next.Add(1)) - 1 {
			tasks[i].run()
		}
	}
	for range threads - 1 {
		done.Go(work)
	}
	work()
	done.Wait()
}

// cut is the coordinates of each scale that a task works on.
type cut [Scales][2]int

// cutOf is that of units lo to hi−1: blocks of coordinates, scale by scale.
func cutOf(dim, lo, hi int) (c cut) {
	blocks := (dim + block - 1) / block
	for s := range c {
		a, b := max(0, lo-s*blocks), min(blocks, hi-s*blocks)
		if a < b {
			c[s] = [2]int{a * block, min(dim, b*block)}
		}
	}
	return c
}

// runVectors computes the vectors' part of the program, turn by turn.
func (s *State) runVectors(lo, hi int) {
	p, d := &s.program, s.options.Dim
	c := cutOf(d, lo, hi)
	copied := s.copyRows(0, 0, lo == 0, &c)
	at := turn{}
	for i, t := range p.turns {
		for _, x := range p.decays[at.decays:t.decays] {
			s.runDecay(x, &c)
		}
		// The longest walks first: whatever is read has not been written yet.
		for level := Levels; level > 0; level-- {
			for _, m := range p.meetings[at.meetings:t.meetings] {
				extend(m.src, m.dst, level, d, &c)
				if !m.same {
					extend(m.dst, m.src, level, d, &c)
				}
			}
		}
		at = t
		copied = s.copyRows(copied, i+1, lo == 0, &c)
	}
}

// copyRows makes the copies that follow after some turns. H⁰ belongs to the first part.
func (s *State) copyRows(next, turns int, first bool, c *cut) int {
	list, d := s.program.copies, s.options.Dim
	for ; next < len(list) && list[next].turns == turns; next++ {
		x := &list[next]
		if first {
			copy(x.to[:d], x.from)
		}
		for s := range c {
			for l := 1; l <= Levels && c[s][1] > 0; l++ {
				lo, hi := (s*Levels+l)*d+c[s][0], (s*Levels+l)*d+c[s][1]
				copy(x.to[lo:hi], x.from[lo:hi])
			}
		}
	}
	return next
}

func (s *State) runDecay(x decay, c *cut) {
	d := s.options.Dim
	for s, rate := range s.rates {
		if c[s][1] == 0 {
			continue
		}
		once := math.Exp(-rate * x.since)
		factor := once
		for l := 1; l <= Levels; l++ {
			at := (s*Levels + l) * d
			scale(x.row[at+c[s][0]:at+c[s][1]], float32(factor))
			factor *= once
		}
	}
}

// extend adds the walks of level−1 steps from other to those of level steps from a node.
func extend(to, from []float32, level, d int, c *cut) {
	for s := range c {
		if c[s][1] == 0 {
			continue
		}
		at := (s*Levels + level) * d
		before := at - d
		if level == 1 {
			before = 0
		}
		add(to[at+c[s][0]:at+c[s][1]], from[before+c[s][0]:before+c[s][1]])
	}
}

// runCounts computes one of several parts of the accounts.
func (s *State) runCounts(part, parts uint64) {
	for i := range s.program.roles {
		x := &s.program.roles[i]
		if parts > 1 && uint64(x.place)>>3%parts != part {
			continue
		}
		n := s.node(x.place)
		a := [...]*account{&n.any, &n.out, &n.in}[x.role]
		if x.to != nil {
			*x.to = *a
		} else {
			a.add(x.t, &s.rates)
		}
	}
	for i := part; i < lists; i += parts {
		for list := s.program.tallies[i]; len(list) > 0; list = list[min(ahead, len(list)):] {
			s.tally(list[:min(ahead, len(list))])
		}
	}
}

// ahead is how many accounts are looked up at once: the processor waits for their memory together.
const ahead = 64

// tally computes a few accounts of one list.
func (s *State) tally(list []tallyOp) {
	touched := uint32(0)
	for i := range list {
		touched += s.counts[list[i].hash>>(64-shardBits)].touch(list[i].key)
	}
	for i := range list {
		x := &list[i]
		shard := &s.counts[x.hash>>(64-shardBits)]
		if x.to != nil {
			*x.to = shard.of(x.key)
		} else {
			shard.add(x.key, x.t, &s.rates)
		}
	}
	s.counts[list[0].hash>>(64-shardBits)].touched += touched // so that the compiler keeps it
}
