package data

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/dygmamba/dygmamba/dataset/internal/feature"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/event"
)

// Schema is everything that an import learned about the columns of tables, so that other tables become the same
// numbers: export writes it beside its tables, checkpoints carry it.
type Schema struct {
	Version    int      `json:"schema"` // 1
	TimeFormat string   `json:"time_format"`
	TimeUnit   string   `json:"time_unit,omitempty"` // of Unix times
	Bipartite  bool     `json:"bipartite,omitempty"` // sources and destinations are named apart
	Kinds      []string `json:"kinds,omitempty"`     // names of the kinds of events 1, 2, …
	Classes    []string `json:"classes,omitempty"`   // of labels 1, 2, …
	Columns    Recipe   `json:"columns"`
	// NodeClasses are the names of the classes that labels of nodes have, in their order.
	NodeClasses []string `json:"node_classes,omitempty"`

	// Encoded columns are in the table as the numbers that they became, under these titles.
	Encoded map[string][]string `json:"encoded,omitempty"`

	// Nodes are those of the set that was exported, where the rows of the table would number them in another way.
	Nodes *SchemaNodes `json:"nodes,omitempty"`
}

// SchemaNodes are the names of nodes 1, 2, …. Where sources and destinations are named apart, the first ones are
// sources, and some later ones.
type SchemaNodes struct {
	Sources int          `json:"sources,omitempty"`
	Later   []event.Node `json:"later_sources,omitempty"`
	Names   []string     `json:"names"`
}

// Dictionary is that of the nodes, nil for nil.
func (x *SchemaNodes) Dictionary() (*Names, error) {
	if x == nil {
		return nil, nil
	}
	return newNames(x.Names, x.Sources, x.Later)
}

// NodesIn are the nodes of a set where the rows of a table, which are the events in this order, would number them in
// another way; nil: they would not.
func NodesIn(s *Set, order []int) *SchemaNodes {
	n := s.Names
	if n == nil {
		return nil
	}
	all, seen := s.Log.All(), make([]bool, s.NumNodes())
	next := [2]event.Node{1, event.Node(n.Sources() + 1)} // of sources and destinations, or of all
	same, target := n.Len() == s.NumNodes()-1 && len(n.Columns().Later) == 0, 0
	if n.Sources() > 0 {
		target = 1
	}
	meet := func(id event.Node, side int) {
		if !seen[id] {
			same = same && id == next[side]
			seen[id] = true
			next[side]++
		}
	}
	for _, i := range order {
		meet(all.Src[i], 0)
		meet(all.Dst[i], target)
	}
	if same && int(next[target]) == s.NumNodes() && (target == 0 || int(next[0]) == n.Sources()+1) {
		return nil
	}
	x := &SchemaNodes{Sources: n.Sources(), Later: n.Columns().Later, Names: make([]string, n.Len())}
	for i := range x.Names {
		x.Names[i] = n.Name(event.Node(i + 1))
	}
	return x
}

const schemaVersion = 1

// Schema is that of the set, for tables like those that were imported; nil: it came from none.
func (s *Set) Schema() *Schema {
	if s.Recipe == nil {
		return nil
	}
	schema := &Schema{Version: schemaVersion, TimeFormat: s.TimeFormat, TimeUnit: s.TimeUnit,
		Bipartite: s.Names.Sources() > 0, Kinds: s.Kinds, Classes: s.Classes,
		Columns: *s.Recipe}
	if s.NodeLabels != nil {
		schema.NodeClasses = s.NodeLabels.Names
	}
	return schema
}

// ParseSchema reads a schema from JSON.
func ParseSchema(raw []byte) (*Schema, error) {
	var s Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("a schema that is not JSON: %w", err)
	}
	if s.Version != schemaVersion {
		return nil, fmt.Errorf("schema version %d, must be %d", s.Version, schemaVersion)
	}
	r := &s.Columns
	if r.Source == "" || r.Target == "" || r.Time == "" {
		return nil, fmt.Errorf("a schema with source %q, destination %q and time %q, each must name a column", r.Source,
			r.Target, r.Time)
	}
	if s.TimeFormat != input.TimeDate && s.TimeFormat != input.TimeNumber ||
		s.TimeUnit != "" && !slices.Contains(Units, s.TimeUnit) {
		return nil, fmt.Errorf("a schema with time format %q and unit %q", s.TimeFormat, s.TimeUnit)
	}
	if nodes, err := s.Nodes.Dictionary(); err != nil {
		return nil, fmt.Errorf("a schema with %w", err)
	} else if nodes != nil && s.Bipartite != (nodes.Sources() > 0) {
		return nil, fmt.Errorf("a schema with bipartite %v and %d sources among its nodes", s.Bipartite,
			nodes.Sources())
	}
	if err := cmp.Or(CheckKinds(s.Kinds), CheckClasses(s.Classes), CheckClasses(s.NodeClasses)); err != nil {
		return nil, err
	}
	if r.Value != "" && !slices.ContainsFunc(r.Edge.Columns, func(c *feature.Column) bool {
		return c != nil && c.Name == r.Value && c.Kind == feature.Number
	}) {
		return nil, fmt.Errorf("a schema with the value %q, which must be among its columns of numbers", r.Value)
	}
	for _, e := range []*Encoding{&r.Edge, &r.Node} {
		if err := e.check(); err != nil {
			return nil, err
		}
		for _, c := range e.Columns {
			if titles, ok := s.Encoded[c.Name]; ok && len(titles) != c.Width() {
				return nil, fmt.Errorf("column %q is in %d encoded columns, must be in %d", c.Name, len(titles),
					c.Width())
			}
		}
	}
	return &s, nil
}

