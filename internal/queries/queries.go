// Package queries answers: what is asked? It reads tables of queries about the nodes of a data set, by name, and says
// what is wrong with them.
package queries

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/sample"
)

// Question is a query as someone wrote it.
type Question struct {
	U, I, TS string   // source, destination and time
	Extra    []string // what stood beside them
	sample.Query
	place dataset.Place // in its table
}

// Bad is a complaint about a column of a question.
func (q Question) Bad(column, found, want string) *dataset.InputError {
	return &dataset.InputError{File: q.place.File, Line: q.place.Line, Row: q.place.Row, Column: column,
		Found: strconv.Quote(found), Want: want}
}

// Columns are the names of these in answers, and first of all in questions.
var Columns = [3]string{"u", "i", "ts"}

// Of are the queries that questions ask.
func Of(questions []Question) []sample.Query {
	qs := make([]sample.Query, len(questions))
	for i, q := range questions {
		qs[i] = q.Query
	}
	return qs
}

// Reader turns names and times into queries about a data set. A name that the set does not have is the same node in all
// that it reads.
type Reader struct {
	set   *dataset.Set
	fresh map[string]event.Node // ids of names that the set does not have, by side
}

// NewReader makes one for queries about a set.
func NewReader(set *dataset.Set) *Reader { return &Reader{set, map[string]event.Node{}} }

// One reads a single query; where is where it was asked, for complaints.
func (k *Reader) One(where, u, i, ts string) (Question, error) {
	return k.one(where, Columns, [3]string{u, i, ts})
}

func (k *Reader) one(where string, names, values [3]string) (Question, error) {
	var bad dataset.Problems
	q := k.question(func(column, found, want string) {
		bad.Total++
		bad.List = append(bad.List, &dataset.InputError{File: where, Row: -1, Column: column, Found: found, Want: want})
	}, names, values)
	if bad.Total > 0 {
		return q, &bad
	}
	return q, nil
}

// Table is a file of questions.
type Table struct {
	Questions []Question
	Extra     []string // names of the columns beside source, destination and time
	sheet     *dataset.Sheet
}

// Read reads questions from a table in any form that can be imported; "-" is standard input. The options name its
// columns where they are not called u, i and ts or as an import would guess.
func (k *Reader) Read(ctx context.Context, path string, stdin io.Reader, o dataset.ImportOptions) (Table, error) {
	return k.read(ctx, path, stdin, dataset.AsksPairs, o)
}

func (k *Reader) read(ctx context.Context, path string, stdin io.Reader, asks dataset.SheetAsks,
	o dataset.ImportOptions) (t Table, err error) {
	s, err := dataset.ReadSheet(ctx, path, stdin, asks, o)
	if s == nil {
		return t, err
	}
	names := three(s.Columns, s.At)
	for i, values := range s.Rows {
		q := k.question(s.Places[i].Bad, names, three(values, s.At))
		q.Extra, q.place = extra(values, s.At, len(s.Columns)), s.Places[i]
		t.Questions = append(t.Questions, q)
	}
	t.sheet, t.Extra = s, extra(s.Columns, s.At, len(s.Columns))
	return t, s.Err()
}

// AskKinds lets the questions ask by the kind of event in one of the extra columns: that of the import, or one called
// kind. Every row has one that the set knows.
func (k *Reader) AskKinds(file string, t *Table) error {
	name := "kind"
	if r := k.set.Recipe; r != nil && r.Kind != "" && slices.Contains(t.Extra, r.Kind) {
		name = r.Kind
	}
	at, err := t.column(file, name, "a column "+name+" with "+k.set.WantKind())
	if err != nil {
		return err
	}
	for i := range t.Questions {
		q := &t.Questions[i]
		found := strings.TrimSpace(q.Extra[at])
		if q.Kind = k.set.Kind(found); q.Kind == 0 {
			q.place.Bad(name, strconv.Quote(found), k.set.WantKind())
		}
	}
	return t.sheet.Err()
}

// column is where the values of a column beside the three are.
func (t Table) column(file, name, want string) (int, error) {
	at := slices.Index(t.Extra, name)
	if file == "-" {
		file = "standard input"
	}
	if at < 0 {
		return at, &dataset.InputError{File: file, Row: -1, Found: "columns " + strings.Join(t.sheet.Columns, ", "),
			Want: want}
	}
	return at, nil
}

