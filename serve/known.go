package serve

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"sync"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/eventlog"
)

// selection says which events a past has: none before a cut, and none that was removed.
type selection struct {
	cut      event.Time                 // −Inf: there is none
	rows     map[int]bool               // events of the data set that were removed, by number
	nodes    map[event.Node]bool        // nodes of the data set that were erased
	gone     func(sequence uint64) bool // events of the log that are to be left out; nil: those that are there stay
	removals uint64                     // number of the last removal that it has
}

// keeps says whether it has the i-th event of a data set.
func (s *selection) keeps(set *dataset.Set) func(i int) bool {
	all := set.Log.All()
	return func(i int) bool {
		return all.Time[i] >= s.cut && !s.rows[i] && !s.nodes[all.Src[i]] && !s.nodes[all.Dst[i]]
	}
}

// all says whether it has all events of a data set.
func (s *selection) all() bool {
	return s.cut < -event.MaxTime && len(s.rows) == 0 && len(s.nodes) == 0
}

// removalNote is what the log keeps of a removal besides sequences: what is left out of the data set with this hash.
type removalNote struct {
	Base  string       `json:"base,omitempty"`
	Rows  []int        `json:"rows,omitempty"`
	Nodes []event.Node `json:"nodes,omitempty"`
}

// without is the selection after removals. Base is the hash of the data set.
func (s selection) without(list []eventlog.Removal, base func() string) (selection, error) {
	s.rows, s.nodes = maps.Clone(s.rows), maps.Clone(s.nodes)
	gone := map[uint64]bool{}
	for _, r := range list {
		for _, n := range r.Sequences {
			gone[n] = true
		}
		s.removals = r.Number
		if r.Note == "" {
			continue
		}
		var note removalNote
		if err := json.Unmarshal([]byte(r.Note), &note); err != nil {
			return s, fmt.Errorf("%w: the note of removal %d: %v", eventlog.ErrDamaged, r.Number, err)
		}
		if len(note.Rows)+len(note.Nodes) == 0 || note.Base != base() {
			continue
		}
		if s.rows == nil {
			s.rows, s.nodes = map[int]bool{}, map[event.Node]bool{}
		}
		for _, row := range note.Rows {
			s.rows[row] = true
		}
		for _, n := range note.Nodes {
			s.nodes[n] = true
		}
	}
	s.gone = func(sequence uint64) bool { return gone[sequence] }
	return s, nil
}

// places tell which sequences the events have that came in. They only grow.
type places []placeRun

// placeRun is events with consecutive sequences.
type placeRun struct {
	number   int // of the first of them, counted from the first that came in
	sequence uint64
}

// add says that the event of a number, the next one, has a sequence.
func (p places) add(number int, sequence uint64) places {
	if n := len(p); n > 0 && p[n-1].sequence+uint64(number-p[n-1].number) == sequence {
		return p
	}
	return append(p, placeRun{number, sequence})
}

// sequence is that of an event.
func (p places) sequence(number int) uint64 {
	i := sort.Search(len(p), func(i int) bool { return p[i].number > number }) - 1
	return p[i].sequence + uint64(number-p[i].number)
}

// find is the number of an event among so many; false: none has this sequence.
func (p places) find(sequence uint64, events int) (int, bool) {
	i := sort.Search(len(p), func(i int) bool { return p[i].sequence > sequence }) - 1
	if i < 0 {
		return 0, false
	}
	number, end := p[i].number+int(sequence-p[i].sequence), events
	if i+1 < len(p) {
		end = p[i+1].number
	}
	return number, number < end
}

// idKey is a hash of an id with the name of its token.
type idKey [16]byte

func keyOfID(id string) idKey {
	sum := sha256.Sum256([]byte(id))
	return idKey(sum[:16])
}

// ids are those of the events that came in and are known.
type ids struct {
	mu   sync.Mutex       // guards what follows
	all  map[idKey]uint64 // sequences
	sent map[idKey]bool   // of events that are being added
}

