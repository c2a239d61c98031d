package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/client"
)

// fake is a server that answers with what it is told to, and notes what it was asked.
type fake struct {
	mu      sync.Mutex
	answers []func(w http.ResponseWriter)
	asked   []string // method, path, key, token and body
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	f.asked = append(f.asked, fmt.Sprintln(r.Method, r.URL.RequestURI(), r.Header.Get("Idempotency-Key"),
		r.Header.Get("Authorization"), string(body)))
	next := f.answers[0]
	if len(f.answers) > 1 {
		f.answers = f.answers[1:]
	}
	f.mu.Unlock()
	next(w)
}

func says(status int, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

func hangUp(http.ResponseWriter) { panic(http.ErrAbortHandler) }

func newFake(t *testing.T, answers ...func(http.ResponseWriter)) (*fake, *client.Client) {
	f := &fake{answers: answers}
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	c := client.New(s.URL + "/")
	c.Pause = time.Millisecond
	return f, c
}

const busy = `{"error": {"kind": "busy", "message": "later"}}`

// Events are sent again under the same key until they are acknowledged, whatever went wrong before.
func TestIngestAgainUnderOneKey(t *testing.T) {
	f, c := newFake(t, says(503, busy), hangUp, says(200, `{"acc`), says(200, `{"accepted": 1, "last": 7}`))
	c.Token = "secret"
	_, err := c.Ingest(t.Context(), []client.Event{{Src: "a", Dst: "b", Time: 1}})
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) { // an answer that is none is no reason to go on
		t.Fatalf("half an answer: %v", err)
	}
	r, err := c.IngestAs(t.Context(), "mine", []client.Event{{Src: "a", Dst: "b", Time: 1, Features: []float32{0.1}}})
	if err != nil || r != (client.Receipt{Accepted: 1, Last: 7}) {
		t.Fatal(r, err)
	}
	if len(f.asked) != 4 {
		t.Fatalf("asked %q", f.asked)
	}
	key := strings.Fields(f.asked[0])[2]
	for _, a := range f.asked[:3] {
		if !strings.HasPrefix(a, "POST /v1/events "+key+" Bearer secret ") || len(key) < 16 {
			t.Errorf("asked %q, want the key %s", a, key)
		}
	}
	if want := `POST /v1/events mine Bearer secret {"events":[{"src":"a","dst":"b","time":1,"features":[0.1]}]}` +
		"\n"; f.asked[3] != want {
		t.Errorf("asked %q, want %q", f.asked[3], want)
	}
}

// What cannot succeed is not tried again, and comes back as a typed error.
func TestTypedErrors(t *testing.T) {
	f, c := newFake(t, says(400, `{"error": {"kind": "bad_request", "message": "no",
		"problems": [{"where": "src", "found": "x", "want": "y"}]}}`))
	_, err := c.Score(t.Context(), client.At("a", "b", 5))
	var no *client.Error
	if !errors.As(err, &no) || no.Status != 400 || no.Kind != "bad_request" || no.Temporary() ||
		len(no.Problems) != 1 || no.Problems[0].Want != "y" {
		t.Errorf("%#v", err)
	}
	if len(f.asked) != 1 || !strings.Contains(f.asked[0], `"time":5`) {
		t.Errorf("asked %q", f.asked)
	}
	f, c = newFake(t, says(502, "<html>oops"))
	c.Tries = 3
	if _, err = c.Status(t.Context()); !errors.As(err, &no) || !no.Temporary() || no.Message != "<html>oops" ||
		len(f.asked) != 3 {
		t.Errorf("%v after %d tries", err, len(f.asked))
	}
	f, c = newFake(t, says(503, busy))
	if err := c.Rollback(t.Context()); err == nil || len(f.asked) != 1 { // twice is not once
		t.Errorf("%v after %d tries", err, len(f.asked))
	}
	_, c = newFake(t, func(w http.ResponseWriter) { w.Header().Set("Retry-After", "30"); says(429, busy)(w) })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err = c.Status(ctx); !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &no) ||
		no.After != 30*time.Second {
		t.Errorf("%v", err)
	}
}

