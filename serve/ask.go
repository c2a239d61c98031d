package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/jsonobject"
	"github.com/dygmamba/dygmamba/predict"
)

type scoreDoc struct {
	Logit       float32 `json:"logit"`
	Probability float64 `json:"probability"`
}

// ask lets the slow lane do something with a predictor, and returns the sequence of the state that it saw. The pairs
// say which times that is about; the state is that of a sequence at least.
func (s *Server) ask(r *http.Request, about []pair, least uint64, do func(p *predict.Predictor, a *resolver) error) (
	asOf uint64, err error) {
	j := &job{ctx: r.Context(), pairs: about, least: least, do: do}
	if err = s.models.ask(j); err != nil {
		return 0, err
	}
	return j.at.Last, nil
}

func (s *Server) postScore(w http.ResponseWriter, r *http.Request) (any, error) {
	q, err := s.queries(w, r, s.limits().Queries, "within")
	if err != nil {
		return nil, err
	}
	switch {
	case s.models.chooses():
		return s.scoreNext(r, q)
	case q.span != "":
		return nil, errNotNext
	}
	j := &job{ctx: r.Context(), pairs: q.pairs, least: q.least}
	if err := s.models.ask(j); err != nil {
		return nil, err
	}
	if j.answers != nil {
		return struct {
			Scores []predict.Answer `json:"scores"`
			AsOf   uint64           `json:"as_of"`
		}{j.answers, j.at.Last}, nil
	}
	doc := struct {
		Scores []scoreDoc `json:"scores"`
		AsOf   uint64     `json:"as_of"`
	}{make([]scoreDoc, len(j.logits)), j.at.Last}
	for i, logit := range j.logits {
		doc.Scores[i] = scoreDoc{logit, j.probability(logit)}
	}
	return doc, nil
}

// asked is a body of queries.
type asked struct {
	pairs []pair
	least uint64 // min_as_of
	top   int    // number of patches to withhold in an explanation; −1 if there is none
	span         // a window of time, for a model of the task "next"
}

// queries reads a body of queries, with another field.
func (s *Server) queries(w http.ResponseWriter, r *http.Request, most int, other string) (q asked, err error) {
	q.top = -1
	least := 0
	err = s.readJSON(w, r, func(sc *scanner) {
		sc.object([]string{"queries", "min_as_of", other}, func(field int) {
			switch {
			case field == 1:
				least = sc.integer("a sequence", 0, math.MaxInt64)
				return
			case field == 2 && other == "top":
				q.top = sc.integer("a number of patches", 0, 20)
				return
			case field == 2:
				q.span = s.within(sc)
				return
			}
			sc.array(func(i int) {
				if i >= most {
					panic(fail("too_large", "more than %d queries in one request; want several requests", most))
				}
				q.pairs = append(q.pairs, s.pair(sc, i))
			})
		})
	})
	if err == nil && len(q.pairs) == 0 {
		err = bad("queries", "none", "at least one query")
	}
	if q.least = uint64(least); err == nil {
		err = s.await(r.Context(), least)
	}
	return q, err
}

// await waits until an event is known, and what the model derives from it is there, for a client that has written it,
// perhaps to another server of the same log.
func (s *Server) await(ctx context.Context, sequence int) error {
	err := s.engine.wait(ctx, uint64(sequence))
	if l := s.models.current.Load().quick; err == nil && sequence > 0 && l.follows != nil {
		err = l.follows.await(ctx, l, uint64(sequence))
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fail("not_yet", "sequence %d is not known yet, the last one is %d", sequence, s.engine.now().Last)
	}
	return err
}

func (s *Server) pair(sc *scanner, i int) pair {
	p := pair{now: true}
	where := func(field string) string { return fmt.Sprintf("queries[%d].%s", i, field) }
	fields := []string{"src", "dst", "time", "kind"}
	present := sc.object(fields, func(field int) {
		switch where := where(fields[field]); field {
		case 0:
			p.src = s.id(sc, where)
		case 1:
			p.dst = s.id(sc, where)
		case 2:
			p.time, p.now = s.time(sc, where)
		case 3:
			p.kind = s.kind(sc, where)
		}
	})
	for f, name := range fields[:2] {
		if present&(1<<f) == 0 {
			panic(bad(where(name), "nothing", "a node"))
		}
	}
	if p.kind == 0 && s.models.asksKinds() {
		panic(bad(where("kind"), "nothing", s.options.Set.WantKind()+"; the model tells them apart"))
	}
	return p
}

