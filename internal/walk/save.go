package walk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/dygmamba/dygmamba/event"
)

// Saved is the present states of a past as bytes, so that another process goes on from there with the same events and
// options. It follows from the events, as the states do: whoever has lost it makes them again.
type Saved struct {
	Events int               // of the log, the first, whose states these are
	Parts  map[string][]byte // see docs/FORMATS.md
}

// saveVersion is that of the layout of the parts.
const saveVersion = 1

// errSaved says that a saved state is not what it should be.
var errSaved = errors.New("saved state of walks")

// savedBack is how many events before the end the states are that are saved, where some are kept: the next events may
// be a little late, or of the same instant as the last one.
const savedBack = 1 << 13

// Save is the states as they are, or were some events ago. Bytes are made by the function that it returns, which
// another goroutine may call later.
func (p *Past) Save() (events int, bytes func() Saved) {
	s, events := p.snapshot(), p.order.n
	for i := len(p.recent) - 1; i >= 0 && p.next-s.next < savedBack; i-- {
		s = p.recent[i]
	}
	s.lend()
	head := binary.LittleEndian.AppendUint32(nil, saveVersion)
	for _, x := range append(p.options.print(), uint64(events), uint64(s.next), uint64(s.soonAt),
		uint64(s.now.number)) {
		head = binary.LittleEndian.AppendUint64(head, x)
	}
	return events, func() Saved {
		saved := Saved{Events: events, Parts: map[string][]byte{"head": head}}
		s.now.state.save("now/", saved.Parts)
		if s.soon.state != nil {
			s.soon.state.save("soon/", saved.Parts)
		}
		return saved
	}
}

// print is what tells options apart, without who nodes are.
func (o Options) print() []uint64 {
	follow := uint64(0)
	if o.Follow {
		follow = 1
	}
	l := o.limits()
	return []uint64{uint64(o.Dim), o.Seed, math.Float64bits(o.span()), follow, uint64(l.nodes), uint64(l.slots),
		uint64(l.warmUp)}
}

// Recall makes saved states those of a past that was not asked yet. The past is as it was if they do not fit.
func (p *Past) Recall(saved Saved) error {
	head, want := saved.Parts["head"], p.options.print()
	if len(head) != 4+8*(len(want)+4) || binary.LittleEndian.Uint32(head) != saveVersion {
		return fmt.Errorf("%w: its head has %d bytes, or is of another version than %d", errSaved, len(head),
			saveVersion)
	}
	numbers := make([]uint64, len(want)+4)
	for i := range numbers {
		numbers[i] = binary.LittleEndian.Uint64(head[4+8*i:])
	}
	for i, x := range want {
		if numbers[i] != x {
			return fmt.Errorf("%w: option %d is %d, the model has %d", errSaved, i, numbers[i], x)
		}
	}
	numbers = numbers[len(want):]
	if all := uint64(p.log.Len()); saved.Events < 1 || numbers[0] != uint64(saved.Events) || numbers[0] > all ||
		numbers[1] > numbers[0] || numbers[2] > numbers[0] {
		return fmt.Errorf("%w: of %d events, of which it has gone through %d; there are %d", errSaved, numbers[0],
			numbers[1], all)
	}
	if p.order.n > 0 {
		return fmt.Errorf("%w: the past has been asked already", errSaved)
	}
	fresh := *p
	fresh.places = &places{newOrder(), newSources()}
	fresh.takeFirst(saved.Events)
	fresh.next, fresh.begins = int(numbers[1]), -1
	number := int(min(numbers[3], math.MaxInt32))
	if number > fresh.number(fresh.next) || number+1 < fresh.number(fresh.next) {
		return fmt.Errorf("%w: segment %d for event %d", errSaved, number, fresh.next)
	}
	now, err := p.options.load("now/", saved.Parts)
	if err != nil {
		return err
	}
	fresh.now, fresh.soon, fresh.soonAt = segment{number, now}, segment{}, 0
	if saved.Parts["soon/nodes"] != nil {
		soon, err := p.options.load("soon/", saved.Parts)
		if err != nil {
			return err
		}
		fresh.soon, fresh.soonAt = segment{number + 1, soon}, int(numbers[2])
	}
	*p.places = *fresh.places
	fresh.places = p.places
	if *p = fresh; p.Live {
		p.recent = []snapshot{p.snapshot()}
	}
	return nil
}

const (
	savedAccount = 8 + 4 + 4*Scales
	savedNode    = 8 + 2*4 + 2*8 + 8 + 3*savedAccount + 4
	savedEntry   = 8 + 4 + savedAccount
)

