package eval

import (
	"context"
	"fmt"
	"slices"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/replay"
)

// ClassScore is how well one class is told from all others.
type ClassScore struct {
	Class  string  `json:"class"`
	Events int     `json:"events"` // of this class
	F1     float64 `json:"f1"`     // of the likeliest class
	AP     float64 `json:"ap"`
	AUC    float64 `json:"auc"`
}

// RuleScore is what a simple rule achieves on the events of a test: of classes, or of values.
type RuleScore struct {
	Rule     string   `json:"rule"`
	Accuracy *float64 `json:"accuracy,omitempty"`
	MacroF1  *float64 `json:"macro_f1,omitempty"`
	AUC      *float64 `json:"auc,omitempty"`
	MAE      *float64 `json:"mae,omitempty"`
	RMSE     *float64 `json:"rmse,omitempty"`
}

// ClassMeter measures how likely each class was said to be. It knows nothing of who was asked about.
type ClassMeter struct {
	names  []string
	truth  []int32
	shares []float32 // [asked, classes]
	loss   float64
}

// NewClassMeter measures classes with these names.
func NewClassMeter(names []string) *ClassMeter { return &ClassMeter{names: names} }

// Add takes how likely each class was said to be, and which it was.
func (m *ClassMeter) Add(class int, shares []float64) {
	m.truth = append(m.truth, int32(class))
	for _, x := range shares {
		m.shares = append(m.shares, float32(x))
	}
	m.loss += Loss(float32(shares[class]), true)
}

// Put fills in what was measured. Nothing is where nothing was asked.
func (m *ClassMeter) Put(r *Result) {
	n, k := len(m.truth), len(m.names)
	r.Events, r.Classes = n, make([]ClassScore, k)
	if n == 0 {
		return
	}
	said, right := make([]int, k), make([]int, k) // how often each class was the likeliest, and was so rightly
	for i, truth := range m.truth {
		row := m.shares[i*k : (i+1)*k]
		best := slices.Index(row, slices.Max(row))
		said[best]++
		if best == int(truth) {
			right[best]++
		}
		r.Classes[truth].Events++
	}
	var meter Meter
	hits, occur, measured, known := 0, 0, 0, 0.0
	r.AP, r.AUC = 0, 0
	var pos, neg []float32
	for c := range k {
		s := &r.Classes[c]
		s.Class = m.names[c]
		hits += right[c]
		if s.Events+said[c] > 0 {
			s.F1 = 2 * float64(right[c]) / float64(s.Events+said[c])
			known += s.F1
			occur++
		}
		if s.Events == 0 || s.Events == n {
			continue
		}
		pos, neg = pos[:0], neg[:0]
		for i, truth := range m.truth {
			if x := m.shares[i*k+c]; int(truth) == c {
				pos = append(pos, x)
			} else {
				neg = append(neg, x)
			}
		}
		s.AP, s.AUC = meter.Score(pos, neg)
		r.AP, r.AUC = r.AP+s.AP, r.AUC+s.AUC
		measured++
	}
	accuracy, f1, loss := float64(hits)/float64(n), known/float64(max(1, occur)), m.loss/float64(n)
	r.AP, r.AUC = r.AP/float64(max(1, measured)), r.AUC/float64(max(1, measured))
	r.GlobalAP, r.GlobalAUC = r.AP, r.AUC
	r.Accuracy, r.MacroF1, r.Loss = &accuracy, &f1, &loss
}

// ClassRules are rules that count the classes of nodes. Whoever asks sees to the order of time: what is learned of is
// strictly before what is asked about later.
type ClassRules struct {
	names  []string
	all    []float64
	nodes  map[event.Node][]float64
	last   map[event.Node]int
	meters [3]*ClassMeter // by rule
	row    []float64
}

var classRuleNames = [...]string{"majority", "node_last", "node_majority"}

// NewClassRules makes rules that know nothing yet.
func NewClassRules(names []string) *ClassRules {
	c := &ClassRules{names: names, all: make([]float64, len(names)), nodes: map[event.Node][]float64{},
		last: map[event.Node]int{}, row: make([]float64, len(names))}
	for i := range c.meters {
		c.meters[i] = NewClassMeter(names)
	}
	return c
}

// Learn tells the rules the class of a node.
func (c *ClassRules) Learn(node event.Node, class int) {
	if class < 0 {
		return
	}
	if c.nodes[node] == nil {
		c.nodes[node] = make([]float64, len(c.names))
	}
	c.nodes[node][class]++
	c.all[class]++
	c.last[node] = class
}

// Ask lets every rule tell the class of a node, which is this one. A rule that knows nothing of the node says what is
// known of all.
func (c *ClassRules) Ask(node event.Node, class int) {
	c.meters[0].Add(class, c.shares(c.all))
	own := c.nodes[node]
	if own == nil {
		c.meters[1].Add(class, c.shares(c.all))
		c.meters[2].Add(class, c.shares(c.all))
		return
	}
	clear(c.row)
	c.row[c.last[node]] = 1
	c.meters[1].Add(class, c.row)
	c.meters[2].Add(class, c.shares(own))
}

