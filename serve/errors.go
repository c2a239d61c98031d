package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/predict"
)

// apiError is an error as clients see it. All error responses have its form.
type apiError struct {
	Kind     string    `json:"kind"`
	Message  string    `json:"message"`
	Problems []problem `json:"problems,omitempty"`
	after    int       // seconds after which the same request may succeed; 0: it will not
}

func (e *apiError) Error() string { return e.Message }

func (e *apiError) status() int { return kinds[e.Kind].status }

// problem is one thing that is wrong with a request: where, what was found, and what would have been right.
type problem struct {
	Where string `json:"where"`
	Found string `json:"found"`
	Want  string `json:"want"`
}

const maxProblems = 20 // in a response

// kinds lists all kinds of errors: the HTTP status, and after how many seconds the same request may succeed.
var kinds = map[string]struct{ status, after int }{
	"bad_request":        {400, 0},
	"unauthorized":       {401, 0},
	"forbidden":          {403, 0},
	"not_found":          {404, 0},
	"method_not_allowed": {405, 0},
	"too_slow":           {408, 1},
	"conflict":           {409, 0},
	"too_early":          {409, 0},
	"too_large":          {413, 0},
	"unsupported_type":   {415, 0},
	"key_reused":         {422, 0},
	"too_many_requests":  {429, 1},
	"events_full":        {507, 30},
	"memory_full":        {507, 30},
	"failed":             {500, 0},
	"busy":               {503, 1},
	"full":               {503, 0},
	"log_full":           {503, 30},
	"log_unavailable":    {503, 5},
	"replaying":          {503, 1},
	"snapshot_failed":    {503, 30},
	"starting":           {503, 1},
	"stopping":           {503, 1},
	"timeout":            {503, 1},
	"not_yet":            {504, 1},
}

// kindOf gives errors of other packages their kind.
var kindOf = []struct {
	err  error
	kind string
}{
	{predict.ErrTooEarly, "too_early"},
	{predict.ErrNoRank, "bad_request"},
	{predict.ErrNotOne, "bad_request"},
	{event.ErrInvalid, "bad_request"},
	{eventlog.ErrTooLarge, "too_large"},
	{eventlog.ErrFull, "log_full"},
	{eventlog.ErrAway, "log_unavailable"},
	{eventlog.ErrClosed, "log_unavailable"},
	{eventlog.ErrInUse, "log_unavailable"},
	{eventlog.ErrDamaged, "log_unavailable"},
	{context.Canceled, "timeout"},
	{context.DeadlineExceeded, "timeout"},
}

func fail(kind, format string, args ...any) *apiError {
	return &apiError{Kind: kind, Message: fmt.Sprintf(format, args...), after: kinds[kind].after}
}

// badRequest is an error with all that is wrong with a request.
func badRequest(list []problem) *apiError {
	p := list[0]
	e := fail("bad_request", "%s: found %s, want %s", p.Where, p.Found, p.Want)
	if more := len(list) - 1; more == 1 {
		e.Message += ", and 1 more problem"
	} else if more > 1 {
		e.Message += fmt.Sprintf(", and %d more problems", more)
	}
	e.Problems = list[:min(len(list), maxProblems)]
	return e
}

func bad(where, found, want string) *apiError { return badRequest([]problem{{where, found, want}}) }

func errorFor(err error) *apiError {
	var e *apiError
	if errors.As(err, &e) {
		return e
	}
	for _, k := range kindOf {
		if !errors.Is(err, k.err) {
			continue
		}
		if k.kind == "timeout" {
			return fail(k.kind, "the answer took too long: %v", err)
		}
		return fail(k.kind, "%v", err)
	}
	return fail("failed", "%v", err)
}

// writeError answers with an error and returns its status.
func writeError(w http.ResponseWriter, err error) int {
	e := errorFor(err)
	if e.after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(e.after))
	}
	if e.status() == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	writeJSON(w, e.status(), map[string]*apiError{"error": e})
	return e.status()
}

func writeJSON(w http.ResponseWriter, status int, doc any) {
	body, err := json.Marshal(doc)
	if err != nil { // a bug; nothing was written yet
		status, body = 500, []byte(`{"error":{"kind":"failed","message":"the answer cannot be written as JSON"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}
