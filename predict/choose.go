package predict

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/next"
	"github.com/dygmamba/dygmamba/internal/rate"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/run"
)

// Chooser answers with a model of the task "next": who is the next destination of a source that acts at a time? One
// goroutine at a time may use it. Ask in the order of time: whoever goes back begins again with the first event.
type Chooser struct {
	p    *Predictor
	net  *model.Net
	ask  *next.Asker
	walk *next.Walk
	view *next.View

	// What walk and hours go through: so many events of a log, of which the latest has this time. Sorted has them in
	// the order of time where they did not come in it.
	seen   *event.Log
	events int
	last   event.Time
	sorted *event.Log

	when  *rate.Asker // nil where the model knows no rates
	hours *rate.Walk
}

// Share is the probability of a destination.
type Share struct {
	Node  event.Node
	Share float64
	Met   int // events of the two before, in either direction
}

// Shares are the probabilities of all destinations, the most likely first, and of a new one. They sum to 1.
type Shares struct {
	Items []Share
	New   float64
}

// Surprise is how many bits it takes to tell an event's destination.
type Surprise struct {
	Bits   float64
	Nats   *float64   // −ln of the source's rate at that time, per day where days are known; nil: the model knows none
	New    bool       // it has never been a destination
	Sent   int        // earlier events from the source to it
	Back   int        // and back
	Last   event.Time // the last of these
	Source int        // earlier events of the source
	Taken  int        // earlier events of the destination, whoever was the source
	Likely Share      // who was most likely
}

// LoadChooser opens a trained model of the task "next": see Load. Another model is an ErrNotNext. All events of the set
// are seen, each from its time on.
func LoadChooser(path string, o Options) (*Chooser, error) {
	p, err := load(path, o)
	if err != nil {
		return nil, err
	}
	m, chooses := p.model.(model.Chooser)
	if !chooses || p.log == nil {
		p.Close()
		return nil, fmt.Errorf("%s: %w", p.choice.File, ErrNotNext)
	}
	net := model.NewNet(m)
	net.SetScorer(p.Scorer())
	net.AskPairs(p.pairsAsOf)
	c := &Chooser{p: p, net: net, ask: next.NewAsker(net, o.Threads), seen: p.log}
	events, _ := c.inOrder(p.log, false)
	c.walk = next.NewWalk(events, m.Setup())
	if t := model.TimerOf(m); t != nil {
		if rates := model.ReadRates(t); rates != nil {
			c.when, c.hours = rate.NewAsker(rates), rate.NewWalk(events, rates)
		}
	}
	return c, nil
}

// pairsAsOf is what the model says of pairs, with what it knew at a time: see next.Pairs.
func (p *Predictor) pairsAsOf(src event.Node, at event.Time, nodes []event.Node) (logits []float32, err error) {
	ctx := context.Background() // a short list takes little time
	ask := func([]int) error {
		logits, err = p.rankAlike(ctx, Query{Src: src, Time: at}, nodes)
		return err
	}
	if p.stream == nil {
		return logits, ask(nil)
	}
	err = p.stream.visit(ctx, []Query{{Src: src, Dst: src, Time: at}}, ask)
	return logits, err
}

// Choice says which checkpoint answers, and of how many seeds it was chosen.
func (c *Chooser) Choice() run.Choice { return c.p.choice }

// Model is the model's name in the catalogue.
func (c *Chooser) Model() string { return c.p.name }

// Spec is the model's configuration.
func (c *Chooser) Spec() model.Spec { return c.p.spec }

// Known says whether a node occurs in the data at all.
func (c *Chooser) Known(n event.Node) bool { return c.p.Known(n) }

// at looks at a source.
func (c *Chooser) at(src event.Node, at event.Time) (*next.View, error) {
	if err := checkQueries([]Query{{Src: src, Dst: src, Time: at}}); err != nil {
		return nil, err
	}
	c.view = c.walk.Before(at).At(c.view, src, at)
	return c.view, nil
}

// Reach goes through the past up to a time, which may take a while: it ends with an error when ctx does. Questions
// about that time are then answered at once.
func (c *Chooser) Reach(ctx context.Context, at event.Time) error {
	_, err := c.walk.Reach(ctx, at)
	if c.hours != nil && err == nil {
		_, err = c.hours.Reach(ctx, at)
	}
	return err
}

// Base is the predictor behind the chooser, which answers nothing about pairs itself.
func (c *Chooser) Base() *Predictor { return c.p }

// Look makes the chooser look at a past, which may have grown since the last one.
func (c *Chooser) Look(v *PastView) error {
	if err := c.p.Look(v); err != nil {
		return err
	}
	log := c.p.log
	grown := c.seen != nil && log.Continues(c.seen) && log.Len() >= c.events
	if c.seen = log; grown && log.Len() == c.events {
		return nil
	}
	all, goesOn := c.inOrder(log, grown)
	c.walk.Follow(all, goesOn)
	if c.hours != nil {
		c.hours.Follow(all, goesOn)
	}
	return nil
}

