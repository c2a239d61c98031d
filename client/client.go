// Package client answers: how does a Go program talk to 'dygmamba serve'? It imports nothing else of this module.
//
// It sends events that got no answer again under the same idempotency key, so that they are added once.
package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mrand "math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Client talks to one server. It may be used by any number of goroutines.
type Client struct {
	URL   string // such as http://127.0.0.1:8080
	Token string // "": none is sent
	HTTP  *http.Client
	Tries int           // attempts of each request; 0: 5
	Pause time.Duration // before the second attempt, doubled before each further one; 0: 100 ms
}

// New makes a client of a server such as http://127.0.0.1:8080.
func New(url string) *Client { return &Client{URL: strings.TrimRight(url, "/")} }

// Error is an error response of the server.
type Error struct {
	Status   int // HTTP
	Kind     string
	Message  string
	Problems []Problem
	After    time.Duration // when the same request may succeed; 0: never
}

// Problem is one thing that is wrong with a request.
type Problem struct {
	Where string `json:"where"`
	Found string `json:"found"`
	Want  string `json:"want"`
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d %s)", e.Message, e.Status, e.Kind) }

// Temporary says that the same request may succeed later.
func (e *Error) Temporary() bool {
	return slices.Contains([]int{429, 502, 503, 504}, e.Status)
}

// Event is an interaction.
type Event struct {
	Src      string    `json:"src"`
	Dst      string    `json:"dst"`
	Time     float64   `json:"time"`
	Label    float64   `json:"label,omitempty"`
	Features []float32 `json:"features,omitempty"` // encoded numbers; Columns takes values as people have them
	Kind     string    `json:"kind,omitempty"`     // one of those of the data set, where it has kinds
	ID       string    `json:"id,omitempty"`       // by which it can be retracted; unique among the events of a token
	// Columns are values of all feature columns by their imported names: text, numbers, or nil where one is missing.
	Columns map[string]any `json:"columns,omitempty"`
}

// Receipt says where events stand in the server's log.
type Receipt struct {
	Accepted int    `json:"accepted"`
	Last     uint64 `json:"last"`
}

// Ingest adds events under a random key. They are durable if it returns no error. After an error it is unknown whether
// they were added: use IngestAs to be able to send them again.
func (c *Client) Ingest(ctx context.Context, events []Event) (Receipt, error) {
	return c.IngestAs(ctx, rand.Text(), events)
}

// IngestAs adds events under an idempotency key. Sending the same events again under the same key adds nothing.
func (c *Client) IngestAs(ctx context.Context, key string, events []Event) (r Receipt, err error) {
	return r, c.do(ctx, http.MethodPost, "/v1/events", key, map[string][]Event{"events": events}, &r)
}

// Query asks how likely two nodes interact at a time. Nil is right after the latest event.
type Query struct {
	Src  string   `json:"src"`
	Dst  string   `json:"dst"`
	Time *float64 `json:"time,omitempty"`
	Kind string   `json:"kind,omitempty"` // for a model that was trained to tell kinds of events apart
}

// At is a query about a time.
func At(src, dst string, time float64) Query { return Query{Src: src, Dst: dst, Time: &time} }

// Score is the answer to a query.
type Score struct {
	Logit       float32 `json:"logit"`
	Probability float64 `json:"probability"`
	// Of a model of classes with names: the likeliest, and how likely each is. Probability is that of the likeliest of
	// more than two, and of the second of two.
	Class   string             `json:"class,omitempty"`
	Classes map[string]float64 `json:"classes,omitempty"`
	Value   *float64           `json:"value,omitempty"` // of a model of regression, which has no Probability
	// Of a model of the task next, which has neither Logit nor Probability: the probability of the destination, given
	// that the source acts at that time, and the events of the pair per second (per unit of time where days are not
	// known).
	Share   *float64 `json:"share,omitempty"`
	Rate    *float64 `json:"rate,omitempty"`
	Within  *Window  `json:"within,omitempty"` // nil where nobody asked
	Warning string   `json:"warning,omitempty"`
}

// Window is what to expect of a pair from a time on.
type Window struct {
	Length      float64 `json:"window"`      // in the unit of Rate
	Probability float64 `json:"probability"` // of at least one event
	Expected    float64 `json:"expected"`    // number of events
}

// Scores are answers, and the sequence of the last event that they take into account.
type Scores struct {
	Scores []Score `json:"scores"`
	AsOf   uint64  `json:"as_of"`
}

// Score scores queries.
func (c *Client) Score(ctx context.Context, queries ...Query) (s Scores, err error) {
	return c.ScoreAfter(ctx, 0, queries...)
}

// ScoreAfter scores queries once the server knows a sequence, such as that of a receipt of another server of the log.
func (c *Client) ScoreAfter(ctx context.Context, sequence uint64, queries ...Query) (s Scores, err error) {
	return c.ScoreWithin(ctx, "", sequence, queries...)
}

