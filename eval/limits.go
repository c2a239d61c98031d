package eval

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/rng"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/protocol"
)

// Limits keep a protocol to a part of the events, so that training and measuring fit into a time. The zero value keeps
// all of them.
//
// Training takes the latest events. Validation and test take batches that are drawn at random, always the same for a
// number of events: their mean over batches is that of all, give or take what Result.APInterval says. A model with
// memory or state cannot leave out batches: it gets a block of consecutive events, see Block.
type Limits struct {
	Train int `json:"train,omitempty"` // events of an epoch, the latest; 0: all
	Val   int `json:"val,omitempty"`   // at most this many of Val and of NewVal, in whole batches; 0: all
	Test  int `json:"test,omitempty"`  // the same for Test and NewTest
	// Block makes the stream itself shorter: it begins with the training events, where all state is empty, then come
	// Val events for validation, then Test events for the test, with nothing left out in between. Negatives are drawn
	// from all events.
	Block bool `json:"block,omitempty"`
}

// Any says whether something is limited.
func (l Limits) Any() bool { return l != Limits{} }

// Sampled says which part of the events was used.
type Sampled struct {
	Events int `json:"events"`
	Of     int `json:"of"`
	// Kind is SampleRandom, SampleBlock or SampleLatest.
	Kind string `json:"kind"`
	// Batches were drawn of a random sample. The time may have been up before all of them were asked about; then Events
	// counts the first.
	Batches int        `json:"batches,omitempty"`
	First   event.Time `json:"first"` // times of the first and the last event
	Last    event.Time `json:"last"`
	// Empty: memory or state knew nothing before the first training event.
	Empty bool   `json:"state_began_empty,omitempty"`
	Hash  string `json:"events_sha256,omitempty"` // of the edge ids in decimal, joined by commas
}

// The kinds of samples.
const (
	SampleRandom = "random batches" // drawn from a fixed seed
	SampleBlock  = "block"          // consecutive events right after those before
	SampleLatest = "latest"         // training events up to the last
)

// Limit is the protocol kept to a part of the events. It shares generators and indexes with p where they stay the same.
func (p *Protocol) Limit(l Limits) *Protocol {
	other := *p
	if p.beside { // whoever is asked about, all events are there
		l.Block = false
	}
	other.limits = l
	if l.Block {
		other.split = p.whole.Block(l.Train, l.Val, l.Test)
		other.begin()
		return &other
	}
	for part := range other.parts {
		other.take(Part(part), map[bool]int{false: l.Val, true: l.Test}[isTest(Part(part))])
	}
	return &other
}

// Tested is the protocol with at most this many events of Test and of NewTest, in whole batches: a random sample, or
// the first of a block; 0: all.
func (p *Protocol) Tested(events int) *Protocol {
	other := *p
	for _, part := range []Part{Test, NewTest} {
		other.take(part, events)
	}
	return &other
}

// Until lets evaluations end when a time has come, once they have measured something: see Sampled.
func (p *Protocol) Until(end time.Time) *Protocol {
	other := *p
	other.until = end
	return &other
}

// Continued is the protocol of a model whose memory knows of events before the first training event of a block.
func (p *Protocol) Continued() *Protocol {
	other := *p
	other.continued = true
	return &other
}

// beganEmpty says whether memory or state knew nothing before the first training event, though there were events.
func (p *Protocol) beganEmpty() bool { return p.limits.Block && !p.continued }

func isTest(part Part) bool { return part == Test || part == NewTest }

// Limits are those of the protocol.
func (p *Protocol) Limits() Limits { return p.limits }

// TrainEvents are the events of an epoch.
func (p *Protocol) TrainEvents() event.Span {
	all := p.split.Train.All()
	if n := p.limits.Train; n > 0 && n < all.Len() {
		return all.Slice(all.Len()-n, all.Len())
	}
	return all
}

// CountedEvents are what the task next counts in training: all training events, or where training is limited those of
// an epoch and as many before them.
func (p *Protocol) CountedEvents() event.Span {
	all := p.split.Train.All()
	if n := p.limits.Train; n > 0 && 2*n < all.Len() {
		return all.Slice(all.Len()-2*n, all.Len())
	}
	return all
}

// SampledTrain says which training events an epoch has, nil if all.
func (p *Protocol) SampledTrain() *Sampled {
	events := p.TrainEvents()
	if events.Len() >= p.whole.Train.Len() {
		return nil
	}
	s := sampledSpan(events, SampleLatest, p.whole.Train.Len())
	s.Empty = p.beganEmpty()
	return s
}

// SampledPart says which events of a part are asked about, nil if all.
func (p *Protocol) SampledPart(part Part) *Sampled {
	log, of := p.parts[part], p.wholePart(part)
	if log.Len() == 0 || log.Len() >= of && !p.limits.Block {
		return nil
	}
	if p.inOrder() {
		s := sampledSpan(log.All(), SampleBlock, of)
		s.Empty = p.beganEmpty()
		return s
	}
	s := sampledSpan(log.All(), SampleRandom, of)
	s.Batches = batches(log.Len(), p.batchSize())
	return s
}

// asked is SampledPart of an evaluation that may have ended after some of the part's events.
func (p *Protocol) asked(part Part, events int) *Sampled {
	log := p.parts[part]
	s := p.SampledPart(part)
	if events == 0 || events >= log.Len() {
		return s
	}
	first := sampledSpan(log.Span(0, events), SampleBlock, p.wholePart(part))
	if s != nil && s.Kind == SampleRandom {
		first.Kind, first.Batches = s.Kind, s.Batches
	}
	first.Empty = p.beganEmpty()
	return first
}