// Answers are read whole, with nodes of either kind.
func TestAnswers(t *testing.T) {
	f, c := newFake(t,
		says(200, `{"scores": [{"logit": 0.1, "probability": 0.5}], "as_of": 3}`),
		says(200, `{"scores": [], "as_of": 3}`),
		says(200, `{"items": [{"dst": 7, "logit": 1, "probability": 0.7, "meetings": 2},
			{"dst": "tea", "logit": 0, "probability": 0.5}], "as_of": 4}`),
		says(200, `{"explanations": [{"src": 1, "dst": "x", "logit": 2, "probability": 0.9, "gaps": [1]}]}`),
		says(200, `{"node": "a b", "events": 9, "latest": [{"node": 3, "time": 1.5}]}`),
		says(200, `{"events": 3, "last_time": null, "last": 2, "model": "m",
			"checkpoint": "c", "generation": {"number": 4}}`),
		says(200, `{"last": 1, "came": 1, "sha256": "ab"}`), says(200, `{}`), says(200, `{}`), says(200,
			`{"items": [{"dst": 1.5}]}`),
		says(200, `{"scores": [{"share": 0.25, "rate": 2, "warning": "far",
			"within": {"window": 60, "probability": 0.5, "expected": 0.75}}], "as_of": 5}`),
		says(200, `{"items": [{"dst": 7, "share": 0.25, "meetings": 2}], "others": 0.5, "new": 0.25, "as_of": 5}`))
	if s, err := c.Score(t.Context(), client.Query{Src: "a", Dst: "b"}); err != nil || s.Scores[0].Logit != 0.1 ||
		s.AsOf != 3 {
		t.Error(s, err)
	}
	if _, err := c.Score(t.Context(), client.Query{Src: "a", Dst: "b"}); err == nil {
		t.Error("took no answer for one")
	}
	if r, err := c.Rank(t.Context(), client.Ranking{Src: "a", K: 2}); err != nil || r.Items[0].Dst != "7" ||
		r.Items[1].Dst != "tea" || r.Items[0].Meetings != 2 || r.Items[0].Probability != 0.7 {
		t.Error(r, err)
	}
	if e, err := c.Explain(t.Context(), client.Query{Src: "1", Dst: "x"}); err != nil || e[0].Src != "1" ||
		e[0].Logit != 2 || !strings.Contains(string(e[0].Raw), "gaps") {
		t.Error(e, err)
	}
	if h, err := c.History(t.Context(), "a b/c", 5); err != nil || h.Events != 9 || h.Latest[0].Node != "3" ||
		h.Latest[0].Time != 1.5 {
		t.Error(h, err)
	}
	if s, err := c.Status(t.Context()); err != nil || s.LastTime != nil || s.Generation.Number != 4 {
		t.Error(s, err)
	}
	if s, err := c.State(t.Context()); err != nil || s.SHA256 != "ab" {
		t.Error(s, err)
	}
	if err := errors.Join(c.Reload(t.Context(), "x.safetensors"), c.Rollback(t.Context())); err != nil {
		t.Error(err)
	}
	if _, err := c.Rank(t.Context(), client.Ranking{Src: "a", K: 2}); err == nil {
		t.Error("took 1.5 for a node")
	}
	s, err := c.ScoreWithin(t.Context(), "1m", 5, client.Query{Src: "a", Dst: "b"})
	if err != nil || *s.Scores[0].Share != 0.25 || *s.Scores[0].Rate != 2 || s.Scores[0].Warning != "far" ||
		*s.Scores[0].Within != (client.Window{Length: 60, Probability: 0.5, Expected: 0.75}) {
		t.Error(s, err)
	}
	r, err := c.Rank(t.Context(), client.Ranking{Src: "a", K: 1, Within: "1m"})
	if err != nil || *r.Items[0].Share != 0.25 || r.Others != 0.5 || r.New != 0.25 {
		t.Error(r, err)
	}
	for _, asked := range f.asked[len(f.asked)-2:] {
		if !strings.Contains(asked, `"within":"1m"`) {
			t.Errorf("asked %q, want a window", asked)
		}
	}
	if want := "GET /v1/nodes/a%20b%2Fc/history?limit=5"; !strings.HasPrefix(f.asked[4], want) {
		t.Errorf("asked %q, want %q", f.asked[4], want)
	}
}

// Removals name what to remove, and say how many events are gone.
func TestRemovals(t *testing.T) {
	f, c := newFake(t, says(200, `{"retracted": 2}`), says(200, `{"retracted": 1}`), says(200, `{"events": 7}`),
		says(200, `{"events": 3}`), says(404, `{"error": {"kind": "not_found", "message": "no event c"}}`))
	for _, tt := range []struct {
		want int
		call func() (int, error)
		ask  string
	}{
		{2, func() (int, error) { return c.Retract(t.Context(), "a", "b") }, `POST /v1/retractions`},
		{1, func() (int, error) { return c.RetractSequences(t.Context(), 9) }, `{"sequences":[9]}`},
		{7, func() (int, error) { return c.Forget(t.Context(), "a/b", "") }, `DELETE /v1/nodes/a%2Fb `},
		{3, func() (int, error) { return c.Forget(t.Context(), "u1", "source") }, `DELETE /v1/nodes/u1?side=source`},
	} {
		n, err := tt.call()
		if asked := f.asked[len(f.asked)-1]; err != nil || n != tt.want || !strings.Contains(asked, tt.ask) {
			t.Errorf("%d (%v), want %d; asked %s, want %s", n, err, tt.want, asked, tt.ask)
		}
	}
	var refused *client.Error
	if _, err := c.Retract(t.Context(), "c"); !errors.As(err, &refused) || refused.Status != 404 {
		t.Errorf("an unknown event: %v", err)
	}
}
