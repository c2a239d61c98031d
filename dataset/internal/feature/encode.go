package feature

import (
	"bytes"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
)

// far is how many deviations from the mean a number can be: one that was mistyped does not drown all others.
const far = 10

const day = 24 * 60 * 60

// Encode writes the features of a cell to out, which has room for Width and is zero. It says whether the cell is of the
// column's kind; one that is missing is.
func (c *Column) Encode(cell []byte, out []float32) bool {
	if c.Kind == Category {
		c.category(word(cell), out)
		return true
	}
	x, ok := value(c.Kind, cell, c.Words)
	c.number(x, out)
	return ok
}

// value reads a number, or a date as seconds; NaN where it is missing. Words say which other cells are missing.
func value(kind string, cell []byte, words []string) (float64, bool) {
	cell = bytes.TrimSpace(cell)
	if isMissing(cell, words) {
		return math.NaN(), true
	}
	x, format, ok := input.ScanTime(cell)
	if kind == Date {
		return x, ok && format == input.TimeDate
	}
	return x, ok && format == input.TimeNumber
}

// word is a category as it is kept: without space around it, and in Unicode, as JSON keeps nothing else.
func word(cell []byte) string { return strings.ToValidUTF8(string(bytes.TrimSpace(cell)), "\uFFFD") }

func isMissing(cell []byte, words []string) bool {
	if slices.Contains(words, string(cell)) {
		return true
	}
	if len(cell) > len("null") {
		return false
	}
	switch string(bytes.ToLower(cell)) {
	case "", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "-", "?":
		return true
	}
	return false
}

func (c *Column) number(x float64, out []float32) {
	if math.IsNaN(x) {
		if c.Missing {
			out[c.Width()-1] = 1
		}
		return
	}
	out[0] = float32(min(max((x-c.Mean)/c.Deviation, -far), far)) + 0 // not −0, which no table keeps
	if c.Kind != Date {
		return
	}
	for i, circle := range c.circles() {
		sin, cos := math.Sincos(2 * math.Pi * circle.part(x))
		out[1+2*i], out[2+2*i] = float32(sin), float32(cos)
	}
}

// circle is something that comes again and again.
type circle struct {
	name string
	part func(at float64) float64 // how much of it has passed, from 0 to 1
}

var (
	clock   = circle{"hour", func(at float64) float64 { return at/day - math.Floor(at/day) }}
	weekday = circle{"weekday", func(at float64) float64 {
		d := math.Floor(at/day) + 3
		return (d - 7*math.Floor(d/7)) / 7
	}}
	season = circle{"season", func(at float64) float64 {
		return float64(time.Unix(int64(math.Floor(at)), 0).UTC().YearDay()-1) / 366
	}}
)

// circles are the ones that dates of the column stand in. The 1st of January 1970 was the fourth day of its week.
func (c *Column) circles() []circle {
	if c.Clock {
		return []circle{clock, weekday, season}
	}
	return []circle{weekday, season}
}

// category encodes a word: a 1 in its place, or 1 and −1 in places that its hash tells. A value that was not seen while
// fitting has no place.
func (c *Column) category(value string, out []float32) {
	if c.Hashed == 0 {
		if at, ok := c.slot(value); ok {
			out[at] = 1
		}
		return
	}
	if value == "" {
		return
	}
	h := fnv.New64a()
	h.Write([]byte(value))
	x := mix(h.Sum64())
	n := uint64(c.Hashed)
	first := x % n
	second := (first + 1 + x>>20%(n-1)) % n
	out[first], out[second] = sign(x>>62&1), sign(x>>63)
}

func sign(bit uint64) float32 { return 1 - 2*float32(bit) }

// mix spreads the bits of a hash, whose low ones depend on the last letters most.
func mix(x uint64) uint64 {
	x = (x ^ x>>32) * 0x9e3779b97f4a7c15
	x = (x ^ x>>29) * 0xbf58476d1ce4e5b9
	return x ^ x>>32
}

// Prepare makes the column ready to encode on several goroutines at once.
func (c *Column) Prepare() { c.slot("") }

func (c *Column) slot(word string) (int, bool) {
	if c.slots == nil {
		c.slots = make(map[string]int, len(c.Values))
		for i, v := range c.Values {
			c.slots[v] = i
		}
	}
	at, ok := c.slots[word]
	return at, ok
}
