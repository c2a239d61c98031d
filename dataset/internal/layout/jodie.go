package layout

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/idset"
)

// FormatJODIE is the name of the format.
const FormatJODIE = "jodie"

// JODIEOptions say how to read a raw JODIE file.
type JODIEOptions struct {
	Name      string // of the data set
	Bipartite bool   // users and items are numbered apart; true for the names in JODIEBipartite
}

// JODIEBipartite are the public sets whose users and items are numbered apart.
var JODIEBipartite = []string{"wikipedia", "reddit", "mooc", "lastfm", "myket"}

// ReadJODIE reads a raw file of the JODIE project; see dataset.ReadJODIE.
func ReadJODIE(ctx context.Context, path string, o JODIEOptions) (*data.Set, error) {
	in, err := input.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return readJODIE(ctx, in, o)
}

func readJODIE(ctx context.Context, in *input.File, o JODIEOptions) (*data.Set, error) {
	j := &jodie{reader: reader{path: in.Path, finder: &input.Finder{Most: 1}}, last: -1}
	const want = "text with a line user,item,timestamp,label,features for each event"
	err := j.read(ctx, in, want, j.header, j.parse, j.merge)
	if err == nil {
		err = j.finder.First()
	}
	if err != nil {
		return nil, err
	}
	return j.set(o.Name, o.Bipartite || slices.Contains(JODIEBipartite, o.Name))
}

type jodie struct {
	reader
	last event.Time
	edge matrix
}

func (j *jodie) header(line []byte) error {
	first, _, _ := bytes.Cut(line, []byte{','})
	if _, isData := input.ParseFloat(bytes.TrimSpace(first)); isData {
		return &input.Error{File: j.path, Line: 1, Row: -1, Found: input.Quote(line),
			Want: "a header such as user_id,item_id,timestamp,state_label,features"}
	}
	return nil
}

// parse takes the fields of one row, or drops it if something is wrong with them.
func (j *jodie) parse(p place, f [][]byte, b *eventBlock) {
	if len(f) < 5 {
		p.Bad("", fmt.Sprintf("%d columns", len(f)),
			"at least 5: user,item,timestamp,label and a feature, which is 0 where there are none")
		return
	}
	user, ok1 := p.id("user", f[0], 0)
	item, ok2 := p.id("item", f[1], 0)
	at, ok3 := p.number("timestamp", f[2])
	label, ok := p.feature("label", f[3], bytes.TrimSpace(f[3]))
	begin := len(b.feat)
	for i, text := range f[4:] {
		x, good := p.feature("feature "+strconv.Itoa(i+1), text, text)
		b.feat = append(b.feat, x)
		ok = ok && good
	}
	n := len(b.feat) - begin
	ok = ok && ok1 && ok2 && ok3
	if ok && b.width < 0 {
		b.width = n
	}
	if ok && n != b.width {
		p.Bad("", fmt.Sprintf("%d features", n), fmt.Sprintf("%d, as in the rows before", b.width))
		ok = false
	}
	if !ok {
		b.feat = b.feat[:begin]
		return
	}
	b.add(p, event.Event{Src: user, Dst: item, Time: at, Label: label})
}

// feature reads a number that fits into 32 bits. Text is all that stands in the field, b what of it is read.
func (p place) feature(column string, text, b []byte) (float32, bool) {
	x, ok := input.ParseFloat(b)
	if !ok || !input.Finite(float64(float32(x))) {
		p.Bad(column, input.Quote(text), input.WantFloat32)
		return 0, false
	}
	return float32(x), true
}

func (j *jodie) merge(b *eventBlock) {
	if len(b.Src) > 0 && j.edge.Cols == 0 {
		j.edge.Cols, j.edge.seen = b.width, b.width // row 0 is padding
	}
	if len(b.Src) > 0 && b.width != j.edge.Cols {
		p := b.place(j.path, 0)
		p.Bad("", fmt.Sprintf("%d features", b.width), fmt.Sprintf("%d, as in the rows before", j.edge.Cols))
	}
	for i, at := range b.Time {
		if at < j.last {
			want := "times that never decrease"
			if len(j.Time) == 0 {
				want += ", from -1 on"
			}
			b.place(j.path, i).Bad("timestamp", written(at)+" after "+written(j.last), want)
		}
		j.last = at
		j.add(b, i)
	}
	j.edge.addFloats(b.feat)
}

func (j *jodie) set(name string, bipartite bool) (*data.Set, error) {
	n := len(j.Src)
	if n == 0 {
		return nil, input.FileError(j.path, "no events", "at least one row below the header")
	}
	users := slices.Max(j.Src) + 1
	shift := event.Node(1)
	if bipartite {
		items := slices.Max(j.Dst) + 1
		if err := j.gapless("user", j.Src, users); err != nil {
			return nil, err
		}
		if err := j.gapless("item", j.Dst, items); err != nil {
			return nil, err
		}
		if int64(users)+int64(items) > math.MaxInt32 {
			return nil, input.FileError(j.path, fmt.Sprintf("%d users and %d items", users, items),
				fmt.Sprintf("at most %d together", math.MaxInt32))
		}
		shift += users
	}
	for i := range n {
		j.Src[i]++
		j.Dst[i] += shift
	}
	if err := scattered(j.path, max(slices.Max(j.Src), slices.Max(j.Dst)), n); err != nil {
		return nil, err
	}
	log, err := event.FromColumns(j.Columns)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", j.path, err)
	}
	s := data.Featureless(name, log)
	s.Edge = data.Features{Rows: n + 1, Cols: j.edge.Cols, Data: j.edge.Data}
	s.Node.Cols = 172 // zeros, as in the reference
	return s, nil
}

// gapless checks that ids are 0 … n−1, all of them.
func (j *jodie) gapless(column string, ids []event.Node, n event.Node) error {
	var seen idset.Set
	distinct := 0
	for _, id := range ids {
		if seen.Add(id) {
			distinct++
		}
	}
	if distinct == int(n) {
		return nil
	}
	missing := event.Node(0)
	for !seen.Add(missing) {
		missing++
	}
	return &input.Error{File: j.path, Row: -1, Column: column,
		Found: fmt.Sprintf("%d different ids up to %d, but no %d", distinct, n-1, missing),
		Want:  fmt.Sprintf("every id from 0 to %d", n-1)}
}
