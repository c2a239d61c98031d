package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/dygmamba/dygmamba/event"
)

// JODIEOptions say how to read a raw JODIE file.
type JODIEOptions struct {
	Name      string // of the data set
	Bipartite bool   // users and items are numbered apart; true for the names in JODIEBipartite
}

// JODIEBipartite are the public sets whose users and items are numbered apart.
var JODIEBipartite = []string{"wikipedia", "reddit", "mooc", "lastfm", "myket"}

// ReadJODIE reads a raw file of the JODIE project: a header line, then user,item,timestamp,label,feature,feature,… in the order of time, ids
// from 0. Users become nodes 1 … U; items become U+1 … U+I in a bipartite set, in which both must be numbered without gaps, and share the
// numbers of users elsewhere. Problems of the data are an *InputError.
func ReadJODIE(ctx context.Context, path string, o JODIEOptions) (*Set, error) {
	in, err := openInput(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return readJODIE(ctx, in, o)
}

func readJODIE(ctx context.Context, in *input, o JODIEOptions) (*Set, error) {
	txt, err := newText(in, true, "text with a line user,item,timestamp,label,features for each event")
	if err != nil {
		return nil, err
	}
	head, err := txt.firstLine(false)
	if err != nil {
		return nil, err
	}
	if _, isData := parseFloat(bytes.TrimSpace(bytes.SplitN(head, []byte{','}, 2)[0])); isData {
		return nil, &InputError{File: in.path, Line: 1, Row: -1, Found: quote(head), Want: "a header such as user_id,item_id,timestamp,state_label,features"}
	}
	j := &jodie{path: in.path, bipartite: o.Bipartite || slices.Contains(JODIEBipartite, o.Name), finder: finder{most: 1}, lines: 1, last: -1}
	err = inOrder(ctx, txt, j.parse, j.merge)
	var bad *InputError
	if errors.As(err, &bad) && bad != j.first() && bad.Line > 0 {
		bad.Line += j.lines
	}
	if err != nil {
		return nil, err
	}
	return j.set(o.Name)
}

type jodie struct {
	path        string
	bipartite   bool
	rows, lines int // behind us
	finder
	cols event.Columns
	last event.Time
	edge matrix
}

func (j *jodie) parse(data []byte, b *importBlock) {
	b.reset(1, ',')
	for p, f := range b.each(j.path, data) {
		if b.finder.Total > 0 {
			return
		}
		if len(f) < 5 {
			p.bad("", fmt.Sprintf("%d columns", len(f)), "at least 5: user,item,timestamp,label and a feature, which is 0 where there are none")
			continue
		}
		v := row{ok: true}
		begin := b.begin()
		v.src = p.count(&v, "user", f[0])
		v.dst = p.count(&v, "item", f[1])
		v.time = p.moment(&v, "timestamp", f[2])
		v.label = p.feature(&v, "label", f[3])
		for i, text := range f[4:] {
			x, ok := parseFloat(text)
			if !ok || !finite(float64(float32(x))) {
				p.spoil(&v, "feature "+strconv.Itoa(i+1), quote(text), wantFeature)
			}
			b.feat = append(b.feat, float32(x))
		}
		b.add(p, v, begin)
	}
}

// count reads an id from 0.
func (p place) count(v *row, column string, b []byte) key {
	n, ok := parseInt(b)
	if !ok || n < 0 || n > math.MaxInt32-1 {
		p.spoil(v, column, quote(b), fmt.Sprintf("a whole number from 0 to %d", math.MaxInt32-1))
	}
	return key{num: n}
}

func (p place) moment(v *row, column string, b []byte) float64 {
	at, ok := p.number(column, b)
	v.ok = v.ok && ok
	return at
}

func (j *jodie) merge(b *importBlock) error {
	if len(b.src) > 0 {
		if j.edge.Cols == 0 {
			j.edge.Cols = b.width
			j.edge.seen = b.width // row 0 is padding
		}
		if b.width != j.edge.Cols {
			p := b.place(j.path, 0)
			p.bad("", fmt.Sprintf("%d features", b.width), fmt.Sprintf("%d, as in the rows before", j.edge.Cols))
		}
	}
	for i, at := range b.time {
		if at < j.last {
			p := b.place(j.path, i)
			want := "times that never decrease"
			if len(j.cols.Time) == 0 {
				want += ", from -1 on"
			}
			p.bad("timestamp", formatTime(at)+" after "+formatTime(j.last), want)
		}
		j.last = at
		j.cols.Src = append(j.cols.Src, event.Node(b.src[i].num))
		j.cols.Dst = append(j.cols.Dst, event.Node(b.dst[i].num))
		j.cols.Time = append(j.cols.Time, at)
		j.cols.Label = append(j.cols.Label, b.label[i])
	}
	j.take(&b.finder, j.rows, j.lines)
	j.rows += b.rows
	j.lines += b.lines
	if err := j.first(); err != nil {
		return err
	}
	return j.edge.add(bytesOf(b.feat), 4)
}

// set numbers the nodes.
func (j *jodie) set(name string) (*Set, error) {
	n := len(j.cols.Src)
	if n == 0 {
		return nil, fileError(j.path, "no events", "at least one row below the header")
	}
	users := slices.Max(j.cols.Src) + 1
	shift := event.Node(1)
	if j.bipartite {
		items := slices.Max(j.cols.Dst) + 1
		if err := j.gapless("user", j.cols.Src, users); err != nil {
			return nil, err
		}
		if err := j.gapless("item", j.cols.Dst, items); err != nil {
			return nil, err
		}
		if int64(users)+int64(items) > math.MaxInt32 {
			return nil, fileError(j.path, fmt.Sprintf("%d users and %d items", users, items), fmt.Sprintf("at most %d together", math.MaxInt32))
		}
		shift += users
	}
	for i := range n {
		j.cols.Src[i]++
		j.cols.Dst[i] += shift
	}
	if err := scattered(j.path, max(slices.Max(j.cols.Src), slices.Max(j.cols.Dst)), n); err != nil {
		return nil, err
	}
	log, err := event.FromColumns(j.cols)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", j.path, err)
	}
	s := featureless(name, log)
	s.Edge = Features{Rows: n + 1, Cols: j.edge.Cols, Data: j.edge.Data}
	s.Node.Cols = 172 // zeros, as in the reference
	return s, nil
}

// gapless checks that ids are 0 … n−1, all of them.
func (j *jodie) gapless(column string, ids []event.Node, n event.Node) error {
	var seen idSet
	distinct := 0
	for _, id := range ids {
		if seen.add(id) {
			distinct++
		}
	}
	if distinct == int(n) {
		return nil
	}
	missing := event.Node(0)
	for !seen.add(missing) {
		missing++
	}
	return &InputError{File: j.path, Row: -1, Column: column, Found: fmt.Sprintf("%d different ids up to %d, but no %d", distinct, n-1, missing),
		Want: fmt.Sprintf("every id from 0 to %d", n-1)}
}