// kind reads the kind of event that a query asks about.
func (s *Server) kind(sc *scanner, where string) event.Kind {
	name := sc.word("a kind")
	kind := s.options.Set.Kind(name)
	switch {
	case kind == 0:
		panic(bad(where, strconv.Quote(clip(name)), s.options.Set.WantKind()))
	case !s.models.asksKinds():
		panic(bad(where, strconv.Quote(clip(name)), "no kind: the model was not trained with --task kind"))
	}
	return kind
}

func (s *Server) id(sc *scanner, where string) string {
	id := sc.id()
	if want := wrongID(id, s.engine.names().numbers(), s.limits().ID); want != "" {
		panic(bad(where, strconv.Quote(clip(id)), want))
	}
	return id
}

// time reads the time of a query; null is now.
func (s *Server) time(sc *scanner, where string) (at event.Time, now bool) {
	if sc.null() {
		return 0, true
	}
	at = sc.time(s.options.Set.Clock())
	if math.Abs(at) > event.MaxTime {
		panic(bad(where, strconv.FormatFloat(at, 'g', -1, 64),
			fmt.Sprintf("a number between %g and %g", -event.MaxTime, event.MaxTime)))
	}
	return at, false
}

// nodeDoc is a node as clients name it: a string, or a number where the data set has no names.
type nodeDoc struct {
	name   string
	number bool
}

func (n nodeDoc) MarshalJSON() ([]byte, error) {
	if n.number {
		return []byte(n.name), nil
	}
	return json.Marshal(n.name)
}

// show is the node of a name in a response.
func (s *Server) show(name string) nodeDoc { return nodeDoc{name, s.engine.names().numbers()} }

type ranking struct {
	pair       // without a destination
	k          int
	candidates []string // nil: all that were a destination
	exact      bool     // scores all of them
	least      uint64   // min_as_of
	span                // a window of time, for a model of the task "next"
}

func (s *Server) postRank(w http.ResponseWriter, r *http.Request) (any, error) {
	q, err := s.ranking(w, r)
	if err != nil {
		return nil, err
	}
	switch {
	case s.models.chooses():
		return s.rankNext(r, q)
	case q.span != "":
		return nil, errNotNext
	}
	type item struct {
		Dst nodeDoc `json:"dst"`
		scoreDoc
		Meetings int `json:"meetings"`
	}
	doc := struct {
		Items      []item `json:"items"`
		Candidates int    `json:"candidates"`
		Scored     int    `json:"scored"` // of the candidates
		AsOf       uint64 `json:"as_of"`
	}{Items: []item{}}
	doc.AsOf, err = s.ask(r, []pair{q.pair}, q.least, func(p *predict.Predictor, a *resolver) error {
		doc.Items = doc.Items[:0]
		var nodes []event.Node
		for _, c := range q.candidates {
			nodes = append(nodes, a.node(c, false))
		}
		if most := s.limits().Targets; q.candidates == nil && len(a.targets) > most {
			return fail("too_large", "there are %d destinations, more than the %d that can be ranked at once; "+
				"want candidates", len(a.targets), most)
		}
		k := q.k
		if q.exact {
			k = 0
		}
		of := predict.Query{Src: a.node(q.src, true), Time: a.queryTime(q.pair), Kind: q.kind}
		found, err := p.BestOf(r.Context(), of, nodes, k)
		doc.Candidates, doc.Scored = found.Candidates, found.Scored
		for _, f := range found.Partners[:min(q.k, len(found.Partners))] {
			doc.Items = append(doc.Items, item{s.show(a.name(f.Node)), scoreDoc{f.Logit, f.Probability}, f.Meetings})
		}
		return err
	})
	return doc, err
}

func (s *Server) ranking(w http.ResponseWriter, r *http.Request) (q ranking, err error) {
	q = ranking{pair: pair{now: true}, k: 10}
	most, least := s.limits().Candidates, 0
	err = s.readJSON(w, r, func(sc *scanner) {
		names := []string{"src", "time", "k", "candidates", "min_as_of", "within", "exact", "kind"}
		present := sc.object(names, func(field int) {
			switch field {
			case 0:
				q.src = s.id(sc, "src")
			case 6:
				q.exact = sc.boolean()
			case 7:
				q.kind = s.kind(sc, "kind")
			case 1:
				q.time, q.now = s.time(sc, "time")
			case 2:
				q.k = sc.integer("a number of destinations", 1, most)
			case 4:
				least = sc.integer("a sequence", 0, math.MaxInt64)
			case 5:
				q.span = s.within(sc)
			case 3:
				if sc.null() {
					return
				}
				q.candidates = []string{}
				sc.array(func(i int) {
					if i >= most {
						panic(fail("too_large", "more than %d candidates", most))
					}
					q.candidates = append(q.candidates, s.id(sc, fmt.Sprintf("candidates[%d]", i)))
				})
			}
		})
		if present&1 == 0 {
			panic(bad("src", "nothing", "a node"))
		}
		if q.kind == 0 && s.models.asksKinds() {
			panic(bad("kind", "nothing", s.options.Set.WantKind()+"; the model tells them apart"))
		}
	})
	if err == nil && q.candidates != nil && len(q.candidates) == 0 {
		err = bad("candidates", "none", "at least one node, or no such field")
	}
	if q.least = uint64(least); err == nil {
		err = s.await(r.Context(), least)
	}
	return q, err
}