func sampledSpan(events event.Span, kind string, of int) *Sampled {
	n := events.Len()
	return &Sampled{Events: n, Of: of, Kind: kind, First: events.Time[0], Last: events.Time[n-1],
		Hash: HashEdges(events)}
}

// HashEdges is the SHA-256 of edge ids in decimal, joined by commas: which events these are.
func HashEdges(events event.Span) string {
	h := sha256.New()
	var line []byte
	for i := range events.Len() {
		if i > 0 {
			line = append(line, ',')
		}
		line = strconv.AppendInt(line, int64(events.Edge(i)), 10)
	}
	h.Write(line)
	return hex.EncodeToString(h.Sum(nil))
}

// wholePart is how many events a part has without limits.
func (p *Protocol) wholePart(part Part) int {
	w := p.whole
	return [...]int{w.Val.Len(), w.NewVal.Len(), w.Test.Len(), w.NewTest.Len()}[part]
}

// take makes a part have at most a number of its events; 0: all.
func (p *Protocol) take(part Part, events int) {
	p.parts[part] = p.pools[part]
	if log, size := p.pools[part], p.batchSize(); events > 0 && events < log.Len() {
		wanted := max(1, events/size)
		if p.inOrder() {
			n := min(wanted*size, log.Len())
			p.parts[part] = log.Select(func(i int) bool { return i < n })
		} else {
			p.parts[part] = drawBatches(log, size, wanted, part)
		}
	}
	if isTest(part) {
		p.findFirsts(part)
	}
}

// inOrder says whether nothing can be left out between the events of a part: a sample is its first events.
func (p *Protocol) inOrder() bool { return p.limits.Block || p.Task() != protocol.LinkPrediction }

// As is the protocol with a part that has the events of a record; nil: all.
func (p *Protocol) As(part Part, s *Sampled) *Protocol {
	other := *p
	if s == nil {
		other.take(part, 0)
		return &other
	}
	other.take(part, s.Batches*p.batchSize())
	if log := other.parts[part]; s.Events < log.Len() { // the time was up
		other.parts[part] = log.Select(func(i int) bool { return i < s.Events })
		other.findFirsts(part)
	}
	return &other
}

// drawBatches keeps some of a log's batches, in order: drawn from a seed of the part's, whatever trains and on whatever
// machine.
func drawBatches(l *event.Log, size, wanted int, part Part) *event.Log {
	n := batches(l.Len(), size)
	if wanted >= n {
		return l
	}
	keep := make([]bool, n)
	for _, b := range rng.New(uint64(part), "sampled batches").Sample(n, wanted) {
		keep[b] = true
	}
	return l.Select(func(i int) bool { return keep[i/size] })
}

// batches is how many there are of some events.
func batches(events, size int) int { return (events + size - 1) / size }

func (p *Protocol) batchSize() int {
	if p.options.BatchSize > 0 {
		return p.options.BatchSize
	}
	return BatchSize
}

// spread adds up a measure of batches, for the confidence interval of its mean.
type spread struct{ n, sum, squares float64 }

func (s *spread) add(x float64) { s.n, s.sum, s.squares = s.n+1, s.sum+x, s.squares+x*x }

// interval is the 95 % confidence interval of the mean over all batches, of which those that were added are a random
// sample; nil where fewer than two were. It is not made narrower where that is a large share of all: these have other
// negatives than in a test of all.
func (s *spread) interval() *[2]float64 {
	if s.n < 2 {
		return nil
	}
	mean := s.sum / s.n
	variance := max(0, s.squares-s.n*mean*mean) / (s.n - 1)
	half := studentT(int(s.n)-1) * math.Sqrt(variance/s.n)
	return &[2]float64{max(0, mean-half), min(1, mean+half)}
}

// studentT is the 97.5 % quantile of Student's t distribution, by its expansion around the normal one (Abramowitz and
// Stegun, 26.7.5), which is 0.3 % off with four degrees of freedom; fewer have a table.
func studentT(degrees int) float64 {
	few := [...]float64{math.Inf(1), 12.7062, 4.3027, 3.1824}
	if degrees < len(few) {
		return few[degrees]
	}
	const z = 1.959964
	n, z2 := float64(degrees), z*z
	g1 := (z2 + 1) * z / 4
	g2 := (5*z2*z2 + 16*z2 + 3) * z / 96
	g3 := (3*z2*z2*z2 + 19*z2*z2 + 17*z2 - 15) * z / 384
	return z + g1/n + g2/(n*n) + g3/(n*n*n)
}

// note writes down which part of the events a result is of, and what that leaves open.
func (r *Result) note(s *Sampled, ap, auc *spread) {
	if r.Sampled = s; s != nil && ap != nil {
		r.APInterval, r.AUCInterval = ap.interval(), auc.interval()
	}
}

// String says it in a few words: "the latest 1,000 of 70,000 events".
func (s *Sampled) String() string {
	text := fmt.Sprintf("%s of %s events", term.Count(s.Events), term.Count(s.Of))
	switch s.Kind {
	case SampleLatest:
		return "the latest " + text
	case SampleBlock:
		return text + " (consecutive)"
	}
	return text + " (random batches)"
}
