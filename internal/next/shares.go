package next

import (
	"math"
	"runtime"
	"sync"

	"github.com/dygmamba/dygmamba/event"
)

// Net is a trained network: it turns features into logits, which mean something within a group of candidates.
type Net interface {
	// Groups are the logits of the three groups.
	Groups(source []float32) ([Groups]float32, error)
	// Scores writes the logits of len(out) candidates of one group; x has their features row by row.
	Scores(group Group, x, out []float32) error
}

// Shares are the probabilities of all destinations that were seen, and of a new one. They sum to 1.
type Shares struct {
	Nodes []event.Node
	Share []float64 // of Nodes
	New   float64
}

// Of is the probability of a destination. One that was never seen has that of a new one.
func (s *Shares) Of(v event.Node) float64 {
	for i, x := range s.Nodes {
		if x == v {
			return s.Share[i]
		}
	}
	return s.New
}

// Bits is −log₂ of the probability of a destination.
func (s *Shares) Bits(v event.Node) float64 {
	return -math.Log2(max(s.Of(v), math.SmallestNonzeroFloat64))
}

// Asker asks a net about all candidates. One goroutine at a time may use it.
type Asker struct {
	net     Net
	threads int
	members []event.Node
	x       []float32
	logits  []float32
	answer  Shares
	short   []event.Node
}

// NewAsker makes an asker whose features are computed on this many threads; 0: as many as Go may use. Their number
// changes no answer.
func NewAsker(net Net, threads int) *Asker {
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	return &Asker{net: net, threads: threads}
}

// Shares asks about everyone. The answer is valid until the next call.
func (a *Asker) Shares(w *View) (*Shares, error) {
	groups, err := a.Groups(w)
	if err != nil {
		return nil, err
	}
	s := &a.answer
	s.Nodes, s.Share, s.New = s.Nodes[:0], s.Share[:0], groups[New]
	for _, g := range []Group{Returning, First} {
		if groups[g] == 0 {
			continue
		}
		log, err := a.score(w, g)
		if err == nil {
			err = a.rerank(w, g)
		}
		if err != nil {
			return nil, err
		}
		for i, v := range a.members {
			s.Nodes = append(s.Nodes, v)
			s.Share = append(s.Share, groups[g]*math.Exp(float64(a.logits[i])-log))
		}
	}
	return s, nil
}

// Nats is −ln of the probability of a destination, from the candidates of its own group alone: Groups of it, and within
// the group.
func (a *Asker) Nats(w *View, dst event.Node) (group, within float64, err error) {
	groups, err := a.Groups(w)
	if err != nil {
		return 0, 0, err
	}
	g := w.GroupOf(dst)
	group = -math.Log(groups[g])
	if g == New {
		return group, 0, nil
	}
	log, err := a.score(w, g)
	if err == nil {
		err = a.rerank(w, g)
	}
	if err != nil {
		return 0, 0, err
	}
	for i, v := range a.members {
		if v == dst {
			within = log - float64(a.logits[i])
		}
	}
	return group, within, nil
}

// Groups are the probabilities of the groups; those without candidates have 0.
func (a *Asker) Groups(w *View) (p [Groups]float64, err error) {
	a.x = w.Source(a.x[:0])
	logits, err := a.net.Groups(a.x)
	return Softmax(logits, w.Possible()), err
}

// Softmax is the probabilities of groups that are possible.
func Softmax(logits [Groups]float32, possible [Groups]bool) (p [Groups]float64) {
	most, sum := math.Inf(-1), 0.0
	for g, ok := range possible {
		if ok {
			most = max(most, float64(logits[g]))
		}
	}
	for g, ok := range possible {
		if ok {
			p[g] = math.Exp(float64(logits[g]) - most)
			sum += p[g]
		}
	}
	for g := range p {
		p[g] /= sum
	}
	return p
}

// Chunk is how many candidates are described at once.
const Chunk = 4096

// score finds the members of a group and their logits, and the logarithm of the sum of their exponentials.
func (a *Asker) score(w *View, g Group) (logSum float64, err error) {
	a.members = w.Members(a.members[:0], g)
	a.logits = append(a.logits[:0], make([]float32, len(a.members))...)
	for lo := 0; lo < len(a.members); lo += Chunk {
		hi := min(lo+Chunk, len(a.members))
		a.describe(w, a.members[lo:hi])
		if err := a.net.Scores(g, a.x, a.logits[lo:hi]); err != nil {
			return 0, err
		}
	}
	return logSumExp(a.logits, 1), nil
}

// describe fills x with the features of candidates, on several threads where there are many.
func (a *Asker) describe(w *View, nodes []event.Node) {
	width := w.Width()
	size := len(nodes) * width
	if cap(a.x) < size {
		a.x = make([]float32, size)
	}
	a.x = a.x[:size]
	const worthwhile = 256
	parts := max(1, min(a.threads, len(nodes)/worthwhile))
	fill := func(part int) {
		for i := len(nodes) * part / parts; i < len(nodes)*(part+1)/parts; i++ {
			w.Features(a.x[i*width:i*width:(i+1)*width], nodes[i])
		}
	}
	var wait sync.WaitGroup
	for part := 1; part < parts; part++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			fill(part)
		}()
	}
	fill(0)
	wait.Wait()
}
