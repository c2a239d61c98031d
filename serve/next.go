package serve

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/predict"
)

// A model of the task "next" answers who is next and when: it gives shares and rates where others give the probability
// of a link.

// timingDoc is what such a model says of a pair. Rates and windows are in seconds where days are known, otherwise in
// the unit of the data.
type timingDoc struct {
	Share   float64    `json:"share"`          // of the destination, if the source acts at that time
	Rate    *float64   `json:"rate,omitempty"` // events of the pair per unit of time; none from a model without rates
	Within  *windowDoc `json:"within,omitempty"`
	Warning string     `json:"warning,omitempty"`
}

type windowDoc struct {
	Window      float64 `json:"window"`
	Probability float64 `json:"probability"` // of at least one event
	Expected    float64 `json:"expected"`    // number of events
}

// chooses says whether the current model is one of the task "next".
func (m *modelSlots) chooses() bool { return m.current.Load().slow.chooser != nil }

// asksKinds says whether the model was trained to tell kinds of events apart: queries then name one.
func (m *modelSlots) asksKinds() bool {
	g := m.current.Load()
	return g.slow.chooser == nil && g.quick.predictor.Spec().Training.ByKind()
}

// choose lets a lane do something with a model of the task "next", and returns the sequence of the state that it saw.
func (s *Server) choose(r *http.Request, pairs []pair, do func(c *predict.Chooser, a *resolver) error) (uint64, error) {
	j := &job{ctx: r.Context(), pairs: pairs, choose: do}
	if err := s.models.ask(j); err != nil {
		return 0, err
	}
	return j.at.Last, nil
}

// errNotNext answers a question of time to a model of links.
var errNotNext = fail("bad_request", "within is for models of the task next, which know rates")

// errNext answers a question about links to a model of the task next.
var errNext = fail("bad_request", "the model tells who is next and when; it does not explain or learn from pairs: "+
	"use /v1/score, /v1/rank and /v1/surprises")

// scoreNext answers POST /v1/score.
func (s *Server) scoreNext(r *http.Request, q asked) (any, error) {
	doc := struct {
		Scores []timingDoc `json:"scores"`
		AsOf   uint64      `json:"as_of"`
	}{}
	var err error
	doc.AsOf, err = s.choose(r, q.pairs, func(c *predict.Chooser, a *resolver) error {
		doc.Scores = make([]timingDoc, len(q.pairs))
		windows, err := q.windows(c)
		if err != nil {
			return err
		}
		order := make([]int, len(q.pairs)) // the past is gone through once
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int {
			return cmp.Compare(a.queryTime(q.pairs[i]), a.queryTime(q.pairs[j]))
		})
		for _, i := range order {
			x := a.query(q.pairs[i])
			if doc.Scores[i], err = timingOf(c, x.Src, x.Dst, x.Time, windows); err != nil {
				return err
			}
		}
		return r.Context().Err()
	})
	return doc, err
}

// timingOf asks about a pair.
func timingOf(c *predict.Chooser, src, dst event.Node, at event.Time, windows []event.Time) (timingDoc, error) {
	if !c.KnowsRates() {
		share, err := c.Share(src, dst, at)
		return timingDoc{Share: share}, err
	}
	t, err := c.When(src, &dst, at, windows)
	unit := secondsIn(c)
	rate := t.Rate * unit
	doc := timingDoc{Share: t.Share, Rate: &rate, Warning: t.Warning}
	for _, w := range t.Windows {
		doc.Within = &windowDoc{w.Length / unit, w.Probability, w.Expected}
	}
	return doc, err
}

// secondsIn is how many units of the data a second lasts; 1 where nobody knows.
func secondsIn(c *predict.Chooser) float64 {
	if day := c.Day(); day > 0 {
		return day / 86400
	}
	return 1
}

// rankNext answers POST /v1/rank.
func (s *Server) rankNext(r *http.Request, q ranking) (any, error) {
	type item struct {
		Dst nodeDoc `json:"dst"`
		timingDoc
		Meetings int `json:"meetings"`
	}
	doc := struct {
		Items  []item  `json:"items"`
		Others float64 `json:"others"` // share of all other destinations
		New    float64 `json:"new"`    // and of someone who has never been one
		AsOf   uint64  `json:"as_of"`
	}{}
	var err error
	doc.AsOf, err = s.choose(r, []pair{q.pair}, func(c *predict.Chooser, a *resolver) error {
		doc.Items, doc.Others = []item{}, 0
		windows, err := q.windows(c)
		if err != nil {
			return err
		}
		if most := s.limits().Candidates; len(a.targets) > most {
			return fail("too_large", "there are %d destinations, more than the %d whose shares can be told at once",
				len(a.targets), most)
		}
		src, at := a.node(q.src, true), a.queryTime(q.pair)
		found, err := c.Next(src, at)
		if err != nil {
			return err
		}
		var wanted map[event.Node]bool
		if q.candidates != nil {
			wanted = map[event.Node]bool{}
			for _, name := range q.candidates {
				wanted[a.node(name, false)] = true
			}
		}
		doc.New = found.New
		for _, x := range found.Items {
			if len(doc.Items) >= q.k || wanted != nil && !wanted[x.Node] {
				doc.Others += x.Share
				continue
			}
			t, err := timingOf(c, src, x.Node, at, windows)
			if err != nil {
				return err
			}
			t.Share = x.Share
			doc.Items = append(doc.Items, item{s.show(a.name(x.Node)), t, x.Met})
		}
		return nil
	})
	return doc, err
}

// span is a length of time in a request: a number in the unit of the data, or a text such as 1h; "" for none.
type span string

// within reads a length of time.
func (s *Server) within(sc *scanner) span {
	if sc.null() {
		return ""
	}
	if sc.peek() == '"' {
		return span(sc.string("a length of time"))
	}
	return span(strconv.FormatFloat(sc.number("a length of time"), 'g', -1, 64))
}

// windows is the window that was asked for, in the unit of the data.
func (d span) windows(c *predict.Chooser) ([]event.Time, error) {
	if d == "" {
		return nil, nil
	}
	if !c.KnowsRates() {
		return nil, fail("bad_request", "%v", predict.ErrNoRate)
	}
	length, err := dataset.ParseLength(string(d), c.Day())
	if err != nil {
		return nil, fail("bad_request", "%v", fmt.Errorf("within: %w", err))
	}
	return []event.Time{length}, nil
}
