package serve

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"net/http"
	"time"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/protocol"
)

// statusDoc is the answer to GET /v1/status.
type statusDoc struct {
	Events     int      `json:"events"`    // known events, those of the data set included
	LastTime   *float64 `json:"last_time"` // of the latest event
	Last       uint64   `json:"last"`      // sequence
	Received   int      `json:"received"`  // events since the server was started
	Nodes      int      `json:"nodes"`
	Model      string   `json:"model"`
	Checkpoint string   `json:"checkpoint"`

	Generation  *generation          `json:"generation"`
	Previous    *generation          `json:"previous,omitempty"`
	Data        string               `json:"data"`
	Names       string               `json:"names"` // "text" or "numbers"
	TimeFormat  string               `json:"time_format"`
	Second      float64              `json:"second,omitempty"`     // in the unit of times, where they are dates
	Features    int                  `json:"features"`             // numbers of an event
	Columns     []dataset.ColumnInfo `json:"columns,omitempty"`    // that events have, by their imported names
	Kinds       []string             `json:"kinds,omitempty"`      // of events
	AsksKinds   bool                 `json:"asks_kinds,omitempty"` // queries must name a kind
	Durable     bool                 `json:"durable"`
	LateEvents  string               `json:"late_events"` // how the model treats them
	Order       protocol.Order       `json:"order,omitempty"`
	Batched     bool                 `json:"batched"` // concurrent queries are scored in one pass
	Conditions  []string             `json:"conditions,omitempty"`
	Uptime      float64              `json:"uptime_s"`
	Snapshot    *snapshotDoc         `json:"snapshot,omitempty"`
	Learning    *learningDoc         `json:"learning,omitempty"`
	Retention   *retentionDoc        `json:"retention,omitempty"`
	Phase       string               `json:"phase"` // "serving" or "draining"
	NotReady    string               `json:"not_ready,omitempty"`
	TakesTokens bool                 `json:"tokens"`
}

func (s *Server) getStatus(w http.ResponseWriter, _ *http.Request) (any, error) {
	return s.status(), nil
}

func (s *Server) status() statusDoc {
	at, g := s.engine.now(), s.models.current.Load()
	spec := g.quick.predictor.Spec()
	doc := statusDoc{
		Events: at.Len(), Received: s.received(at), Last: at.Last, Nodes: s.engine.names().count(),
		Model: g.name, Checkpoint: g.Checkpoint, Generation: g,
		Data: s.options.Set.Name, Names: "text", TimeFormat: s.options.Set.TimeFormat,
		Second: s.options.Set.Clock().Second(), Features: s.engine.width,
		Durable: s.options.Durable, Order: spec.Order, Batched: !g.quick.alone, Conditions: spec.Conditions(),
		Uptime: time.Since(s.started).Seconds(), Snapshot: s.snapshotter.doc(), Learning: s.learner.doc(),
		TakesTokens: s.tokens.Load() != nil, Phase: s.phase(), Retention: s.retainer.doc(),
	}
	doc.Kinds, doc.AsksKinds = s.options.Set.Kinds, s.models.asksKinds()
	if s.engine.columns != nil {
		doc.Columns = s.engine.columns.Columns()
	}
	if t := at.PastView.Last(); !math.IsInf(t, -1) {
		doc.LastTime = &t
	}
	if s.engine.names().numbers() {
		doc.Names = "numbers"
	}
	doc.LateEvents = "they take their place in time: a query at t sees all events before t"
	switch {
	case g.quick.predictor.Remembers() && spec.Order == protocol.Arrival:
		doc.LateEvents = "they take their place in histories; the model's memory takes events in the order of " +
			"arrival, a batch at a time"
	case g.quick.predictor.Remembers():
		doc.LateEvents = "they take their place in histories; the model's memory takes batches in the order of " +
			"arrival, each when all of its events are before the query"
	}
	if s.models.mu.TryLock() { // a reload may hold it for long
		doc.Previous = s.models.previous
		s.models.mu.Unlock()
	}
	if err := s.ready(); err != nil {
		doc.NotReady = err.Error()
	}
	return doc
}

// Summary is where a server stands.
type Summary struct {
	Events   int    `json:"events"`   // known events
	Came     int    `json:"came"`     // of them are not in the data set
	Received int    `json:"received"` // of them were received since start
	Last     uint64 `json:"last"`     // sequence
	Model    string `json:"model"`
}

// received is the number of events since the start.
func (s *Server) received(at *state) int { return int(at.Last - s.begun) }

// Summary is where the server stands now.
func (s *Server) Summary() Summary {
	at := s.engine.now()
	return Summary{at.Len(), at.Len() - at.Known(), s.received(at), at.Last, s.models.current.Load().name}
}

// fingerprint is a hash of all events that the server received, by name and in their order. Servers with the same
// fingerprint know the same events.
func (e *engine) fingerprint(at *state) string {
	h := sha256.New()
	var buf []byte
	events := at.Events().Slice(at.Known(), at.Len())
	for i := range events.Len() {
		x := events.At(i)
		buf = buf[:0]
		for _, name := range []string{at.epoch.names.Name(x.Src), at.epoch.names.Name(x.Dst)} {
			buf = binary.AppendUvarint(buf, uint64(len(name)))
			buf = append(buf, name...)
		}
		buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits(x.Time))
		buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(x.Label))
		for _, f := range at.Features(i) {
			buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(f))
		}
		if x.Kind != 0 {
			buf = append(buf, e.set.KindName(x.Kind)...)
		}
		h.Write(buf)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (s *Server) getState(w http.ResponseWriter, _ *http.Request) (any, error) {
	at := s.engine.now()
	return struct {
		Last   uint64 `json:"last"`
		Came   int    `json:"came"`
		SHA256 string `json:"sha256"`
	}{at.Last, at.Len() - at.Known(), s.engine.fingerprint(at)}, nil
}