// check says what is wrong with columns that came from a file.
func (e *Encoding) check() error {
	if e.PlainWidth < 0 {
		return fmt.Errorf("%d plain features", e.PlainWidth)
	}
	for _, c := range e.Columns {
		if c == nil {
			return fmt.Errorf("a column that is null")
		}
		if err := c.Check(); err != nil {
			return err
		}
	}
	return nil
}

// Same says whether both encode columns of events in the same way.
func (e *Encoding) Same(o *Encoding) bool {
	a, _ := json.Marshal(e)
	b, _ := json.Marshal(o)
	return string(a) == string(b)
}

// Encoder turns raw columns of events, by name, into features. Any number of goroutines may use it.
type Encoder struct {
	encoding *Encoding
	names    []string
	width    int
}

// Encoder is that of the set's events, nil where none of their features came from columns.
func (s *Set) Encoder() *Encoder {
	if s.Recipe == nil || s.Recipe.Edge.Width() == 0 || s.Recipe.Edge.Width() != s.Edge.Cols {
		return nil
	}
	e := &Encoder{encoding: &s.Recipe.Edge, width: s.Edge.Cols}
	e.names = append(e.names, e.encoding.Plain...)
	for _, c := range e.encoding.Columns {
		c.Prepare()
		e.names = append(e.names, c.Name)
	}
	return e
}

// Names are those of the columns.
func (e *Encoder) Names() []string { return e.names }

// Width is the number of features.
func (e *Encoder) Width() int { return e.width }

// Lists says whether column i holds a list of numbers, and of how many.
func (e *Encoder) Lists(i int) (numbers int, list bool) {
	if i < len(e.encoding.Plain) && e.encoding.PlainWidth != len(e.encoding.Plain) {
		return e.encoding.PlainWidth, true
	}
	return 1, false
}

// Put encodes the cell of column i into the features of an event, which are zero there. Want says what the cell must
// be; "": it is fine.
func (e *Encoder) Put(features []float32, i int, cell []byte) (want string) {
	if i < len(e.encoding.Plain) {
		x, ok := input.ParseFloat(cell)
		if !ok || !input.Finite(float64(float32(x))) {
			return "a finite number that fits into 32 bits"
		}
		features[i] = float32(x)
		return ""
	}
	at := e.encoding.PlainWidth
	for _, c := range e.encoding.Columns[:i-len(e.encoding.Plain)] {
		at += c.Width()
	}
	c := e.encoding.Columns[i-len(e.encoding.Plain)]
	if !c.Encode(cell, features[at:at+c.Width()]) {
		return c.Want()
	}
	return ""
}

// Wrong says what is wrong with features that are said to be encoded: which is none that the columns give. Numbers that
// were not encoded are mostly found by it.
func (e *Encoder) Wrong(features []float32) (at int, want string) {
	lo := e.encoding.PlainWidth
	for _, c := range e.encoding.Columns {
		hi := lo + c.Width()
		if i, want := c.WrongFeature(features[lo:hi]); i >= 0 {
			return lo + i, want + ", of column " + c.Name
		}
		lo = hi
	}
	return -1, ""
}

// Columns describes the columns for whoever writes events.
func (e *Encoder) Columns() (list []ColumnInfo) {
	for _, name := range e.encoding.Plain {
		list = append(list, ColumnInfo{Name: name, Kind: feature.Number})
	}
	for _, c := range e.encoding.Columns {
		list = append(list, ColumnInfo{Name: c.Name, Kind: c.Kind, Values: c.Values[:min(len(c.Values), 50)]})
	}
	return list
}

// ColumnInfo is what a column of events holds.
type ColumnInfo struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`
	Values []string `json:"values,omitempty"` // of categories, the most frequent first
}