// save writes a state that nobody writes to: nodes and rows by place, places that are free, and the accounts that are
// not empty, shard by shard.
func (s *State) save(name string, parts map[string][]byte) {
	le := binary.LittleEndian
	nodes := make([]byte, 0, s.places*savedNode)
	rows := make([]byte, 0, 4*s.places*s.options.Width())
	for i := range int32(s.places) {
		n := s.node(i)
		nodes = le.AppendUint64(nodes, n.key)
		for k := range n.latest.ids {
			nodes = le.AppendUint32(nodes, uint32(n.latest.ids[k]))
		}
		for k := range n.latest.keys {
			nodes = le.AppendUint64(nodes, n.latest.keys[k])
		}
		nodes = le.AppendUint64(nodes, math.Float64bits(n.at))
		nodes = n.in.save(n.out.save(n.any.save(nodes)))
		nodes = le.AppendUint32(nodes, uint32(n.id))
		for _, x := range s.rows.at(i) {
			rows = le.AppendUint32(rows, math.Float32bits(x))
		}
	}
	free := make([]byte, 0, 4*s.frees)
	for k := range int32(s.frees) {
		free = le.AppendUint32(free, uint32(s.free.at(k)[0]))
	}
	used := 0
	for i := range s.counts {
		used += s.counts[i].used
	}
	counts := make([]byte, 0, used*savedEntry+shards*8)
	for i := range s.counts {
		shard := &s.counts[i]
		counts = le.AppendUint32(le.AppendUint32(counts, uint32(shard.size)), uint32(shard.used))
		shard.slots.all(func(page []entry) {
			for k := range page {
				if e := &page[k]; e.count > 0 {
					counts = e.account.save(le.AppendUint32(le.AppendUint64(counts, e.hash), e.check))
				}
			}
		})
	}
	parts[name+"nodes"], parts[name+"rows"], parts[name+"free"], parts[name+"counts"] = nodes, rows, free, counts
}

func (a *account) save(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(a.last))
	b = binary.LittleEndian.AppendUint32(b, a.count)
	for _, x := range a.decayed {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func (a *account) load(b []byte) {
	a.last, a.count = math.Float64frombits(binary.LittleEndian.Uint64(b)), binary.LittleEndian.Uint32(b[8:])
	for s := range a.decayed {
		a.decayed[s] = math.Float32frombits(binary.LittleEndian.Uint32(b[12+4*s:]))
	}
}

// load is the state that was saved under a name.
func (o Options) load(name string, parts map[string][]byte) (*State, error) {
	s, le := NewState(o), binary.LittleEndian
	nodes, rows, free := parts[name+"nodes"], parts[name+"rows"], parts[name+"free"]
	places := len(nodes) / savedNode
	if len(nodes)%savedNode != 0 || len(rows) != 4*places*o.Width() || len(free)%4 != 0 || len(free)/4 > places ||
		s.limits.nodes > 0 && places > s.limits.nodes || places > math.MaxInt32 {
		return nil, fmt.Errorf("%w: %d bytes of nodes, %d of rows and %d of free places", errSaved, len(nodes),
			len(rows), len(free))
	}
	s.places = places
	empty := map[int32]bool{}
	for i := range len(free) / 4 {
		at := int32(le.Uint32(free[4*i:]))
		if at < 0 || int(at) >= places || empty[at] {
			return nil, fmt.Errorf("%w: place %d of %d is free", errSaved, at, places)
		}
		empty[at] = true
		s.release(at)
	}
	for i := range int32(places) {
		b := nodes[int(i)*savedNode:]
		own, _ := s.nodes.own(i)
		n := &own[0]
		n.key = le.Uint64(b)
		n.latest.ids = [2]event.Node{event.Node(le.Uint32(b[8:])), event.Node(le.Uint32(b[12:]))}
		n.latest.keys = [2]uint64{le.Uint64(b[16:]), le.Uint64(b[24:])}
		n.at = math.Float64frombits(le.Uint64(b[32:]))
		n.any.load(b[40:])
		n.out.load(b[40+savedAccount:])
		n.in.load(b[40+2*savedAccount:])
		n.id = event.Node(le.Uint32(b[40+3*savedAccount:]))
		row, _ := s.rows.own(i)
		for k := range row {
			row[k] = math.Float32frombits(le.Uint32(rows[4*(int(i)*len(row)+k):]))
		}
		if empty[i] {
			continue
		}
		if n.id < 0 || s.find(n.id) >= 0 || n.key != o.key(n.id) {
			return nil, fmt.Errorf("%w: node %d at place %d is another one, or there twice", errSaved, n.id, i)
		}
		slot, _ := s.slots.own(n.id)
		slot[0] = i + 1
	}
	return s, s.counts.load(parts[name+"counts"])
}

// load fills an empty table.
func (t *table) load(b []byte) error {
	le := binary.LittleEndian
	for i := range t {
		shard := &t[i]
		if len(b) < 8 {
			return fmt.Errorf("%w: it ends within shard %d of the counts", errSaved, i)
		}
		size, used := int(le.Uint32(b)), int(le.Uint32(b[4:]))
		if b = b[8:]; size == 0 && used == 0 {
			continue
		}
		if size < fewest || size&(size-1) != 0 || 4*used > 3*size || used > len(b)/savedEntry ||
			shard.most > 0 && size > shard.most {
			return fmt.Errorf("%w: shard %d of the counts has %d of %d slots in use", errSaved, i, used, size)
		}
		if size > 16*(used+fewest) { // growing by halves, and forgetting half, never leaves fewer
			return fmt.Errorf("%w: shard %d of the counts has %d slots for %d", errSaved, i, size, used)
		}
		shard.make(size)
		for range used {
			e := entry{hash: le.Uint64(b), check: le.Uint32(b[8:])}
			e.account.load(b[12:])
			if b = b[savedEntry:]; e.count == 0 || int(e.hash>>(64-shardBits)) != i {
				return fmt.Errorf("%w: a count of shard %d that belongs elsewhere", errSaved, i)
			}
			shard.put(&e)
		}
		shard.used = used
	}
	if len(b) != 0 {
		return fmt.Errorf("%w: %d bytes follow its counts", errSaved, len(b))
	}
	return nil
}
