package serve

import (
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/dygmamba/dygmamba/model"
)

// statusDoc is what GET /v1/status says.
type statusDoc struct {
	Events     int      `json:"events"`    // all that are known, those of the data set included
	LastTime   *float64 `json:"last_time"` // of the latest
	Last       uint64   `json:"last"`      // sequence
	Nodes      int      `json:"nodes"`
	Model      string   `json:"model"`
	Checkpoint string   `json:"checkpoint"`

	Generation  *generation `json:"generation"`
	Previous    *generation `json:"previous,omitempty"`
	Data        string      `json:"data"`
	Names       string      `json:"names"` // "text" or "numbers"
	TimeFormat  string      `json:"time_format"`
	Features    int         `json:"features"` // of an event
	Durable     bool        `json:"durable"`
	LateEvents  string      `json:"late_events"` // how they are treated
	Order       string      `json:"order,omitempty"`
	Batched     bool        `json:"batched"` // concurrent questions are scored together
	Conditions  []string    `json:"conditions,omitempty"`
	Uptime      float64     `json:"uptime_s"`
	Snapshot    *keptDoc    `json:"snapshot,omitempty"`
	Learning    *learnedDoc `json:"learning,omitempty"`
	NotReady    string      `json:"not_ready,omitempty"`
	TakesTokens bool        `json:"tokens"`
}

// getStatus answers: where do we stand?
func (s *Server) getStatus(w http.ResponseWriter, _ *http.Request) error {
	answer(w, 200, s.status())
	return nil
}

func (s *Server) status() statusDoc {
	at, g := s.engine.now(), s.models.current.Load()
	spec := g.quick.predictor.Spec()
	doc := statusDoc{
		Events: at.Len(), Last: at.Last, Nodes: s.engine.names.count(), Model: g.name, Checkpoint: g.Checkpoint,
		Generation: g,
		Data:       s.options.Set.Name, Names: "text", TimeFormat: s.options.Set.TimeFormat, Features: s.engine.width,
		Durable: s.options.Durable, Order: spec.Order, Batched: !g.quick.alone, Conditions: spec.Conditions(),
		Uptime: time.Since(s.started).Seconds(), Snapshot: s.keeper.doc(), Learning: s.learner.doc(),
		TakesTokens: s.options.Tokens != nil,
	}
	if t := at.Moment.Last(); !math.IsInf(t, -1) {
		doc.LastTime = &t
	}
	if s.engine.names.numbers() {
		doc.Names = "numbers"
	}
	doc.LateEvents = "they take their place in time, and a question about t sees what was true before t"
	switch {
	case g.quick.predictor.Remembers() && spec.Order == model.Arrival:
		doc.LateEvents = "histories take them at their place in time; the memory learns of events in the order of " +
			"arrival, in units of a batch"
	case g.quick.predictor.Remembers():
		doc.LateEvents = "histories take them at their place in time; the memory learns of units of a batch in the " +
			"order of arrival, each when all of its events lie before the question"
	}
	if s.models.mu.TryLock() { // a change may take long
		doc.Previous = s.models.previous
		s.models.mu.Unlock()
	}
	if err := s.ready(); err != nil {
		doc.NotReady = err.Error()
	}
	return doc
}

// ready says why no events can be taken, nil if they can.
func (s *Server) ready() error { return s.engine.failure() }

func (s *Server) getHealth(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Write([]byte("ok\n"))
}

func (s *Server) getReady(w http.ResponseWriter, _ *http.Request) {
	if err := s.ready(); err != nil {
		refuse(w, err)
		return
	}
	s.getHealth(w, nil)
}

// postReload lets another checkpoint answer: the one that a body names, or the one at the place of the first, which may
// have been written anew.
func (s *Server) postReload(w http.ResponseWriter, r *http.Request) error {
	path := s.options.Checkpoint
	text, _, err := s.body(w, r, typeJSON)
	if err != nil {
		return err
	}
	defer s.limiter.finished(len(text))
	if strings.TrimSpace(text) != "" {
		err := read(text, func(sc *scanner) {
			sc.object([]string{"checkpoint"}, func(int) {
				path = strings.Clone(sc.string("a path on the server's machine"))
			})
		})
		if err != nil {
			return err
		}
	}
	g, err := s.Reload(r.Context(), path)
	if err != nil {
		return &refusal{status: 409, kind: "conflict", message: "the model stays as it is: " + err.Error()}
	}
	answer(w, 200, g)
	return nil
}

// postRollback lets the model before this one answer again.
func (s *Server) postRollback(w http.ResponseWriter, _ *http.Request) error {
	g, err := s.models.rollback()
	if err != nil {
		return err
	}
	s.learner.rolledBack(g)
	answer(w, 200, g)
	return nil
}

// Summary is what a server did, for those who ended it.
type Summary struct {
	Events int    `json:"events"` // that are known
	Came   int    `json:"came"`   // of them came in
	Last   uint64 `json:"last"`   // sequence
	Model  string `json:"model"`
}

// Summary is where the server stands.
func (s *Server) Summary() Summary {
	at := s.engine.now()
	return Summary{at.Len(), at.Len() - at.Known(), at.Last, s.models.current.Load().name}
}
