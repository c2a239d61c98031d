package table

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"strconv"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/event"
)

// key is a node's name as read: a whole number in its plain form, or text.
type key struct {
	num  int64
	text []byte // nil for a number
}

// newKey takes the characters of a name. They are not copied.
func newKey(b []byte) key {
	if v, ok := input.ParseInt(b); ok {
		return key{num: v}
	}
	return key{text: b}
}

// String is the name as it was written.
func (k key) String() string {
	if k.text != nil {
		return string(k.text)
	}
	return strconv.FormatInt(k.num, 10)
}

// dict numbers names 1, 2, … in the order of their first appearance. It keeps numbers as numbers until the first name
// that is none.
type dict struct {
	data.NameColumns      // Numbers while all names are numbers, afterwards Text and Ends
	words            bool // some name is none

	table []event.Node // open addressing; 0: free
	seed  maphash.Seed
	digit [20]byte
}

func newDict() *dict { return &dict{table: make([]event.Node, 1024), seed: maphash.MakeSeed()} }

// id is the number of a name, a new one if need be.
func (d *dict) id(k key) event.Node {
	if k.text != nil && !d.words {
		d.toWords()
	}
	if 4*d.Len() >= 3*len(d.table) {
		d.rehash(2 * len(d.table))
	}
	at, id := d.slot(k)
	if id > 0 {
		return id
	}
	if d.words {
		d.Text = append(d.Text, d.bytes(k)...)
		d.Ends = append(d.Ends, int64(len(d.Text)))
	} else {
		d.Numbers = append(d.Numbers, k.num)
	}
	d.table[at] = event.Node(d.Len())
	return d.table[at]
}

// find is the number of a name, 0 if it never appeared.
func (d *dict) find(k key) event.Node {
	if k.text != nil && !d.words {
		return 0
	}
	_, id := d.slot(k)
	return id
}

// lookalikes warns of whole numbers that occur with and without ".0", as they do where some program made floating-point
// numbers of one column.
func (d *dict) lookalikes() []string {
	count, last := 0, ""
	for i := range d.Ends { // none while all names are numbers
		if name, ok := bytes.CutSuffix(d.name(i), []byte(".0")); ok && len(name) > 0 && d.find(newKey(name)) > 0 {
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

// slot is where a name is in the table, or would be: then the id is 0.
func (d *dict) slot(k key) (uint64, event.Node) {
	mask := uint64(len(d.table) - 1)
	if !d.words {
		at := mix(k.num) & mask
		for ; d.table[at] != 0; at = (at + 1) & mask {
			if id := d.table[at]; d.Numbers[id-1] == k.num {
				return at, id
			}
		}
		return at, 0
	}
	b := d.bytes(k)
	at := maphash.Bytes(d.seed, b) & mask
	for ; d.table[at] != 0; at = (at + 1) & mask {
		if id := d.table[at]; string(d.name(int(id)-1)) == string(b) {
			return at, id
		}
	}
	return at, 0
}

func (d *dict) bytes(k key) []byte {
	if k.text != nil {
		return k.text
	}
	return strconv.AppendInt(d.digit[:0], k.num, 10)
}

// name is the name of node i+1. It is overwritten by the next call while names are numbers.
func (d *dict) name(i int) []byte { return d.At(i, &d.digit) }

func (d *dict) toWords() {
	d.Ends = make([]int64, 0, len(d.Numbers)+1)
	for _, v := range d.Numbers {
		d.Text = strconv.AppendInt(d.Text, v, 10)
		d.Ends = append(d.Ends, int64(len(d.Text)))
	}
	d.Numbers, d.words = nil, true
	d.rehash(len(d.table))
}

func (d *dict) rehash(size int) {
	d.table = make([]event.Node, size)
	mask := uint64(size - 1)
	for i := range d.Len() {
		var h uint64
		if d.words {
			h = maphash.Bytes(d.seed, d.name(i))
		} else {
			h = mix(d.Numbers[i])
		}
		at := h & mask
		for d.table[at] != 0 {
			at = (at + 1) & mask
		}
		d.table[at] = event.Node(i + 1)
	}
}

// mix spreads the bits of a number.
func mix(v int64) uint64 {
	x := uint64(v)
	x = (x ^ x>>32) * 0x9e3779b97f4a7c15
	x = (x ^ x>>29) * 0xbf58476d1ce4e5b9
	return x ^ x>>32
}