func newIDs() *ids { return &ids{all: map[idKey]uint64{}, sent: map[idKey]bool{}} }

func (x *ids) find(id string) (uint64, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	sequence, ok := x.all[keyOfID(id)]
	return sequence, ok
}

// reserve keeps others from using the ids of events until release is called. It returns the event whose id is known, or
// used by another request, −1 if there is none.
func (x *ids) reserve(events []eventlog.Event) (release func(), taken int) {
	var mine []idKey
	x.mu.Lock()
	defer x.mu.Unlock()
	taken = -1
	for i := range events {
		if events[i].ID == "" {
			continue
		}
		key := keyOfID(events[i].ID)
		if _, known := x.all[key]; known || x.sent[key] {
			taken = i
			break
		}
		x.sent[key] = true
		mine = append(mine, key)
	}
	drop := func() {
		for _, key := range mine {
			delete(x.sent, key)
		}
	}
	if taken >= 0 {
		drop()
		return func() {}, taken
	}
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		drop()
	}, -1
}

// add notes the ids of events with sequences from first on that are not before a cut; false: one of them is known, and
// nothing is noted.
func (x *ids) add(events []eventlog.Event, first uint64, cut event.Time) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	var mine []idKey
	for i := range events {
		if events[i].ID == "" || events[i].Time < cut {
			continue
		}
		key := keyOfID(events[i].ID)
		if _, known := x.all[key]; known {
			for _, key := range mine {
				delete(x.all, key)
			}
			return false
		}
		x.all[key] = first + uint64(i)
		mine = append(mine, key)
	}
	return true
}

// keep forgets ids whose sequences are not kept.
func (x *ids) keep(kept func(sequence uint64) bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	maps.DeleteFunc(x.all, func(_ idKey, sequence uint64) bool { return !kept(sequence) })
}

// idPlace is an id and its sequence.
type idPlace struct {
	key      idKey
	sequence uint64
}

// restore fills them from a snapshot.
func (x *ids) restore(list []idPlace) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, id := range list {
		x.all[id.key] = id.sequence
	}
}

// upTo are the ids up to a sequence.
func (x *ids) upTo(last uint64) (list []idPlace) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for key, sequence := range x.all {
		if sequence <= last {
			list = append(list, idPlace{key, sequence})
		}
	}
	slices.SortFunc(list, func(a, b idPlace) int { return cmp.Compare(a.sequence, b.sequence) })
	return list
}

// placeColumns are the columns of a snapshot with the sequences and the ids of events: 8 bytes for the number of the
// first event of a run and 8 for its sequence; 16 bytes of the SHA-256 of an id and 8 for its sequence.
func placeColumns(h *snapshotHeader, e *engine, at *state) (list []snapshotColumn) {
	var raw []byte
	for _, run := range at.places {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(run.number))
		raw = binary.LittleEndian.AppendUint64(raw, run.sequence)
	}
	if h.Places = len(at.places); h.Places > 0 {
		list = append(list, snapshotColumn{"places", 0, raw})
	}
	raw = nil
	all := e.ids.upTo(at.Last)
	for _, id := range all {
		raw = binary.LittleEndian.AppendUint64(append(raw, id.key[:]...), id.sequence)
	}
	if h.IDs = len(all); h.IDs > 0 {
		list = append(list, snapshotColumn{"ids", 0, raw})
	}
	return list
}

func readPlaces(raw []byte) (list places) {
	for ; len(raw) >= 16; raw = raw[16:] {
		list = append(list, placeRun{int(binary.LittleEndian.Uint64(raw)), binary.LittleEndian.Uint64(raw[8:])})
	}
	return list
}

func readIDs(raw []byte) (list []idPlace) {
	for ; len(raw) >= 24; raw = raw[24:] {
		list = append(list, idPlace{idKey(raw[:16]), binary.LittleEndian.Uint64(raw[16:])})
	}
	return list
}