// inOrder is the events of a log in the order of time. GoesOn says that those it had before, where it has grown, are
// still the first: then only the new ones are put in order.
func (c *Chooser) inOrder(log *event.Log, grown bool) (all event.Span, goesOn bool) {
	before := c.events
	goesOn = grown
	for _, t := range log.All().Time[min(before, log.Len()):] {
		goesOn = goesOn && t >= c.last
	}
	switch {
	case log.Sorted():
		c.sorted, all = nil, log.All()
	case goesOn && c.sorted != nil:
		fresh := log.Part(before, log.Len()).InOrder()
		for i := range fresh.Len() {
			if _, err := c.sorted.Append(fresh.At(i)); err != nil {
				panic(err) // it was in a log before
			}
		}
		all = c.sorted.All()
	default:
		c.sorted = log.InOrder()
		all = c.sorted.All()
	}
	if c.events = log.Len(); c.events > 0 {
		c.last = all.Time[c.events-1]
	}
	return all, goesOn
}

// Derives says that there is something to bring up to date: see CatchUp.
func (c *Chooser) Derives() bool { return true }

// CatchUp lets counts, rates and what the model itself remembers go on by at most this many units towards the end of
// the past, so that questions about the present need not wait for that. It says how many events are left.
func (c *Chooser) CatchUp(ctx context.Context, units int) (left int, err error) {
	left, err = c.p.CatchUp(ctx, units)
	left = max(left, c.walk.GoOn(units*warmUnit))
	if c.hours != nil {
		left = max(left, c.hours.GoOn(units*warmUnit))
	}
	return left, err
}

// Share is the probability of one destination.
func (c *Chooser) Share(src, dst event.Node, at event.Time) (float64, error) {
	w, err := c.at(src, at)
	if err != nil {
		return 0, err
	}
	group, within, err := c.ask.Nats(w, dst)
	return math.Exp(-group - within), err
}

// Next gives the shares of all destinations that were seen before a time.
func (c *Chooser) Next(src event.Node, at event.Time) (Shares, error) {
	found, err := c.shares(src, at)
	if err != nil {
		return Shares{}, err
	}
	return Shares{New: found.New, Items: c.most(found, len(found.Nodes))}, nil
}

// Best gives the k most likely destinations of Next, and how many destinations there are.
func (c *Chooser) Best(src event.Node, at event.Time, k int) (items []Share, candidates int, err error) {
	found, err := c.shares(src, at)
	if err != nil {
		return nil, 0, err
	}
	return c.most(found, min(k, len(found.Nodes))), len(found.Nodes), nil
}

func (c *Chooser) shares(src event.Node, at event.Time) (*next.Shares, error) {
	w, err := c.at(src, at)
	if err != nil {
		return nil, err
	}
	found, err := c.ask.Shares(w)
	if err != nil {
		return nil, fmt.Errorf("shares: %w", err)
	}
	return found, nil
}

// most are the k largest of the shares that were found, the largest first. Only their meetings are looked up.
func (c *Chooser) most(found *next.Shares, k int) []Share {
	list := make([]Share, len(found.Nodes))
	for i, v := range found.Nodes {
		list[i] = Share{Node: v, Share: found.Share[i]}
	}
	slices.SortFunc(list, func(a, b Share) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Node, b.Node))
	})
	list = list[:k]
	for i, s := range list {
		f := c.view.Facts(s.Node)
		list[i].Met = f.Sent + f.Received
	}
	return list
}

// Surprises judges events, each from what was strictly before its time. They are not added to the past.
func (c *Chooser) Surprises(ctx context.Context, events []Query, told func(done int)) ([]Surprise, error) {
	list := make([]Surprise, len(events))
	order := sorted(len(events), func(i, j int) int { return cmp.Compare(events[i].Time, events[j].Time) })
	for done, i := range order { // the past is gone through once
		q := events[i]
		if err := c.Reach(ctx, q.Time); err != nil {
			return nil, err
		}
		w, err := c.at(q.Src, q.Time)
		if err == nil {
			list[i], err = c.surprise(w, q.Dst)
		}
		if err == nil && c.when != nil {
			list[i].Nats, err = c.nats(q.Src, q.Time)
		}
		if err != nil {
			return nil, fmt.Errorf("queries: row %d: %w", i, err)
		}
		if told != nil {
			told(done + 1)
		}
	}
	return list, nil
}

