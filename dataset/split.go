package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"sort"
	"strconv"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/mersenne"
	"github.com/dygmamba/dygmamba/internal/pyset"
	"github.com/dygmamba/dygmamba/internal/rng"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
)

// SplitOptions says how to cut a stream of events. The zero value is the published protocol.
type SplitOptions struct {
	Val, Test float64           // shares of the time line's events, from the end; both 0: 0.15 each
	Sampling  protocol.Sampling // "" is protocol.Reference: who draws the unseen nodes
	Seed      uint64            // native: of the draw; the reference always takes 2020
}

// Split is a stream cut by time: Train up to ValTime, Val up to TestTime, Test after it. Logs keep edge ids and order;
// any may be empty.
//
// Every tenth node, drawn from those that occur after ValTime, is hidden from Train: events that touch one are in no
// other log than Full. The events of Val and Test with a node that Train does not show are repeated in NewVal and
// NewTest, the inductive sets.
type Split struct {
	Train, Val, Test  *event.Log
	NewVal, NewTest   *event.Log
	Full              *event.Log
	NewNodes          []event.Node // ascending: all that Train does not show, drawn or not
	ValTime, TestTime event.Time
	TrainHash         string // SHA-256 of Train's edge ids in decimal, joined by commas
	// SHA-256 of the same for train, val, test, new val and new test, each followed by a newline
	Hash string
}

// NewSplit cuts a log for link prediction.
func NewSplit(l *event.Log, o SplitOptions) (*Split, error) {
	s, err := cut(l, &o)
	if err != nil {
		return nil, err
	}
	all := l.All()
	occurring := newMarks(l.NumNodes())
	for n, count := range index.Totals(l, l.Len()) {
		if count > 0 {
			occurring.add(event.Node(n))
		}
	}
	hidden, err := s.hiddenNodes(occurring.count(), o)
	if err != nil {
		return nil, err
	}
	s.Train = l.Select(func(i int) bool {
		return all.Time[i] <= s.ValTime && !hidden.has(all.Src[i]) && !hidden.has(all.Dst[i])
	})
	unseen := occurring
	for i, seen := range occurs(s.Train.All(), l.NumNodes()) {
		unseen[i] &^= seen
	}
	s.NewNodes = unseen.list()
	s.NewVal, s.NewTest = touching(s.Val, unseen), touching(s.Test, unseen)
	s.seal()
	return s, nil
}

// NewLabelSplit cuts a log for node classification: by time alone, no node is hidden.
func NewLabelSplit(l *event.Log, o SplitOptions) (*Split, error) {
	s, err := cut(l, &o)
	if err != nil {
		return nil, err
	}
	s.Train = until(l, math.Inf(-1), s.ValTime)
	s.seal()
	return s, nil
}

// NewNodeLabelSplit cuts the labels of a set's nodes, which have times of their own, where NewLabelSplit cuts the
// events. Train, Val and Test are labels as NodeLabels.Log has them; Full is all events.
func NewNodeLabelSplit(s *Set, o SplitOptions) (*Split, error) {
	split, err := cut(s.Log, &o)
	if err != nil {
		return nil, err
	}
	labels := s.NodeLabels.Log()
	split.Train = until(labels, math.Inf(-1), split.ValTime)
	split.Val = until(labels, split.ValTime, split.TestTime)
	split.Test = until(labels, split.TestTime, math.Inf(1))
	split.seal()
	return split, nil
}

// NewOrderSplit cuts a log for the task "next": by the places of events in the order of time, at 70 and 85 % of them.
// No node is hidden. Events of one instant may lie on both sides of a cut.
func NewOrderSplit(l *event.Log) (*Split, error) {
	if l.Len() == 0 {
		return nil, fmt.Errorf("split a log without events: at least one is needed")
	}
	l = l.InOrder()
	val, test := l.Len()*7/10, l.Len()*85/100
	s := &Split{Full: l, Train: l.Part(0, val), Val: l.Part(val, test), Test: l.Part(test, l.Len()),
		NewVal: event.NewLog(0), NewTest: event.NewLog(0), ValTime: l.At(val).Time, TestTime: l.At(test).Time}
	s.seal()
	return s, nil
}

