package feature

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
)

// mostCategories is more features than any model reads.
const mostCategories = 1 << 16

// early is how many values a column's kind is seen from.
const early = 1000

// Reader takes the cells of a column, row by row.
type Reader struct {
	Name    string // the column's
	kind    string // "" until it is known
	missing []string

	first   []string  // cells before the kind is known
	present int       // of them not missing
	numbers []float64 // of numbers and dates, NaN where missing
	codes   []int32   // of categories
	words   []string  // by code
	known   map[string]int32
}

// NewReader reads a column of a kind, "" to see it from its values. Missing are words that stand for no number or no
// date, beside the usual ones.
func NewReader(name, kind string, missing []string) *Reader {
	return &Reader{Name: name, kind: kind, missing: missing, known: map[string]int32{}}
}

// Add takes the cell of the next row and says whether it is of the column's kind.
func (r *Reader) Add(cell []byte) bool {
	if r.kind != "" {
		return r.add(cell)
	}
	cell = bytes.TrimSpace(cell)
	r.first = append(r.first, string(cell))
	if !isMissing(cell, r.missing) {
		r.present++
	}
	if r.present == early {
		r.decide()
	}
	return true
}

// Want says what cells of the column must be.
func (r *Reader) Want() string {
	return want(r.kind) + ", as in the rows before, or nothing; " + r.Name + ":" + Category + " takes any words"
}

func want(kind string) string {
	if kind == Date {
		return "a date such as 2024-05-01"
	}
	return "a finite number"
}

func (r *Reader) add(cell []byte) bool {
	if r.kind == Category {
		w := word(cell)
		code, ok := r.known[w]
		if !ok {
			code = int32(len(r.words))
			r.words = append(r.words, w)
			r.known[w] = code
		}
		r.codes = append(r.codes, code)
		return true
	}
	x, ok := value(r.kind, cell, r.missing)
	if !ok {
		x = math.NaN()
	}
	r.numbers = append(r.numbers, x)
	return ok
}

// decide sees the kind from the first cells: numbers if all are, dates if all are, and otherwise words.
func (r *Reader) decide() {
	numbers, dates := r.present > 0, r.present > 0
	for _, cell := range r.first {
		if isMissing([]byte(cell), r.missing) {
			continue
		}
		_, format, ok := input.ScanTime([]byte(cell))
		numbers = numbers && ok && format == input.TimeNumber
		dates = dates && ok && format == input.TimeDate
	}
	switch {
	case numbers:
		r.kind = Number
	case dates:
		r.kind = Date
	default:
		r.kind = Category
	}
	for _, cell := range r.first {
		r.add([]byte(cell))
	}
	r.first = nil
}

// Fit makes a column of the rows that train names. At most this many categories have a feature each.
func (r *Reader) Fit(train func(row int) bool, categories int) *Column {
	if r.kind == "" {
		r.decide()
	}
	c := &Column{Name: r.Name, Kind: r.kind}
	if r.kind == Category {
		r.fitWords(c, train, categories)
	} else {
		r.fitNumbers(c, train)
	}
	return c
}

// fitNumbers finds mean and deviation, one row after another.
func (r *Reader) fitNumbers(c *Column, train func(row int) bool) {
	c.Words = r.missing
	n, squares := 0.0, 0.0
	for i, x := range r.numbers {
		if !train(i) {
			continue
		}
		if math.IsNaN(x) {
			c.Missing = true
			continue
		}
		n++
		step := x - c.Mean
		c.Mean += step / n
		squares += float64(step * (x - c.Mean)) // rounded before it is added, on every machine
		c.Clock = c.Clock || r.kind == Date && math.Mod(x, day) != 0
	}
	if c.Deviation = math.Sqrt(squares / n); !(c.Deviation > 0) || !input.Finite(c.Deviation) {
		c.Deviation = 1
	}
	if !input.Finite(c.Mean) {
		c.Mean = 0
	}
}

// fitWords finds the values, the most frequent first.
func (r *Reader) fitWords(c *Column, train func(row int) bool, categories int) {
	counts := make([]int, len(r.words))
	for i, code := range r.codes {
		if train(i) {
			counts[code]++
		}
	}
	var seen []int32
	for code, n := range counts {
		if n > 0 {
			seen = append(seen, int32(code))
		}
	}
	c.Seen = len(seen)
	if len(seen) > categories {
		c.Hashed = categories
		return
	}
	slices.SortFunc(seen, func(a, b int32) int {
		return cmp.Or(counts[b]-counts[a], cmp.Compare(r.words[a], r.words[b]))
	})
	for _, code := range seen {
		c.Values = append(c.Values, r.words[code])
	}
}

// Encode writes the features of a row that was read, as the column encodes them.
func (r *Reader) Encode(c *Column, row int, out []float32) {
	if r.kind == Category {
		c.category(r.words[r.codes[row]], out)
	} else {
		c.number(r.numbers[row], out)
	}
}