// ScoreWithin is ScoreAfter for a model of the task next: it also asks what to expect within a length of time, such as
// 15m, 7d, or a number in the unit of the data.
func (c *Client) ScoreWithin(ctx context.Context, within string, sequence uint64, queries ...Query) (s Scores,
	err error) {
	body := struct {
		Queries []Query `json:"queries"`
		MinAsOf uint64  `json:"min_as_of,omitempty"`
		Within  string  `json:"within,omitempty"`
	}{queries, sequence, within}
	if err := c.do(ctx, http.MethodPost, "/v1/score", "", body, &s); err != nil {
		return s, err
	}
	if len(s.Scores) != len(queries) {
		return s, fmt.Errorf("%d answers to %d queries", len(s.Scores), len(queries))
	}
	return s, nil
}

// Ranking asks for the most likely next destinations of a node.
type Ranking struct {
	Src        string   `json:"src"`
	Time       *float64 `json:"time,omitempty"`
	K          int      `json:"k"`
	Candidates []string `json:"candidates,omitempty"` // nil: all nodes that were a destination
	Exact      bool     `json:"exact,omitempty"`      // score all of them, not only those likely to be among the best
	Kind       string   `json:"kind,omitempty"`       // of event, for a model of the task kind
	Within     string   `json:"within,omitempty"`     // length of time, for a model of the task next: see ScoreWithin
}

// Node is the name of a node, or its number if the data set has no names.
type Node string

// UnmarshalJSON reads a string or a whole number.
func (n *Node) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(n))
	}
	if _, err := strconv.ParseInt(string(b), 10, 64); err != nil {
		return fmt.Errorf("a node is %s, want a string or a whole number", b)
	}
	*n = Node(b)
	return nil
}

// Partner is a ranked destination. Meetings is the number of earlier events of the pair.
type Partner struct {
	Dst Node `json:"dst"`
	Score
	Meetings int `json:"meetings"`
}

// Ranked are destinations, the most likely first.
type Ranked struct {
	Items      []Partner `json:"items"`
	Candidates int       `json:"candidates"` // that there were
	Scored     int       `json:"scored"`     // of them by the model
	Others     float64   `json:"others"`     // share of all other destinations, of a model of the task next
	New        float64   `json:"new"`        // and of someone who has never been one
	AsOf       uint64    `json:"as_of"`
}

// Rank returns the most likely next destinations of a node.
func (c *Client) Rank(ctx context.Context, q Ranking) (r Ranked, err error) {
	return r, c.do(ctx, http.MethodPost, "/v1/rank", "", q, &r)
}

// Explanation is a score and what it rests on. Raw is the JSON of the server.
type Explanation struct {
	Src, Dst Node
	Score
	Raw json.RawMessage
}

// UnmarshalJSON reads the nodes and the score, and keeps the rest in Raw.
func (e *Explanation) UnmarshalJSON(b []byte) error {
	var head struct {
		Src, Dst Node
		Score
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return err
	}
	*e = Explanation{head.Src, head.Dst, head.Score, bytes.Clone(b)}
	return nil
}

// Explain explains the scores of queries.
func (c *Client) Explain(ctx context.Context, queries ...Query) ([]Explanation, error) {
	var doc struct{ Explanations []Explanation }
	err := c.do(ctx, http.MethodPost, "/v1/explain", "", map[string][]Query{"queries": queries}, &doc)
	return doc.Explanations, err
}

// Meeting is an event of a node.
type Meeting struct {
	Node Node    `json:"node"`
	Time float64 `json:"time"`
}

// History is the events of a node, the latest first.
type History struct {
	Node   Node      `json:"node"`
	Events int       `json:"events"` // number of all events
	Latest []Meeting `json:"latest"`
	AsOf   uint64    `json:"as_of"`
}

// History returns the latest events of a node.
func (c *Client) History(ctx context.Context, node string, limit int) (h History, err error) {
	path := "/v1/nodes/" + url.PathEscape(node) + "/history?limit=" + strconv.Itoa(limit)
	return h, c.do(ctx, http.MethodGet, path, "", nil, &h)
}

// Retract removes events by the ids that they were sent with. It fails with status 404, and removes nothing, if one of
// them is unknown.
func (c *Client) Retract(ctx context.Context, ids ...string) (events int, err error) {
	return c.retract(ctx, map[string]any{"ids": ids})
}

// RetractSequences removes events by their sequences.
func (c *Client) RetractSequences(ctx context.Context, sequences ...uint64) (events int, err error) {
	return c.retract(ctx, map[string]any{"sequences": sequences})
}

func (c *Client) retract(ctx context.Context, body any) (int, error) {
	var doc struct{ Retracted int }
	err := c.do(ctx, http.MethodPost, "/v1/retractions", "", body, &doc)
	return doc.Retracted, err
}