// Block is a split of a shorter stream: the latest training events, then events for validation, then events for the
// test, one after another as they come in Val and Test. Full begins with the first of the training events and ends with
// the last of the test. Each may have fewer events than asked for.
func (s *Split) Block(train, val, test int) *Split {
	train, val = min(train, s.Train.Len()), min(val, s.Val.Len())
	between := min(test, s.Val.Len()-val) // test events that lie in the period of validation
	after := min(test-between, s.Test.Len())
	b := &Split{NewNodes: s.NewNodes,
		Train: copied(s.Train.Span(s.Train.Len()-train, s.Train.Len())), Val: copied(s.Val.Span(0, val)),
		Test: copied(s.Val.Span(val, val+between), s.Test.Span(0, after))}
	b.ValTime, b.TestTime = lastTime(s.ValTime, b.Train), lastTime(s.TestTime, b.Train, b.Val)
	times := s.Full.All().Time
	lo, last := 0, lastTime(s.TestTime, b.Train, b.Val, b.Test)
	if train > 0 {
		lo = sort.SearchFloat64s(times, b.Train.At(0).Time)
	}
	hi := sort.Search(len(times), func(i int) bool { return times[i] > last })
	b.Full = copied(s.Full.Span(lo, max(lo, hi)))
	unseen := newMarks(s.Full.NumNodes())
	for _, n := range s.NewNodes {
		unseen.add(n)
	}
	b.NewVal, b.NewTest = touching(b.Val, unseen), touching(b.Test, unseen)
	b.seal()
	return b
}

// Everything is a split that keeps nothing for validation and test: Train is Full.
func (s *Split) Everything() *Split {
	none := event.NewLog(0)
	last := lastTime(s.TestTime, s.Full)
	all := &Split{Train: s.Full, Val: none, Test: none, NewVal: none, NewTest: none, Full: s.Full, ValTime: last,
		TestTime: last}
	all.seal()
	return all
}

// copied is a log of the events of some spans.
func copied(spans ...event.Span) *event.Log {
	n := 0
	for _, s := range spans {
		n += s.Len()
	}
	out := event.NewLog(n)
	for _, s := range spans {
		for i := range s.Len() {
			out.Append(s.At(i)) // which was accepted before
		}
	}
	return out
}

// lastTime is the time of the last event of some logs, one after another.
func lastTime(otherwise event.Time, logs ...*event.Log) event.Time {
	for _, l := range logs {
		if l.Len() > 0 {
			otherwise = l.At(l.Len() - 1).Time
		}
	}
	return otherwise
}

// Quantile is the q-quantile of ascending values with linear interpolation, to the last bit as NumPy's. It is NaN for
// no values.
func Quantile(sorted []float64, q float64) float64 { return data.Quantile(sorted, q) }

// QuantileOf is the Quantile of n ascending values that are not in one slice.
func QuantileOf(n int, value func(i int) float64, q float64) float64 {
	return data.QuantileOf(n, value, q)
}

// cut makes the sets that depend on time alone, all but Train.
func cut(l *event.Log, o *SplitOptions) (*Split, error) {
	if o.Val == 0 && o.Test == 0 {
		o.Val, o.Test = data.ValShare, data.TestShare
	}
	switch {
	case !(o.Val > 0 && o.Test > 0 && o.Val+o.Test < 1):
		return nil, fmt.Errorf("split into shares of %v for validation and %v for test: both must be above 0 and sum "+
			"to less than 1", o.Val, o.Test)
	case l.Len() == 0:
		return nil, fmt.Errorf("split a log without events: at least one is needed")
	}
	if err := l.Verify(); err != nil {
		return nil, err
	}
	times := l.All().Time
	if !l.Sorted() {
		times = slices.Clone(times)
		slices.Sort(times)
	}
	s := &Split{Full: l, ValTime: Quantile(times, 1-o.Val-o.Test), TestTime: Quantile(times, 1-o.Test)}
	s.Val = until(l, s.ValTime, s.TestTime)
	s.Test = until(l, s.TestTime, math.Inf(1))
	s.NewVal, s.NewTest = event.NewLog(0), event.NewLog(0)
	return s, nil
}

// until is the events after a time up to another.
func until(l *event.Log, after, last event.Time) *event.Log {
	at := l.All().Time
	if !l.Sorted() {
		return l.Select(func(i int) bool { return after < at[i] && at[i] <= last })
	}
	upTo := func(t event.Time) int { return sort.Search(len(at), func(i int) bool { return at[i] > t }) }
	return l.Part(upTo(after), upTo(last))
}