func (c *Chooser) surprise(w *next.View, dst event.Node) (Surprise, error) {
	found, err := c.ask.Shares(w)
	if err != nil {
		return Surprise{}, err
	}
	f := w.Facts(dst)
	s := Surprise{Bits: found.Bits(dst), New: w.GroupOf(dst) == next.New, Sent: f.Sent, Back: f.Received, Last: f.Last,
		Source: f.Source, Taken: f.Taken}
	for i, p := range found.Share {
		if v := found.Nodes[i]; p > s.Likely.Share {
			s.Likely = Share{Node: v, Share: p}
		}
	}
	return s, nil
}

// Protocol is that of the task on the chooser's data set.
func (c *Chooser) Protocol() (*eval.Protocol, error) {
	if c.p.options.Set == nil {
		return nil, errors.New("evaluate: no data set to measure on")
	}
	o := eval.Options{Task: c.p.spec.Task, Sampling: c.p.sampling(), Threads: c.p.options.Threads,
		LinkSplit: c.p.spec.LinkSplit()}
	if c.net.Shortlist() > 0 {
		o.BatchSize, o.Order = c.p.spec.Training.BatchSize, c.p.spec.Order
	}
	return eval.Open(c.p.options.Set, o)
}

// EvaluateWho measures who the model thinks is next, under the protocol.
func (c *Chooser) EvaluateWho(ctx context.Context, p *eval.Protocol, o eval.NextOptions) (eval.Next, error) {
	if err := c.warm(ctx, p); err != nil {
		return eval.Next{}, err
	}
	return p.Next(ctx, c.net, o)
}

// Evaluate measures who and, of a model that knows rates, when.
func (c *Chooser) Evaluate(ctx context.Context, p *eval.Protocol, o eval.NextOptions) (eval.Next, error) {
	r, err := c.EvaluateWho(ctx, p, o)
	if c.when != nil && err == nil {
		r.When, err = p.When(ctx, c.net, c.when.Model, o.Windows, time.Time{})
	}
	return r, err
}

// Swap measures how well exchanged destinations are found: see eval.Protocol.Swap.
func (c *Chooser) Swap(ctx context.Context, p *eval.Protocol, n int, o eval.NextOptions) (eval.Swapped, error) {
	if err := c.warm(ctx, p); err != nil {
		return eval.Swapped{}, err
	}
	return p.Swap(ctx, c.net, n, o)
}

// warm lets a model that remembers know what comes before the test.
func (c *Chooser) warm(ctx context.Context, p *eval.Protocol) error {
	if m, remembers := c.net.Scorer().(model.StatefulScorer); remembers && !c.p.warm(p) {
		return p.Warm(ctx, m)
	}
	return nil
}

// Links opens a session that asks choosers about links, as the published protocol does, and the scorers that answer.
// With fit they choose on validation data how first meetings stand to returning pairs; without it scores are logarithms
// of shares, up to a number that is the same for all destinations of a source at a time. Results compare with those of
// other models where training saw none of the nodes that are hidden from it: see model.Spec.LinkSplit.
func Links(ctx context.Context, o eval.Options, names []string, choosers []*Chooser, fit bool,
) (*eval.Session, []*eval.Links, error) {
	c := choosers[0].p
	if c.options.Set == nil {
		return nil, nil, errors.New("evaluate: no data set to measure on")
	}
	o.Sampling, o.Threads = cmp.Or(o.Sampling, c.sampling()), cmp.Or(o.Threads, c.options.Threads)
	p, err := eval.Open(c.options.Set, o)
	if err != nil {
		return nil, nil, err
	}
	var contenders []eval.Contender
	var scorers []*eval.Links
	for i, c := range choosers {
		l := eval.NewLinks(c.net, c.net.Setup(), c.p.log.InOrder().All(), c.p.options.Threads)
		if fit {
			if err := l.Fit(ctx, p); err != nil {
				return nil, nil, err
			}
		}
		scorers = append(scorers, l)
		contenders = append(contenders, eval.Contender{Name: names[i], Scorer: l})
	}
	s, err := p.Session(ctx, contenders...)
	return s, scorers, err
}

// Validate measures the model on validation events as its training did, and calibrates it on them once more.
func (c *Chooser) Validate(ctx context.Context, p *eval.Protocol) (r eval.Next, err error) {
	err = p.BeforeVal(ctx, c.net, func() error {
		r, err = c.validate(ctx, p)
		return err
	})
	return r, err
}

func (c *Chooser) validate(ctx context.Context, p *eval.Protocol) (eval.Next, error) {
	r, err := p.ValidateNext(ctx, c.net)
	if c.when != nil && err == nil {
		var nats *float64
		if nats, err = p.ValidateWhen(ctx, c.net, c.when.Model, time.Time{}); nats != nil {
			r.When = &eval.When{Nats: *nats}
		}
	}
	return r, err
}

// Close gives all memory back.
func (c *Chooser) Close() error {
	c.net.Close()
	return c.p.Close()
}
