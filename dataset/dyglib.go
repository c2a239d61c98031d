package dataset

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/dygmamba/dygmamba/event"
)

// layout is the three files of one data set as DyGLib keeps them; a feature file that is missing is "".
type layout struct {
	name             string
	csv, edges, node string
}

// findLayout finds the files of the data set name in dir, plain or gzip.
func findLayout(dir, name string) (layout, bool) {
	find := func(suffix string) string {
		for _, end := range []string{"", ".gz"} {
			if path := filepath.Join(dir, "ml_"+name+suffix+end); exists(path) {
				return path
			}
		}
		return ""
	}
	l := layout{name: name, csv: find(".csv"), edges: find(".npy"), node: find("_node.npy")}
	return l, l.csv != ""
}

// layoutIn finds the one data set in a directory; where there are several, the one the directory is named after.
func layoutIn(dir string) (layout, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return layout{}, err
	}
	var names []string
	for _, e := range entries {
		name, ok := strings.CutPrefix(strings.TrimSuffix(e.Name(), ".gz"), "ml_")
		if name, csv := strings.CutSuffix(name, ".csv"); ok && csv {
			if name == filepath.Base(dir) {
				names = []string{name}
				break
			}
			if len(names) == 0 || names[len(names)-1] != name {
				names = append(names, name)
			}
		}
	}
	switch len(names) {
	case 0:
		return layout{}, fileError(dir, "no ml_NAME.csv or ml_NAME.csv.gz", "a directory in the ml_* layout")
	case 1:
		l, _ := findLayout(dir, names[0])
		return l, nil
	}
	return layout{}, fileError(dir, fmt.Sprintf("%d data sets (%s)", len(names), strings.Join(names, ", ")), "one, or the path of its ml_NAME.csv")
}

// read reads the three files at once.
func (l layout) read(ctx context.Context) (*Set, error) {
	set, found := l.load(ctx, 1)
	if err := found.first(); err != nil {
		return nil, err
	}
	if set == nil {
		return nil, found.broken
	}
	return set, nil
}

// loaded is what came of loading: problems of the data, or the reason why it could not be read at all.
type loaded struct {
	finder
	broken error
}

// note sorts an error into problems and reasons.
func (l *loaded) note(err error) {
	var bad *InputError
	if errors.As(err, &bad) {
		l.add(bad)
	} else if err != nil && l.broken == nil {
		l.broken = err
	}
}

// load reads the three files and keeps up to most problems of each kind. The set is nil if there are any.
func (l layout) load(ctx context.Context, most int) (*Set, *loaded) {
	var (
		res              = &loaded{finder: finder{most: most}}
		edges, node      Features
		errEdges, errSet error
		errNode          error
		wg               sync.WaitGroup
	)
	wg.Go(func() { edges, errEdges = l.features(l.edges) })
	wg.Go(func() { node, errNode = l.features(l.node) })
	table := &table{path: l.csv, finder: &res.finder}
	errSet = table.read(ctx)
	wg.Wait()
	for _, err := range []error{errSet, errEdges, errNode} {
		res.note(err)
	}
	readable := errSet == nil
	if readable && len(table.src) == 0 && res.Total == 0 {
		res.add(fileError(l.csv, "no events", "at least one row below the header"))
	}
	if readable && errEdges == nil {
		res.note(fits(&edges, l.edges, int(table.maxEdge), "edges", "the largest idx"))
	}
	if readable && errNode == nil {
		res.note(fits(&node, l.node, int(table.maxNode), "nodes", "the largest id"))
	}
	if res.Total > 0 || res.broken != nil {
		return nil, res
	}
	log, err := event.FromColumns(event.Columns{Src: table.src, Dst: table.dst, Time: table.time, Label: table.label, Edge: table.edge})
	if err != nil {
		res.broken = fmt.Errorf("load %s: %w", l.csv, err)
		return nil, res
	}
	set := &Set{Name: l.name, Log: log, Node: node, Edge: edges, Bipartite: bipartite(log), Sampling: Reference, TimeFormat: TimeNumber}
	set.Warnings = l.missing()
	return set, res
}

func (l layout) features(path string) (Features, error) {
	if path == "" {
		return Features{}, nil
	}
	return readFeatures(path)
}