// hiddenNodes draws a tenth of as many nodes as occur from those that occur after the training period.
func (s *Split) hiddenNodes(occurring int, o SplitOptions) (marks, error) {
	nodes := s.Full.NumNodes()
	var draw func(n, k int) []int32
	var candidates []event.Node
	switch o.Sampling {
	case protocol.Reference, "":
		draw = mersenne.NewPython(2020).Sample
		candidates = candidateOrder(s.Full.All(), s.ValTime)
	case protocol.Native:
		draw = rng.New(o.Seed, "unseen nodes").Sample
		candidates = occurs(s.Val.All(), nodes).or(occurs(s.Test.All(), nodes)).list()
	default:
		return nil, protocol.Check("sampling", o.Sampling, protocol.Samplings())
	}
	hidden := newMarks(nodes)
	for _, i := range draw(len(candidates), min(int(0.1*float64(occurring)), len(candidates))) {
		hidden.add(candidates[i])
	}
	return hidden, nil
}

// candidateOrder is every node of an event after valTime, as CPython walks set(sources) | set(destinations). The
// reference draws by position, so the order decides who is drawn.
func candidateOrder(all event.Span, valTime event.Time) []event.Node {
	var sources, dests, union pyset.Set
	for i, at := range all.Time {
		if at > valTime {
			sources.Add(uint64(all.Src[i]))
			dests.Add(uint64(all.Dst[i]))
		}
	}
	union.Merge(&sources)
	union.Merge(&dests)
	keys := union.AppendTo(nil)
	nodes := make([]event.Node, len(keys))
	for i, key := range keys {
		nodes[i] = event.Node(key)
	}
	return nodes
}

func (s *Split) seal() {
	all := sha256.New()
	writeEdges(all, s.Train)
	s.TrainHash = hex.EncodeToString(all.Sum(nil))
	for _, l := range []*event.Log{s.Val, s.Test, s.NewVal, s.NewTest} {
		io.WriteString(all, "\n")
		writeEdges(all, l)
	}
	io.WriteString(all, "\n")
	s.Hash = hex.EncodeToString(all.Sum(nil))
}

// writeEdges writes the edge ids of a log. They are turned into text on all processors, ahead of what is written.
func writeEdges(w io.Writer, l *event.Log) {
	const some = 1 << 16
	all := l.All()
	ahead := make(chan chan []byte, runtime.GOMAXPROCS(0))
	spare := make(chan []byte, cap(ahead)+2)
	go func() {
		defer close(ahead)
		for part := range all.Batches(some) {
			text := make(chan []byte, 1)
			ahead <- text
			go func() {
				var line []byte
				select {
				case line = <-spare:
				default:
				}
				text <- appendEdges(line[:0], part, part.First() > all.First())
			}()
		}
	}()
	for text := range ahead {
		line := <-text
		w.Write(line)
		select {
		case spare <- line:
		default:
		}
	}
}

func appendEdges(line []byte, s event.Span, comma bool) []byte {
	for i := range s.Len() {
		if comma || i > 0 {
			line = append(line, ',')
		}
		line = strconv.AppendInt(line, int64(s.Edge(i)), 10)
	}
	return line
}

// Availability measures how much history there is to answer queries from: for both ends of each query, the number of
// interactions strictly before its time. Over the positives and negatives of a test set this is the number of available
// historical neighbours of the DyGMamba paper's appendix, as far as that defines it. The zero value is ready for use.
type Availability struct {
	Ends int   // of queries
	Sum  int64 // interactions
	Max  int   // of one end
}

// Add takes queries over a past.
func (a *Availability) Add(past index.View, qs []sample.Query) {
	for _, q := range qs {
		a.Count(past.Before(q.Src, q.Time).Len(), past.Before(q.Dst, q.Time).Len())
	}
}

// Count takes the numbers of earlier interactions of both ends of a query.
func (a *Availability) Count(src, dst int) {
	a.Ends += 2
	a.Sum += int64(src) + int64(dst)
	a.Max = max(a.Max, src, dst)
}

// Mean is the average over all ends, 0 without any.
func (a *Availability) Mean() float64 {
	if a.Ends == 0 {
		return 0
	}
	return float64(a.Sum) / float64(a.Ends)
}