// shares are those of counts, valid until the next call.
func (c *ClassRules) shares(counts []float64) []float64 {
	sum := 0.0
	for _, n := range counts {
		sum += n
	}
	for i, n := range counts {
		c.row[i] = n / max(1, sum)
	}
	return c.row
}

// Scores are what the rules achieved.
func (c *ClassRules) Scores() []RuleScore {
	var list []RuleScore
	for i, name := range classRuleNames {
		var r Result
		if c.meters[i].Put(&r); r.Accuracy != nil {
			list = append(list, RuleScore{Rule: name, Accuracy: r.Accuracy, MacroF1: r.MacroF1, AUC: &r.AUC})
		}
	}
	return list
}

// classesOf replays events and measures how well the scores tell their classes, which have names. Of two classes one
// logit is said, that of the second.
func (p *Protocol) classesOf(ctx context.Context, s replay.Scorer, pass replay.Pass, part Part) (Result, error) {
	meter, asked := NewClassMeter(p.classes.Names), newAsked(p)
	k, seen := len(p.classes.Names), 0
	row := make([]float64, k)
	outputs := outputsOf(k)
	var logits []float32
	for step, err := range pass.Batches(ctx, s, p.parts[part].All()) {
		if err == nil {
			n := step.Span.Len() * outputs
			logits = slices.Grow(logits[:0], n)[:n]
			err = s.Score(step.Batch, logits)
		}
		if err != nil {
			return Result{}, fmt.Errorf("classify: %w", err)
		}
		for i := range step.Span.Len() {
			class := p.classes.Of(step.Span.Label(i))
			if seen++; class < 0 { // nobody knows what would be right
				continue
			}
			if !ClassShares(row, logits[i*outputs:(i+1)*outputs]) {
				return Result{}, fmt.Errorf("classify: event %d got NaN, must be a number", seen-1)
			}
			meter.Add(class, row)
			asked.note(step.Span.Edge(i))
		}
		if over(p.until) {
			break
		}
	}
	r := Result{Batches: batches(len(meter.truth), BatchSize)}
	if meter.Put(&r); r.Events == 0 {
		return r, nil
	}
	r.Positives = r.Events
	r.note(p.asked(part, seen), nil, nil)
	if part == Test || part == NewTest {
		rules := NewClassRules(p.classes.Names)
		replay := asked.replay
		if p.beside {
			replay = asked.replayBeside
		}
		replay(func(e event.Event) { rules.Ask(e.Src, p.classes.Of(e.Label)) },
			func(e event.Event) { rules.Learn(e.Src, p.classes.Of(e.Label)) })
		r.Rules = rules.Scores()
	}
	return r, nil
}

// outputsOf is how many logits are said of this many classes.
func outputsOf(classes int) int {
	if classes > 2 {
		return classes
	}
	return 1
}

// ClassShares is how likely each class is: the softmax of its logits, or of two classes the sigmoid of the one logit,
// that of the second. It says whether all are numbers.
func ClassShares(shares []float64, logits []float32) bool {
	if len(logits) == 1 {
		shares[0], shares[1] = 0, float64(logits[0])
	} else {
		for i, x := range logits {
			shares[i] = float64(x)
		}
	}
	softmax(shares)
	return shares[0] == shares[0]
}

// asked are events that were asked about, to ask rules about the same.
type asked struct {
	protocol *Protocol
	is       []bool // by edge
}

func newAsked(p *Protocol) *asked { return &asked{protocol: p} }

func (a *asked) note(e event.Edge) {
	if int(e) >= len(a.is) {
		a.is = append(a.is, make([]bool, int(e)+1-len(a.is))...)
	}
	a.is[e] = true
}

// replay walks through all events in the order of time: asks about those of one instant, then tells of them.
func (a *asked) replay(ask, learn func(event.Event)) {
	a.walk(a.protocol.whole.Full.All(), ask, learn)
}

// replayBeside does so with what lies beside the events.
func (a *asked) replayBeside(ask, learn func(event.Event)) {
	w := a.protocol.whole
	for _, part := range []*event.Log{w.Train, w.Val, w.Test} { // the cuts lie between instants
		a.walk(part.All(), ask, learn)
	}
}

func (a *asked) walk(all event.Span, ask, learn func(event.Event)) {
	for lo := 0; lo < all.Len(); {
		hi := lo + 1
		for hi < all.Len() && all.Time[hi] == all.Time[lo] {
			hi++
		}
		for i := lo; i < hi; i++ {
			if e := all.Edge(i); int(e) < len(a.is) && a.is[e] {
				ask(all.At(i))
			}
		}
		for i := lo; i < hi; i++ {
			learn(all.At(i))
		}
		lo = hi
	}
}
