// Package client answers: how does a Go program talk to a server that 'dygmamba serve' started? It knows the server's
// interface and nothing of the rest.
//
// Events that get no answer are sent again under the same key, so that they are taken once.
package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	mrand "math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Client talks to one server. It may be used by any number of goroutines.
type Client struct {
	URL   string // such as http://127.0.0.1:8080
	Token string // "": none is sent
	HTTP  *http.Client
	Tries int           // of each request; 0 is 5
	Pause time.Duration // before the second try, twice as long before each further one; 0 is 100 ms
}

// New makes a client with the usual settings.
func New(url string) *Client { return &Client{URL: strings.TrimRight(url, "/")} }

// Error is an answer that says no.
type Error struct {
	Status   int // HTTP
	Kind     string
	Message  string
	Problems []Problem
	After    time.Duration // until it is worth another try; 0: it is not
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
	return e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable ||
		e.Status == http.StatusBadGateway ||
		e.Status == http.StatusGatewayTimeout
}

// Event is an interaction.
type Event struct {
	Src      string    `json:"src"`
	Dst      string    `json:"dst"`
	Time     float64   `json:"time"`
	Label    float64   `json:"label,omitempty"`
	Features []float32 `json:"features,omitempty"`
}

// Receipt says where events stand in the server's log.
type Receipt struct {
	Accepted int    `json:"accepted"`
	Last     uint64 `json:"last"`
}

// Ingest sends events, under a key of its own. They are durable when it returns without an error. If that says that it
// is not known whether they were taken, IngestAs with the same key makes sure.
func (c *Client) Ingest(ctx context.Context, events []Event) (Receipt, error) {
	return c.IngestAs(ctx, rand.Text(), events)
}

// IngestAs sends events under a key: however often that is done, they are taken once.
func (c *Client) IngestAs(ctx context.Context, key string, events []Event) (r Receipt, err error) {
	body := struct {
		Events []Event `json:"events"`
	}{events}
	return r, c.do(ctx, http.MethodPost, "/v1/events", key, body, &r)
}

// Query asks whether two nodes interact at a time. Nil is right after the latest event that the server knows.
type Query struct {
	Src  string   `json:"src"`
	Dst  string   `json:"dst"`
	Time *float64 `json:"time,omitempty"`
}

// At is a query about a time.
func At(src, dst string, time float64) Query { return Query{src, dst, &time} }

// Score is an answer.
type Score struct {
	Logit       float32 `json:"logit"`
	Probability float64 `json:"probability"`
}

// Scores are answers, and the sequence of the last event that they know of.
type Scores struct {
	Scores []Score `json:"scores"`
	AsOf   uint64  `json:"as_of"`
}

// Score asks.
func (c *Client) Score(ctx context.Context, queries ...Query) (s Scores, err error) {
	body := struct {
		Queries []Query `json:"queries"`
	}{queries}
	if err := c.do(ctx, http.MethodPost, "/v1/score", "", body, &s); err != nil {
		return s, err
	}
	if len(s.Scores) != len(queries) {
		return s, fmt.Errorf("%d answers to %d queries", len(s.Scores), len(queries))
	}
	return s, nil
}

// Ranking asks for partners.
type Ranking struct {
	Src        string   `json:"src"`
	Time       *float64 `json:"time,omitempty"`
	K          int      `json:"k"`
	Candidates []string `json:"candidates,omitempty"` // nil: all that were a destination
}

// Node is the name of a node; servers of data without names call theirs by numbers.
type Node string

// UnmarshalJSON takes a string or a whole number.
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

// Partner is one that was ranked.
type Partner struct {
	Dst Node `json:"dst"`
	Score
	Meetings int `json:"meetings"`
}

// Ranked are partners, the most likely first.
type Ranked struct {
	Items []Partner `json:"items"`
	AsOf  uint64    `json:"as_of"`
}

// Rank asks whom a node will meet.
func (c *Client) Rank(ctx context.Context, q Ranking) (r Ranked, err error) {
	return r, c.do(ctx, http.MethodPost, "/v1/rank", "", q, &r)
}

// Explanation is one answer and what it rests on, as JSON: docs/SERVING.md says what is in it.
type Explanation struct {
	Src, Dst Node
	Score
	Raw json.RawMessage
}

// UnmarshalJSON keeps the whole.
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

// Explain asks why.
func (c *Client) Explain(ctx context.Context, queries ...Query) ([]Explanation, error) {
	body := struct {
		Queries []Query `json:"queries"`
	}{queries}
	var doc struct {
		Explanations []Explanation `json:"explanations"`
	}
	err := c.do(ctx, http.MethodPost, "/v1/explain", "", body, &doc)
	return doc.Explanations, err
}

// Meeting is something that a node did.
type Meeting struct {
	Node Node    `json:"node"`
	Time float64 `json:"time"`
}

// History is what a node did, the latest first.
type History struct {
	Node   Node      `json:"node"`
	Events int       `json:"events"` // all of them
	Latest []Meeting `json:"latest"`
	AsOf   uint64    `json:"as_of"`
}

// History asks for the latest events of a node.
func (c *Client) History(ctx context.Context, node string, limit int) (h History, err error) {
	path := "/v1/nodes/" + url.PathEscape(node) + "/history?limit=" + strconv.Itoa(limit)
	return h, c.do(ctx, http.MethodGet, path, "", nil, &h)
}

// Status is where a server stands.
type Status struct {
	Events     int      `json:"events"`    // all that are known
	LastTime   *float64 `json:"last_time"` // of the latest; nil without events
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
}

// Status asks where the server stands.
func (c *Client) Status(ctx context.Context) (s Status, err error) {
	return s, c.do(ctx, http.MethodGet, "/v1/status", "", nil, &s)
}

// State is a hash of all events that came in: servers that have it in common know the same.
type State struct {
	Last   uint64 `json:"last"` // sequence
	Came   int    `json:"came"`
	SHA256 string `json:"sha256"`
}

// State asks for the hash of what the server knows.
func (c *Client) State(ctx context.Context) (s State, err error) {
	return s, c.do(ctx, http.MethodGet, "/v1/admin/state", "", nil, &s)
}

// Reload lets the server open a checkpoint on its own machine; "" is the one it was started with.
func (c *Client) Reload(ctx context.Context, checkpoint string) error {
	body := map[string]string{}
	if checkpoint != "" {
		body["checkpoint"] = checkpoint
	}
	return c.do(ctx, http.MethodPost, "/v1/admin/reload", "", body, nil)
}

// Rollback lets the model before this one answer again.
func (c *Client) Rollback(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/v1/admin/rollback", "", struct{}{}, nil)
}

// do sends a request until it is answered, or it is no use.
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

// once sends a request. Again says that it may be sent again: whatever changes something carries a key.
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
	via := c.HTTP
	if via == nil {
		via = http.DefaultClient
	}
	safe := !strings.HasPrefix(path, "/v1/admin/")
	answer, err := via.Do(r)
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
	if into == nil {
		return false, nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return false, fmt.Errorf("the answer to %s %s: %w", method, path, err)
	}
	return false, nil
}

// refused reads an answer that says no.
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
		e.After = time.Duration(math.Min(float64(s), 60)) * time.Second
	}
	return e
}