// maxExplained is the number of queries of one request: explaining one takes as long as scoring several.
const maxExplained = 100

// explanation is an explanation in a response.
type explanation struct {
	pairDoc
	predict.Explanation
}

// MarshalJSON writes both as one object.
func (e explanation) MarshalJSON() ([]byte, error) { return jsonobject.Join(e.pairDoc, e.Explanation) }

func (s *Server) postExplain(w http.ResponseWriter, r *http.Request) (any, error) {
	q, err := s.queries(w, r, maxExplained, "top")
	if err != nil {
		return nil, err
	}
	pairs, top := q.pairs, q.top
	var doc struct {
		Explanations []explanation `json:"explanations"`
		AsOf         uint64        `json:"as_of"`
	}
	doc.AsOf, err = s.ask(r, pairs, q.least, func(p *predict.Predictor, a *resolver) error {
		doc.Explanations = doc.Explanations[:0]
		var qs []predict.Query
		for _, q := range pairs {
			qs = append(qs, a.query(q))
		}
		was := p.Top
		if top >= 0 {
			p.Top = top
		}
		found, err := p.Explain(r.Context(), qs)
		p.Top = was
		for i, f := range found {
			a.rename(&f.Source)
			a.rename(&f.Destination)
			asked := pairDoc{s.show(pairs[i].src), s.show(pairs[i].dst), qs[i].Time}
			doc.Explanations = append(doc.Explanations, explanation{asked, f})
		}
		return err
	})
	return doc, err
}

// rename gives the nodes of an explanation the names that clients use.
func (a *resolver) rename(side *predict.Side) {
	side.Name = a.name(side.Node)
	for _, p := range side.Patches {
		for i := range p.Events {
			p.Events[i].Name = a.name(p.Events[i].Other)
		}
	}
}

// getHistory answers with the events of a node, the latest first.
func (s *Server) getHistory(w http.ResponseWriter, r *http.Request) (any, error) {
	name := r.PathValue("id")
	if want := wrongID(name, s.engine.names().numbers(), s.limits().ID); want != "" {
		return nil, bad("the node", strconv.Quote(clip(name)), want)
	}
	limit, before := 100, math.Inf(1)
	query := r.URL.Query()
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 10_000 {
			return nil, bad("limit", strconv.Quote(clip(text)), "a whole number from 1 to 10000")
		}
		limit = n
	}
	if text := query.Get("before"); text != "" {
		at, _, err := dataset.ParseTime(text)
		if err != nil {
			return nil, bad("before", strconv.Quote(clip(text)), "a time")
		}
		before = at
	}
	at := s.engine.now()
	var id event.Node
	var found bool
	for _, source := range []bool{true, false} {
		if side := query.Get("side"); !found && (side == "" || (side == "source") == source) {
			id, found = at.epoch.names.find(name, source)
			found = found && at.Before(id, math.Inf(1)).Len() > 0
		}
	}
	if !found {
		return nil, fail("not_found", "node %q is unknown", clip(name))
	}
	type meeting struct {
		Node nodeDoc    `json:"node"`
		Time event.Time `json:"time"`
	}
	h := at.Before(id, before)
	doc := struct {
		Node   nodeDoc   `json:"node"`
		Events int       `json:"events"` // before that time, all of them
		Latest []meeting `json:"latest"`
		AsOf   uint64    `json:"as_of"`
	}{s.show(name), h.Len(), []meeting{}, at.Last}
	latest := h.Last(limit)
	for i := latest.Len() - 1; i >= 0; i-- {
		doc.Latest = append(doc.Latest, meeting{s.show(at.epoch.names.Name(latest.Node[i])), latest.Time[i]})
	}
	return doc, nil
}