// absent is the feature files that are not there.
func (l layout) absent() []string {
	var files []string
	if l.edges == "" {
		files = append(files, "ml_"+l.name+".npy")
	}
	if l.node == "" {
		files = append(files, "ml_"+l.name+"_node.npy")
	}
	return files
}

// missing is one line about absent feature files.
func (l layout) missing() []string {
	files := l.absent()
	if len(files) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s: no %s: its features are zero", filepath.Dir(l.csv), strings.Join(files, " and no "))}
}

// fits checks that a matrix has the rows 0 … last, and gives a missing one those rows.
func fits(f *Features, path string, last int, what, why string) error {
	switch {
	case path == "":
		f.Rows = last + 1
	case f.Rows != last+1:
		return fileError(path, fmt.Sprintf("%d rows", f.Rows), fmt.Sprintf("%d: row 0 for padding and the %s 1 … %d (%s in the csv)", last+1, what, last, why))
	case f.Data != nil:
		for j, v := range f.Row(0) {
			if v != 0 {
				return &InputError{File: path, Row: 0, Column: strconv.Itoa(j), Found: strconv.FormatFloat(float64(v), 'g', -1, 32), Want: "0, as row 0 is padding"}
			}
		}
	}
	return nil
}

// table reads an ml_NAME.csv into columns.
type table struct {
	path   string
	finder *finder

	src, dst []event.Node
	time     []event.Time
	label    []float32    // nil while all are 0
	edge     []event.Edge // nil while they count 1, 2, …

	maxNode     event.Node
	maxEdge     event.Edge
	used        idSet // edge ids so far, once they do not count 1, 2, …
	rows, lines int   // behind us

	width               int // columns
	u, i, ts, lab, edgs int // where they are
}

// columnsWanted is the header every ml_NAME.csv has.
const columnsWanted = "the header ,u,i,ts,label,idx"

func (t *table) read(ctx context.Context) error {
	in, err := openInput(t.path)
	if err != nil {
		return err
	}
	defer in.Close()
	return t.readFrom(ctx, in)
}

func (t *table) readFrom(ctx context.Context, in *input) error {
	txt, err := newText(in, true, "text with "+columnsWanted)
	if err != nil {
		return err
	}
	head, err := txt.firstLine(false)
	if err != nil {
		return err
	}
	if err := t.header(head); err != nil {
		return err
	}
	t.lines = 1
	stop := errors.New("enough problems")
	err = inOrder(ctx, txt, t.parse, func(b *tableBlock) error {
		t.merge(b)
		if t.finder.most == 1 && t.finder.Total > 0 {
			return stop
		}
		return nil
	})
	var bad *InputError
	if errors.As(err, &bad) && bad.Line > 0 {
		bad.Line += t.lines
	}
	if errors.Is(err, stop) {
		return nil
	}
	return err
}

// header finds the columns by name.
func (t *table) header(line []byte) error {
	s := splitter{delim: ','}
	s.row(line)
	t.width = len(s.fields)
	places := map[string]*int{"u": &t.u, "i": &t.i, "ts": &t.ts, "label": &t.lab, "idx": &t.edgs}
	for _, at := range places {
		*at = -1
	}
	for n, name := range s.fields {
		at := places[strings.TrimSpace(string(name))]
		if at == nil {
			continue
		}
		if *at >= 0 {
			return &InputError{File: t.path, Line: 1, Row: -1, Found: fmt.Sprintf("column %s twice", name), Want: columnsWanted}
		}
		*at = n
	}
	for _, name := range []string{"u", "i", "ts", "label", "idx"} {
		if *places[name] < 0 {
			return &InputError{File: t.path, Line: 1, Row: -1, Found: fmt.Sprintf("no column %s in %s", name, quote(line)), Want: columnsWanted}
		}
	}
	return nil
}

// tableBlock is the rows of one block of text.
type tableBlock struct {
	src, dst    []event.Node
	time, label []float64
	edge        []event.Edge
	row, line   []int32 // where each comes from, counted from 1 in this block
	rows, lines int     // good and bad ones
	finder      finder
	split       splitter
}

