// Package data answers: what is a data set, once it is read?
//
// A Set is events in time order, features as plain rows, and what its nodes were called. Whoever reads or makes one
// returns it, whatever the form it came in.
package data

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"
	"slices"
	"unsafe"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/await"
	"github.com/dygmamba/dygmamba/internal/idset"
	"github.com/dygmamba/dygmamba/protocol"
)

// Set is one data set, ready to be split and replayed. Events are in time order, ties in the order of the source.
type Set struct {
	Name       string
	Path       string // where Open found it, absolute; "" in the user's cache, where its name finds it from anywhere
	Log        *event.Log
	Node, Edge Features          // row = id; row 0 is padding
	Timeline   *Timeline         // features of nodes that change over time; nil: those of Node hold always
	NodeLabels *NodeLabels       // classes of nodes at times of their own; nil: labels are those of events
	Names      *Names            // what the nodes were called; nil: ids are their own names
	Bipartite  bool              // no node is both a source and a destination
	Sampling   protocol.Sampling // the default for this data
	TimeFormat string            // TimeNumber or TimeDate: how times were written in the source
	TimeUnit   string            // of Unix times, one of Units; "": nobody wrote it down, see Clock
	Warnings   []string          // what a user should know, one line each
	From       []string          // files that were imported
	Kinds      []string          // names of the kinds of events 1, 2, …; nil: events have none
	Classes    []string          // names of the classes of labels 1, 2, …, 0 is none; nil: labels are numbers
	Values     []float64         // of events, by edge; nil: they have none
	IDs        *IDs              // what events were called; nil: they have no ids
	Recipe     *Recipe           // how tables became this set; nil: it came from none

	release func() error
	known   known
}

// known is a hash that need not be computed, and what it is of.
type known struct {
	hash       string
	log        *event.Log
	events     int
	node, edge Features
	timeline   *Timeline
	labels     *NodeLabels
}

// Know tells the hash of the set as it is, for Hash. It is forgotten where events or features are replaced.
func (s *Set) Know(hash string) {
	s.known = known{hash, s.Log, s.Log.Len(), s.Node, s.Edge, s.Timeline, s.NodeLabels}
}

// OnClose says how Close releases the memory behind the set.
func (s *Set) OnClose(release func() error) { s.release = release }

// Close releases the file behind a set opened from a native file; its log and features must not be used afterwards.
// Other sets need no closing.
func (s *Set) Close() error {
	if s.release == nil || await.Abandoned() { // it may be read yet, by what ends with the process
		return nil
	}
	release := s.release
	s.release = nil
	return release()
}

// First is a set of the first n events with their features, what was known before the others came. It shares the memory
// of s, which must stay open.
func (s *Set) First(n int) *Set {
	first := *s
	first.release = nil
	first.Log = s.Log.Select(func(i int) bool { return i < n })
	first.Edge.Rows = n + 1
	if first.Values != nil {
		first.Values = first.Values[:n+1]
	}
	if first.Edge.Data != nil {
		first.Edge.Data = first.Edge.Data[:(n+1)*first.Edge.Cols]
	}
	return &first
}

// NumNodes is 1 + the largest node id, the rows of a table indexed by node.
func (s *Set) NumNodes() int { return max(s.Log.NumNodes(), s.Node.Rows) }

// Hash is the SHA-256 of what a model can see: events in order, and features. It does not depend on the file the set
// came from.
func (s *Set) Hash() string {
	k := s.known
	if k.hash != "" && k.log == s.Log && k.events == s.Log.Len() && k.node.is(s.Node) && k.edge.is(s.Edge) &&
		k.timeline == s.Timeline && k.labels == s.NodeLabels {
		return k.hash
	}
	h := sha256.New()
	hashEvents(h, s.Log.All())
	hashKinds(h, s.Log.All())
	hashValues(h, s.Values)
	hashFeatures(h, s.Node)
	hashFeatures(h, s.Edge)
	hashTimeline(h, s.Timeline)
	hashNodeLabels(h, s.NodeLabels)
	return hex.EncodeToString(h.Sum(nil))
}

// Features is a row-major matrix. Data nil: all zero. Row 0 belongs to no node or event.
type Features struct {
	Rows, Cols int
	Data       []float32
}

// is says whether both are the same memory.
func (f Features) is(g Features) bool {
	return f.Rows == g.Rows && f.Cols == g.Cols && len(f.Data) == len(g.Data) &&
		unsafe.SliceData(f.Data) == unsafe.SliceData(g.Data)
}

// Row is the i-th row, nil when all features are zero.
func (f Features) Row(i int) []float32 {
	if f.Data == nil {
		return nil
	}
	return f.Data[i*f.Cols : (i+1)*f.Cols]
}