// three are the values at three places; one that is nowhere is empty.
func three(values []string, at [3]int) (list [3]string) {
	for role, c := range at {
		if c >= 0 {
			list[role] = values[c]
		}
	}
	return list
}

// extra are the values that are none of the three; those that a row is too short for are empty.
func extra(values []string, at [3]int, columns int) []string {
	var rest []string
	for c := range columns {
		switch {
		case slices.Contains(at[:], c):
		case c < len(values):
			rest = append(rest, values[c])
		default:
			rest = append(rest, "")
		}
	}
	return rest
}

// question reads one row; bad hears what is wrong with the columns of these names. One without a name for the
// destination asks for none.
func (k *Reader) question(bad func(column, found, want string), names, values [3]string) Question {
	q := Question{U: strings.TrimSpace(values[0]), I: strings.TrimSpace(values[1]), TS: strings.TrimSpace(values[2])}
	var ok bool
	if q.Src, ok = k.node(q.U, true); !ok {
		bad(names[0], strconv.Quote(values[0]), k.wantNode())
	}
	if names[1] == "" {
		q.I = ""
	} else if q.Dst, ok = k.node(q.I, false); !ok {
		bad(names[1], strconv.Quote(values[1]), k.wantNode())
	}
	if q.Time, ok = k.time(q.TS); !ok {
		bad(names[2], strconv.Quote(values[2]), k.wantTime())
	}
	return q
}

// node is the node of a name, a new one if no one has that name; it has one id wherever it is asked about.
func (k *Reader) node(name string, source bool) (event.Node, bool) {
	if name == "" {
		return 0, false
	}
	find := k.set.Names.Target
	if source {
		find = k.set.Names.Source
	}
	id, ok := find(name)
	if ok || k.set.Names == nil {
		return id, ok
	}
	key := name
	if k.set.Names.Sources() > 0 {
		key = fmt.Sprint(source, name)
	}
	if k.fresh[key] == 0 {
		next := max(k.set.NumNodes(), k.set.Names.Len()+1) + len(k.fresh)
		if next > math.MaxInt32 {
			return 0, false
		}
		k.fresh[key] = event.Node(next)
	}
	return k.fresh[key], true
}

func (k *Reader) wantNode() string {
	if k.set.Names == nil {
		return "a node's id, a whole number from 1 on"
	}
	return "a node's name"
}

func (k *Reader) time(s string) (event.Time, bool) {
	at, err := k.set.Clock().Parse(s)
	return at, err == nil
}

func (k *Reader) wantTime() string { return k.set.Clock().Want() }

// Swapped are the questions whose source only ever was a destination and whose destination only a source, where nodes
// are of two kinds: those who ask may have mixed up the columns.
func (k *Reader) Swapped(questions []Question) (list []Question) {
	if !k.set.Bipartite {
		return nil
	}
	if k.set.Names.Sources() == 0 {
		return k.swappedRoles(questions)
	}
	for _, q := range questions {
		_, asSource := k.set.Names.Source(q.I)
		_, asTarget := k.set.Names.Target(q.U)
		if asSource && asTarget && k.stranger(q.Src) && k.stranger(q.Dst) {
			list = append(list, q)
		}
	}
	return list
}

// swappedRoles is Swapped where both kinds of nodes share one set of names.
func (k *Reader) swappedRoles(questions []Question) (list []Question) {
	const source, target = 1, 2
	roles := map[event.Node]uint8{} // of those asked about
	for _, q := range questions {
		roles[q.Src], roles[q.Dst] = 0, 0
	}
	note := func(n event.Node, role uint8) {
		if was, asked := roles[n]; asked {
			roles[n] = was | role
		}
	}
	all := k.set.Log.All()
	for i := range all.Len() {
		note(all.Src[i], source)
		note(all.Dst[i], target)
	}
	for _, q := range questions {
		if roles[q.Src] == target && roles[q.Dst] == source {
			list = append(list, q)
		}
	}
	return list
}

// stranger says whether a node was made up for a name that the set does not have.
func (k *Reader) stranger(n event.Node) bool { return int(n) >= k.set.NumNodes() }
