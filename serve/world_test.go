package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// failing is a log that can be told to take nothing.
type failing struct {
	*eventlog.Memory
	fail error
}

func (l *failing) Append(ctx context.Context, key string, events []eventlog.Event) (eventlog.Receipt, error) {
	if l.fail != nil {
		return eventlog.Receipt{}, l.fail
	}
	return l.Memory.Append(ctx, key, events)
}

// world is a data set, a model that was trained on it a little, and the events that are left to come.
type world struct {
	whole, early *dataset.Set // all events; those that are known at the beginning
	run          string
}

var trained = struct {
	sync.Mutex
	worlds map[string]*world
}{worlds: map[string]*world{}}

// newWorld trains a small model, once for all tests.
func newWorld(t testing.TB, name string, change ...string) *world {
	t.Helper()
	trained.Lock()
	defer trained.Unlock()
	key := name + strings.Join(change, " ")
	if w := trained.worlds[key]; w != nil {
		return w
	}
	spec, set := modeltest.Small(t, name, models.Get(name))
	if len(change) > 1 && change[1] == string(protocol.Next) { // although the model was not made for it
		spec, set = modeltest.SmallNext(t, name, models.Get(name))
	}
	if len(change) > 0 && change[0] != "" {
		spec.Order = protocol.Order(change[0])
	}
	spec.Training.Epochs = 1
	dir := keepDir(t)
	if _, err := dygmamba.Train(context.Background(),
		dygmamba.TrainOptions{Set: set, Model: name, Task: spec.Task, Spec: &spec, Dir: dir, Threads: 1}); err != nil {
		t.Fatal(err)
	}
	w := &world{whole: set, early: set.First(set.Log.Len() / 2), run: run.SeedDir(dir, 0)}
	trained.worlds[key] = w
	return w
}

// server starts one on the world's early events.
func (w *world) server(t testing.TB, change func(o *Options)) *Server {
	t.Helper()
	s, err := w.open(change)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func (w *world) open(change func(o *Options)) (*Server, error) {
	o := Options{Set: w.early, Log: eventlog.NewMemory(), Checkpoint: w.run, Load: predict.Options{Threads: 1}}
	if change != nil {
		change(&o)
	}
	return New(context.Background(), o)
}

// event is the i-th of all, as clients send it.
func (w *world) event(i int) eventlog.Event {
	e := w.whole.Log.At(i)
	return eventlog.Event{Src: strconv.Itoa(int(e.Src)), Dst: strconv.Itoa(int(e.Dst)), Time: e.Time,
		Label: float64(e.Label), Features: w.whole.Edge.Row(int(e.Edge))}
}

// body is events lo … hi−1 as a request.
func (w *world) body(lo, hi int) string {
	var list []string
	for i := lo; i < hi; i++ {
		e := w.event(i)
		features, _ := json.Marshal(e.Features)
		list = append(list, fmt.Sprintf(`{"src": %s, "dst": %q, "time": %s, "label": %v, "features": %s}`, e.Src, e.Dst,
			strconv.FormatFloat(e.Time, 'g', -1, 64), e.Label, features))
	}
	return `{"events": [` + strings.Join(list, ", ") + `]}`
}

// call asks a handler.
func call(h http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// ask asks a server for a document.
func ask[T any](t testing.TB, s *Server, method, path, body string, headers ...string) (doc T) {
	t.Helper()
	w := call(s.Handler(), method, path, body, headers...)
	if w.Code != 200 {
		t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	if err := json.NewDecoder(bytes.NewReader(w.Body.Bytes())).Decode(&doc); err != nil {
		t.Fatalf("%s %s: %v in %s", method, path, err, w.Body)
	}
	return doc
}

type scoresDoc struct {
	Scores []scoreDoc
	AsOf   uint64 `json:"as_of"`
}

type receiptDoc struct {
	Accepted int
	Last     uint64
}

// remembering are the models with a memory, and default one without.
func remembering() (names []string) {
	for _, name := range models.Names(true) {
		if models.Get(name).Remembers {
			names = append(names, name)
		}
	}
	return names
}
