package table

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"strconv"
	"sync/atomic"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/memory"
)

// dict numbers names 1, 2, … in the order of their first appearance. It keeps numbers as numbers until the first name
// that is none. One goroutine adds names. Others look up those that were there at the last publish.
type dict struct {
	dictView
	shown atomic.Pointer[dictView]
}

// dictView is the names of a dictionary up to some moment. Names and slots that are there never change; a slot that was
// free may have been taken since.
type dictView struct {
	data.NameColumns      // Numbers while all names are numbers, afterwards Text and Ends
	words            bool // some name is none

	table []atomic.Uint64 // open addressing: the higher half of the hash, and the number of the name; 0: free
	seed  maphash.Seed
}

func newDict() *dict {
	d := &dict{dictView: dictView{table: make([]atomic.Uint64, 1024), seed: maphash.MakeSeed()}}
	d.publish()
	return d
}

// publish shows the names that are there to other goroutines.
func (d *dict) publish() {
	if v := d.shown.Load(); v == nil || v.Len() < d.Len() {
		now := d.dictView
		d.shown.Store(&now)
	}
}

// id is the number of a name, a new one if need be.
func (d *dict) id(k key) event.Node {
	if k.text != nil && !d.words {
		d.toWords()
	}
	if 4*d.Len() >= 3*len(d.table) {
		d.rehash(2 * len(d.table))
	}
	var digits [20]byte
	h := d.hash(k, &digits)
	at, id := d.slot(k, h)
	if id > 0 {
		return id
	}
	if d.words {
		name := k.bytes(&digits)
		d.Text = append(memory.Grow(d.Text, len(name)), name...)
		d.Ends = append(memory.Grow(d.Ends, 1), int64(len(d.Text)))
	} else {
		d.Numbers = append(memory.Grow(d.Numbers, 1), k.num)
	}
	id = event.Node(d.Len())
	d.table[at].Store(slotOf(h, id))
	return id
}

// find is the number of a name, 0 if it never appeared.
func (v *dictView) find(k key) event.Node {
	if k.text != nil && !v.words {
		return 0
	}
	var digits [20]byte
	_, id := v.slot(k, v.hash(k, &digits))
	return id
}

// findAll finds the numbers of names, as find does. It is faster for many: it looks at some dozens of names at once,
// so that the waits for memory overlap.
func (v *dictView) findAll(keys []key, ids []event.Node) {
	const some = 64
	var (
		digits   [20]byte
		hashes   [some]uint64
		slots    [some]uint64 // the first that is free or probably the name's
		from, to [some]int64
		last     [some]byte // of the name that is probably meant
	)
	mask, known := uint64(len(v.table)-1), v.Len()
	for ; len(keys) > 0; keys, ids = keys[min(some, len(keys)):], ids[min(some, len(ids)):] {
		part := keys[:min(some, len(keys))]
		for i, k := range part {
			hashes[i] = v.hash(k, &digits)
		}
		for i := range part {
			slots[i] = v.table[hashes[i]&mask].Load()
		}
		for i := range part {
			s, h := slots[i], hashes[i]
			for at := h & mask; s != 0 && s>>32 != h>>32 && int(uint32(s)) <= known; s = v.table[at].Load() {
				at = (at + 1) & mask
			}
			slots[i], from[i], to[i] = s, 0, 0
			if v.words && v.likely(s, h) {
				from[i], to[i] = v.place(int(uint32(s)) - 1)
			}
		}
		for i := range part {
			if last[i] = 0; to[i] > 0 {
				last[i] = v.Text[to[i]-1]
			}
		}
		for i, k := range part {
			switch n := len(k.text); {
			case k.text != nil && !v.words || !v.likely(slots[i], hashes[i]):
				ids[i] = 0
			case n > 0 && v.words && last[i] == k.text[n-1] && string(v.Text[from[i]:to[i]]) == string(k.text):
				ids[i] = event.Node(uint32(slots[i]))
			default:
				_, ids[i] = v.slot(k, hashes[i])
			}
		}
	}
}