// hashEvents feeds one little-endian record per event: source, destination, edge id, bits of time, bits of label.
func hashEvents(h hash.Hash, all event.Span) {
	const record = 4 + 4 + 4 + 8 + 4
	buf := make([]byte, 0, 4096*record)
	for i := range all.Len() {
		e := all.At(i)
		buf = binary.LittleEndian.AppendUint32(buf, uint32(e.Src))
		buf = binary.LittleEndian.AppendUint32(buf, uint32(e.Dst))
		buf = binary.LittleEndian.AppendUint32(buf, uint32(e.Edge))
		buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits(e.Time))
		buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(e.Label))
		if len(buf) == cap(buf) {
			h.Write(buf)
			buf = buf[:0]
		}
	}
	h.Write(buf)
}

// hashKinds feeds the kinds of events, and nothing where they have none: older sets keep their hash.
func hashKinds(h hash.Hash, all event.Span) {
	if !all.HasKinds() {
		return
	}
	buf := make([]byte, 0, 64<<10)
	buf = append(buf, "kinds"...)
	for i := range all.Len() {
		if len(buf)+2 > cap(buf) {
			h.Write(buf)
			buf = buf[:0]
		}
		buf = binary.LittleEndian.AppendUint16(buf, all.Kind(i))
	}
	h.Write(buf)
}

// hashValues feeds the values of events in the order of edges, and nothing where they have none.
func hashValues(h hash.Hash, values []float64) {
	if values == nil {
		return
	}
	buf := make([]byte, 0, 64<<10)
	buf = append(buf, "values"...)
	for _, x := range values {
		if len(buf)+8 > cap(buf) {
			h.Write(buf)
			buf = buf[:0]
		}
		buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits(x))
	}
	h.Write(buf)
}

// hashFeatures feeds rows, columns and values. A matrix of zeros is the same whether stored or not, and whatever its
// width.
func hashFeatures(h hash.Hash, f Features) {
	buf := make([]byte, 0, 64<<10)
	if f.Data == nil {
		f = Features{}
	}
	buf = binary.LittleEndian.AppendUint64(buf, uint64(f.Rows))
	buf = binary.LittleEndian.AppendUint64(buf, uint64(f.Cols))
	for _, v := range f.Data {
		if len(buf)+4 > cap(buf) {
			h.Write(buf)
			buf = buf[:0]
		}
		buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v))
	}
	h.Write(buf)
}

// Bipartite says whether no node is both a source and a destination.
func Bipartite(l *event.Log) bool {
	var sources idset.Set
	all := l.All()
	for _, u := range all.Src {
		sources.Add(u)
	}
	return all.Len() > 0 && !slices.ContainsFunc(all.Dst, sources.Has)
}

// Featureless is a set of events alone.
func Featureless(name string, log *event.Log) *Set {
	return &Set{Name: name, Log: log, Node: Features{Rows: log.NumNodes()}, Edge: Features{Rows: log.Len() + 1},
		Bipartite: Bipartite(log), Sampling: protocol.Reference, TimeFormat: input.TimeNumber}
}

// Slice is the part of a set that happened from a time on and before another. Nodes keep their ids, names and features,
// also those that have no events there, so that what was trained on the whole can be asked about the part. Events are
// numbered anew. The part is in memory of its own, but for names and features of nodes.
func Slice(s *Set, from, to event.Time) *Set {
	all := s.Log.All()
	kept := make([]int, 0, all.Len())
	for i, at := range all.Time {
		if at >= from && at < to {
			kept = append(kept, i)
		}
	}
	part := pick(s, kept)
	part.NodeLabels = s.NodeLabels.picked(func(at event.Time) bool { return at >= from && at < to },
		func(n event.Node) event.Node { return n })
	return part
}

// pick is a set of some events, given by their places in the log.
func pick(s *Set, kept []int) *Set {
	all := s.Log.All()
	part := *s
	part.release = nil
	part.Path = ""
	part.Log = event.NewLog(len(kept))
	part.Edge = Features{Rows: len(kept) + 1, Cols: s.Edge.Cols}
	if s.Edge.Data != nil {
		part.Edge.Data = make([]float32, part.Edge.Rows*part.Edge.Cols)
	}
	// In the order of their old ids, which is the one in which they came.
	order, number := make([]int, len(kept)), make([]event.Edge, len(kept))
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(a, b int) int { return int(all.Edge(kept[a])) - int(all.Edge(kept[b])) })
	if s.IDs != nil {
		part.IDs = &IDs{}
	}
	if s.Values != nil {
		part.Values = make([]float64, len(kept)+1)
	}
	for k, i := range order {
		number[i] = event.Edge(k + 1)
		if s.IDs != nil {
			part.IDs.Text = append(part.IDs.Text, s.IDs.At(int(all.Edge(kept[i])))...)
			part.IDs.Ends = append(part.IDs.Ends, int64(len(part.IDs.Text)))
		}
	}
	for k, i := range kept {
		e := all.At(i)
		if s.Values != nil {
			part.Values[number[k]] = s.Values[e.Edge]
		}
		if s.Edge.Data != nil {
			copy(part.Edge.Row(int(number[k])), s.Edge.Row(int(e.Edge)))
		}
		e.Edge = number[k]
		if _, err := part.Log.Append(e); err != nil {
			panic(err) // the other log has accepted it
		}
	}
	return &part
}