func (t *table) parse(data []byte, b *tableBlock) {
	b.src, b.dst, b.time, b.label, b.edge = b.src[:0], b.dst[:0], b.time[:0], b.label[:0], b.edge[:0]
	b.row, b.line = b.row[:0], b.line[:0]
	b.rows, b.lines = 0, 0
	b.finder.most = t.finder.most
	b.split.reset(',')
	for len(data) > 0 {
		line := b.lines + 1
		rest, lines, bad := b.split.row(data)
		data = rest
		b.lines += lines
		f := b.split.fields
		if len(f) == 0 {
			continue
		}
		b.rows++
		p := place{t.path, line, b.rows, &b.finder}
		switch {
		case bad != "":
			p.bad("", bad, "quotes around whole fields, and doubled within them")
		case len(f) != t.width:
			p.bad("", fmt.Sprintf("%d columns", len(f)), fmt.Sprintf("%d, as in the header", t.width))
		default:
			b.event(t, p, f)
		}
	}
}

// event takes the fields of one row.
func (b *tableBlock) event(t *table, p place, f [][]byte) {
	u, ok1 := p.id("u", f[t.u])
	v, ok2 := p.id("i", f[t.i])
	at, ok3 := p.float("ts", f[t.ts])
	label, ok4 := p.float("label", f[t.lab])
	edge, ok5 := p.id("idx", f[t.edgs])
	if !(ok1 && ok2 && ok3 && ok4 && ok5) {
		return
	}
	b.src = append(b.src, u)
	b.dst = append(b.dst, v)
	b.time = append(b.time, at)
	b.label = append(b.label, label)
	b.edge = append(b.edge, edge)
	b.row = append(b.row, int32(p.row))
	b.line = append(b.line, int32(p.line))
}

// merge appends a block, checking what only shows in order.
func (t *table) merge(b *tableBlock) {
	for k := range b.src {
		p := place{t.path, int(b.line[k]), int(b.row[k]), &b.finder}
		if n := len(t.time); n > 0 && b.time[k] < t.time[n-1] {
			p.bad("ts", formatTime(b.time[k])+" after "+formatTime(t.time[n-1])+" in the row before", "times that never decrease")
		}
		if !t.number(b.edge[k]) {
			p.bad("idx", strconv.Itoa(int(b.edge[k])), "every idx once")
		}
		if t.label == nil && b.label[k] != 0 {
			t.label = make([]float32, len(t.src), cap(t.src))
		}
		if t.label != nil {
			t.label = append(t.label, float32(b.label[k]))
		}
		t.src = append(t.src, b.src[k])
		t.dst = append(t.dst, b.dst[k])
		t.time = append(t.time, b.time[k])
		t.maxNode = max(t.maxNode, b.src[k], b.dst[k])
	}
	t.finder.take(&b.finder, t.rows, t.lines)
	t.rows += b.rows
	t.lines += b.lines
}

// number takes the edge id of the next event, and says whether it is new.
func (t *table) number(e event.Edge) bool {
	n := len(t.src)
	t.maxEdge = max(t.maxEdge, e)
	if t.edge == nil {
		if int(e) == n+1 {
			return true
		}
		t.edge = make([]event.Edge, n, cap(t.src))
		for i := range t.edge {
			t.edge[i] = event.Edge(i + 1)
			t.used.add(t.edge[i])
		}
	}
	t.edge = append(t.edge, e)
	return t.used.add(e)
}

// place is where a value stands, for complaints about it.
type place struct {
	file      string
	line, row int
	finder    *finder
}

func (p place) bad(column, found, want string) {
	p.finder.add(&InputError{File: p.file, Line: p.line, Row: p.row, Column: column, Found: found, Want: want})
}

// id reads a whole number from 1 that fits into 32 bits.
func (p place) id(column string, b []byte) (int32, bool) {
	v, ok := parseInt(b)
	if ok && v >= 1 && v <= math.MaxInt32 {
		return int32(v), true
	}
	switch {
	case ok && v == 0:
		p.bad(column, "0", "ids from 1: 0 is reserved for padding")
	default:
		p.bad(column, quote(b), fmt.Sprintf("a whole number from 1 to %d", math.MaxInt32))
	}
	return 0, false
}

// float reads a finite number.
func (p place) float(column string, b []byte) (float64, bool) {
	v, ok := parseFloat(b)
	if ok && finite(v) {
		return v, true
	}
	p.bad(column, quote(b), "a finite number")
	return 0, false
}