// likely says whether a slot is probably that of a name with this hash.
func (v *dictView) likely(slot, hash uint64) bool {
	return slot != 0 && slot>>32 == hash>>32 && int(uint32(slot)) <= v.Len()
}

func slotOf(hash uint64, id event.Node) uint64 { return hash&^(1<<32-1) | uint64(uint32(id)) }

// slot is where a name is in the table, or would be: then the id is 0. Names that came later are not there.
func (v *dictView) slot(k key, hash uint64) (uint64, event.Node) {
	mask := uint64(len(v.table) - 1)
	at := hash & mask
	for ; ; at = (at + 1) & mask {
		s := v.table[at].Load()
		id := int(uint32(s))
		if s == 0 || id > v.Len() { // a name that was there would have taken this slot
			return at, 0
		}
		if v.likely(s, hash) && v.is(id-1, k) {
			return at, event.Node(id)
		}
	}
}

// is says whether node i+1 has this name.
func (v *dictView) is(i int, k key) bool {
	if !v.words {
		return k.text == nil && v.Numbers[i] == k.num
	}
	var digits [20]byte
	from, to := v.place(i)
	return string(v.Text[from:to]) == string(k.bytes(&digits))
}

// place is where the name of node i+1 lies in the text.
func (v *dictView) place(i int) (from, to int64) {
	if i > 0 {
		from = v.Ends[i-1]
	}
	return from, v.Ends[i]
}

func (v *dictView) hash(k key, digits *[20]byte) uint64 {
	if !v.words && k.text == nil {
		return mix(k.num)
	}
	return maphash.Bytes(v.seed, k.bytes(digits))
}

// bytes is the name as it was written, in its own memory or in digits.
func (k key) bytes(digits *[20]byte) []byte {
	if k.text != nil {
		return k.text
	}
	return strconv.AppendInt(digits[:0], k.num, 10)
}

// similarNames warns of whole numbers that occur with and without ".0", as they do where some program made
// floating-point numbers of one column.
func (d *dict) similarNames() []string {
	var digits [20]byte
	count, last := 0, ""
	for i := range d.Ends { // none while all names are numbers
		name, ok := bytes.CutSuffix(d.At(i, &digits), []byte(".0"))
		if ok && len(name) > 0 && d.find(newKey(name)) > 0 {
			count++
			last = string(name)
		}
	}
	switch count {
	case 0:
		return nil
	case 1:
		return []string{fmt.Sprintf("%s and %s.0 are different nodes", last, last)}
	}
	return []string{fmt.Sprintf("%d names occur with and without .0 and are different nodes, such as %s and %s.0",
		count, last, last)}
}

func (d *dict) toWords() {
	d.Ends = make([]int64, 0, len(d.Numbers)+1)
	for _, v := range d.Numbers {
		d.Text = strconv.AppendInt(d.Text, v, 10)
		d.Ends = append(d.Ends, int64(len(d.Text)))
	}
	d.Numbers, d.words = nil, true
	d.rehash(len(d.table))
}

// rehash makes a new table. The old one is left as it is, for those who look at it.
func (d *dict) rehash(size int) {
	d.table = memory.Huge(make([]atomic.Uint64, size))
	mask := uint64(size - 1)
	var digits [20]byte
	for i := range d.Len() {
		var h uint64
		if d.words {
			h = maphash.Bytes(d.seed, d.At(i, &digits))
		} else {
			h = mix(d.Numbers[i])
		}
		at := h & mask
		for d.table[at].Load() != 0 {
			at = (at + 1) & mask
		}
		d.table[at].Store(slotOf(h, event.Node(i+1)))
	}
}

// mix spreads the bits of a number.
func mix(v int64) uint64 {
	x := uint64(v)
	x = (x ^ x>>32) * 0x9e3779b97f4a7c15
	x = (x ^ x>>29) * 0xbf58476d1ce4e5b9
	return x ^ x>>32
}