// Forget erases a node: its events, its name and what was derived from them. Side is "source" or "destination" where
// these have separate names; "" means both.
func (c *Client) Forget(ctx context.Context, node, side string) (events int, err error) {
	path := "/v1/nodes/" + url.PathEscape(node)
	if side != "" {
		path += "?side=" + url.QueryEscape(side)
	}
	var doc struct{ Events int }
	err = c.do(ctx, http.MethodDelete, path, "", nil, &doc)
	return doc.Events, err
}

// Status is the state of a server.
type Status struct {
	Events     int      `json:"events"`    // known events
	LastTime   *float64 `json:"last_time"` // of the latest event; nil without events
	Last       uint64   `json:"last"`      // sequence
	Received   int      `json:"received"`  // events since the server was started
	Nodes      int      `json:"nodes"`
	Model      string   `json:"model"`
	Checkpoint string   `json:"checkpoint"`
	Names      string   `json:"names"`
	Features   int      `json:"features"`
	Durable    bool     `json:"durable"`
	Order      string   `json:"order"`
	Generation struct {
		Number int `json:"number"`
	} `json:"generation"`
	Retention *Retention `json:"retention"` // nil: all events are kept
}

// Retention says which events a server has dropped because of their age.
type Retention struct {
	Period float64  `json:"period"` // in the unit of times
	Cut    *float64 `json:"cut"`    // events before it are not known; nil: none was dropped
	Moving bool     `json:"moving"` // a later cut is being prepared
}

// Status returns the state of the server.
func (c *Client) Status(ctx context.Context) (s Status, err error) {
	return s, c.do(ctx, http.MethodGet, "/v1/status", "", nil, &s)
}

// State is a hash of all events that a server received. Servers with the same hash know the same events.
type State struct {
	Last   uint64 `json:"last"` // sequence
	Came   int    `json:"came"`
	SHA256 string `json:"sha256"`
}

// State returns the hash of the events that the server received.
func (c *Client) State(ctx context.Context) (s State, err error) {
	return s, c.do(ctx, http.MethodGet, "/v1/admin/state", "", nil, &s)
}

// Reload lets the server load a checkpoint on its own machine; "" is the one that it was started with.
func (c *Client) Reload(ctx context.Context, checkpoint string) error {
	body := map[string]string{}
	if checkpoint != "" {
		body["checkpoint"] = checkpoint
	}
	return c.do(ctx, http.MethodPost, "/v1/admin/reload", "", body, nil)
}

// Rollback lets the server go back to the previous model.
func (c *Client) Rollback(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/v1/admin/rollback", "", struct{}{}, nil)
}

// do sends a request until it is answered, or another attempt cannot help.
func (c *Client) do(ctx context.Context, method, path, key string, body, into any) error {
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return err
		}
	}
	tries, pause := c.Tries, c.Pause
	if tries <= 0 {
		tries = 5
	}
	if pause <= 0 {
		pause = 100 * time.Millisecond
	}
	for try := 1; ; try++ {
		again, err := c.once(ctx, method, path, key, raw, into)
		if err == nil || !again || try >= tries || ctx.Err() != nil {
			return err
		}
		wait := time.Duration(float64(pause) * (0.5 + mrand.Float64()))
		var no *Error
		if errors.As(err, &no) {
			wait = max(wait, no.After)
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(wait):
		}
		pause = min(2*pause, 5*time.Second)
	}
}

// once sends a request once. Again says whether another attempt may help and does no harm.
func (c *Client) once(ctx context.Context, method, path, key string, body []byte, into any) (again bool, err error) {
	r, err := http.NewRequestWithContext(ctx, method, c.URL+path, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	safe := !strings.HasPrefix(path, "/v1/admin/")
	answer, err := cmp.Or(c.HTTP, http.DefaultClient).Do(r)
	if err != nil {
		return safe, err
	}
	defer answer.Body.Close()
	const most = 256 << 20
	raw, err := io.ReadAll(io.LimitReader(answer.Body, most))
	if err != nil {
		return safe, err
	}
	if answer.StatusCode != http.StatusOK {
		no := refused(answer, raw)
		return safe && no.Temporary(), no
	}
	if into != nil {
		if err := json.Unmarshal(raw, into); err != nil {
			return false, fmt.Errorf("the answer to %s %s: %w", method, path, err)
		}
	}
	return false, nil
}

// refused reads an error response.
func refused(answer *http.Response, raw []byte) *Error {
	begin := string(raw[:min(len(raw), 200)])
	e := &Error{Status: answer.StatusCode, Kind: "unknown", Message: strings.TrimSpace(begin)}
	var doc struct {
		Error struct {
			Kind, Message string
			Problems      []Problem
		}
	}
	if json.Unmarshal(raw, &doc) == nil && doc.Error.Message != "" {
		e.Kind, e.Message, e.Problems = doc.Error.Kind, doc.Error.Message, doc.Error.Problems
	}
	if s, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && s > 0 {
		e.After = time.Duration(min(s, 60)) * time.Second
	}
	return e
}
