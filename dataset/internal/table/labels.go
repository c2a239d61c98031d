package table

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
)

// Labels that are none while a table is read: an empty cell, and a member that an object does not have. The second
// counts as 0 where all others are numbers.
var (
	noLabel     = math.Float32frombits(0x7fc00001)
	absentLabel = math.Float32frombits(0x7fc00002)
)

func isAbsent(x float32) bool { return math.Float32bits(x) == math.Float32bits(absentLabel) }

// labelClasses finds out what the labels of a table are: numbers, or classes. They are classes where they are words, or
// where some rows have none.
type labelClasses struct {
	names  []string // of classes 1, 2, …; in the order in which they come until finish
	known  map[string]int
	fixed  int  // of the names, which keep their places
	listed bool // labels are places in names: they are words, or were classes before
	number bool // numbers were seen
	gaps   bool // empty cells were seen
	old    bool // labels of an old set are numbers without gaps
}

// begin takes classes that are there.
func (l *labelClasses) begin(names []string) {
	for _, name := range names {
		l.add(name)
	}
	l.fixed, l.listed = len(names), len(names) > 0
}

// follow takes the labels of a set that events are added to.
func (l *labelClasses) follow(set *data.Set) {
	l.begin(set.Classes)
	l.old = set.Classes == nil
}

func (l *labelClasses) add(name string) int {
	if l.known == nil {
		l.known = map[string]int{}
	}
	l.names = append(l.names, name)
	l.known[name] = len(l.names)
	return len(l.names)
}

// read turns the labels of a block into numbers: places of classes where they are words. What cannot be a label beside
// those before it is complained about.
func (l *labelClasses) read(im *importer, b *importBlock) {
	column := im.reader.cols.Label
	if column == "" {
		return
	}
	for i, word := range b.word {
		x := b.label[i]
		bad := func(found, want string) { b.place(im.reader.path, i).Bad(column, found, want) }
		switch {
		case word != nil && l.old:
			bad(input.Quote(word), "a finite number, true or false, as in the data")
		case x != x && l.old && !isAbsent(x):
			bad(`""`, "a finite number, true or false, as in the data")
		case word != nil && (l.number || l.numbers()):
			bad(input.Quote(word), "a number, as in the rows before, or nothing where there is no label")
		case word != nil:
			l.listed = true
			b.label[i] = float32(l.class(string(word), bad))
		case x != x:
			l.gaps = l.gaps || !isAbsent(x)
		case l.listed && (l.numbers() || l.known[data.NumberClass(float64(x))] > 0):
			b.label[i] = float32(l.class(data.NumberClass(float64(x)), bad))
		case l.listed:
			bad(input.Quote(data.NumberClass(float64(x))),
				"a word, as in the rows before, or nothing where there is no label")
		default:
			l.number = true
		}
	}
}

// numbers says whether classes that were there are numbers.
func (l *labelClasses) numbers() bool {
	if l.fixed == 0 {
		return false
	}
	_, err := strconv.ParseFloat(l.names[0], 32)
	return err == nil
}

// class is the place of a class, a new one if it was not seen before.
func (l *labelClasses) class(name string, bad func(found, want string)) int {
	if at := l.known[name]; at > 0 {
		return at
	}
	switch {
	case len(name) > data.MaxClassName || !utf8.ValidString(name):
		bad(input.Quote(name), fmt.Sprintf("a label of at most %d bytes of valid UTF-8", data.MaxClassName))
		return 0
	case len(l.names) >= data.MaxClasses:
		bad(fmt.Sprintf("more than %d different labels", data.MaxClasses),
			"few classes; the option Value takes numbers to predict")
		return 0
	}
	return l.add(name)
}

// finish gives all labels of the table their final numbers. New classes are in the order of their names, behind those
// that were there.
func (l *labelClasses) finish(im *importer) error {
	to := func(x float32) float32 { return x }
	switch {
	case l.listed:
		order := l.sorted()
		to = func(x float32) float32 { return float32(order[int(x)]) }
	case l.gaps:
		if err := l.fromNumbers(im); err != nil {
			return err
		}
		to = func(x float32) float32 { return float32(l.known[data.NumberClass(float64(x))]) }
	}
	t := im.table
	t.labelled = false
	for _, b := range t.blocks {
		if b.label == nil && l.gaps && !l.listed { // all are 0, which is a class
			b.label = make([]float32, len(b.src), max(len(b.src), tableRows))
		}
		for i, x := range b.label {
			switch {
			case x != x:
				b.label[i] = 0
			case l.listed || l.gaps:
				b.label[i] = to(x)
			}
			t.labelled = t.labelled || b.label[i] != 0
		}
	}
	return nil
}

// sorted puts the names in order, and gives the new place of each.
func (l *labelClasses) sorted() []int {
	was := slices.Clone(l.names)
	slices.SortFunc(l.names[l.fixed:], data.CompareClasses)
	order := make([]int, len(was)+1)
	for i, name := range l.names {
		order[l.known[name]] = i + 1
	}
	return order
}

// fromNumbers makes classes of the numbers of the table.
func (l *labelClasses) fromNumbers(im *importer) error {
	var values []float32
	for _, b := range im.table.blocks {
		label := b.label
		if label == nil && len(b.src) > 0 {
			label = []float32{0}
		}
		for _, x := range label {
			at, known := slices.BinarySearch(values, x)
			if known || x != x {
				continue
			}
			if len(values) >= data.MaxClasses {
				return input.FileError(im.reader.path, fmt.Sprintf("more than %d different labels in column %s",
					data.MaxClasses, im.report.Columns.Label), "few classes; the option Value takes numbers to predict")
			}
			values = slices.Insert(values, at, x)
		}
	}
	for _, x := range values {
		l.add(data.NumberClass(float64(x)))
	}
	return nil
}
