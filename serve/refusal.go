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

// refusal is an error with what a client hears of it. All error responses have its form.
type refusal struct {
	status   int
	kind     string
	message  string
	problems []problem
	after    int // seconds until it is worth another try; 0: it is not
}

func (r *refusal) Error() string { return r.message }

// problem is one thing that is wrong with a request: where, what was found, and what would have been right.
type problem struct {
	Where string `json:"where"`
	Found string `json:"found"`
	Want  string `json:"want"`
}

// mostProblems is how many are told.
const mostProblems = 20

// complaint is a refusal for what is wrong with a body.
func complaint(list []problem) *refusal {
	p := list[0]
	message := fmt.Sprintf("%s: found %s, want %s", p.Where, p.Found, p.Want)
	if len(list) > 1 {
		message += fmt.Sprintf(", and %d more problems", len(list)-1)
	}
	return &refusal{status: 400, kind: "bad_request", message: message, problems: list[:min(len(list), mostProblems)]}
}

func bad(where, found, want string) *refusal { return complaint([]problem{{where, found, want}}) }

// refusalOf maps errors to status codes, here and nowhere else.
func refusalOf(err error) *refusal {
	var r *refusal
	switch {
	case errors.As(err, &r):
		return r
	case errors.Is(err, predict.ErrTooEarly):
		return &refusal{status: 409, kind: "too_early", message: err.Error()}
	case errors.Is(err, predict.ErrNoRank), errors.Is(err, event.ErrInvalid):
		return &refusal{status: 400, kind: "bad_request", message: err.Error()}
	case errors.Is(err, errNoPrevious):
		return &refusal{status: 409, kind: "conflict", message: err.Error()}
	case errors.Is(err, eventlog.ErrTooLarge):
		return &refusal{status: 413, kind: "too_large", message: err.Error()}
	case errors.Is(err, eventlog.ErrFull):
		return &refusal{status: 503, kind: "log_full", message: err.Error(), after: 30}
	case errors.Is(err, eventlog.ErrAway), errors.Is(err, eventlog.ErrClosed), errors.Is(err,
		eventlog.ErrInUse), errors.Is(err, eventlog.ErrDamaged):
		return &refusal{status: 503, kind: "log_unavailable", message: err.Error(), after: 5}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		message := "the answer did not come in time: " + err.Error()
		return &refusal{status: 503, kind: "timeout", message: message, after: 1}
	}
	return &refusal{status: 500, kind: "failed", message: err.Error()}
}

// refuse answers with an error.
func refuse(w http.ResponseWriter, err error) {
	r := refusalOf(err)
	if r.after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(r.after))
	}
	if r.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	var doc struct {
		Error struct {
			Kind     string    `json:"kind"`
			Message  string    `json:"message"`
			Problems []problem `json:"problems,omitempty"`
		} `json:"error"`
	}
	doc.Error.Kind, doc.Error.Message, doc.Error.Problems = r.kind, r.message, r.problems
	answer(w, r.status, doc)
}

// answer writes a document.
func answer(w http.ResponseWriter, status int, doc any) {
	body, err := json.Marshal(doc)
	if err != nil { // a bug; nothing was written yet
		status, body = 500, []byte(`{"error":{"kind":"failed","message":"the answer cannot be written as JSON"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}

// tooLarge refuses what is beyond a limit.
func tooLarge(format string, args ...any) *refusal {
	return &refusal{status: 413, kind: "too_large", message: fmt.Sprintf(format, args...)}
}

// busy refuses what there is no room for now.
func busy(format string, args ...any) *refusal {
	return &refusal{status: 503, kind: "busy", message: fmt.Sprintf(format, args...), after: 1}
}
