package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/eventlog/embedded"
)

// sentEvent is an event of a history, as a client knows it.
type sentEvent struct {
	eventlog.Event
	sequence uint64
}

// patient are limits of a server that may be stopped for a while.
var patient = Limits{Timeout: time.Hour}

// history is a server that events are sent to and removed from, and what is left of them by a client's account.
type history struct {
	t      *testing.T
	w      *world
	set    *dataset.Set // that the server begins with: the world's, with names or without
	rng    *rand.Rand
	dir    string // "": the log is in memory
	server *Server
	log    eventlog.Log
	sent   []sentEvent
	base   map[int]bool    // events of the data set that were removed
	erased map[string]bool // nodes of the data set that were erased
	file   *dataset.Set    // the same history offline
	met    map[string]bool // nodes that ever had an event
	last   uint64
}

func (h *history) open() {
	h.log = eventlog.NewMemory()
	if h.dir != "" {
		log, err := embedded.Open(h.dir, embedded.Options{})
		if err != nil {
			h.t.Fatal(err)
		}
		h.log = log
	}
	s, err := h.w.open(func(o *Options) {
		if o.Set, o.Log, o.Limits = h.set, h.log, patient; h.dir != "" {
			o.Snapshots.File = filepath.Join(h.dir, "snapshot")
		}
	})
	if err != nil {
		h.t.Fatal(err)
	}
	h.server = s
}

func (h *history) close() {
	if err := h.server.Close(); err != nil {
		h.t.Error(err)
	}
	h.log.Close()
}

// name is one of a few nodes: some of the data set, some that are new.
func (h *history) name() string { return strconv.Itoa(1 + h.rng.IntN(h.set.NumNodes()+4)) }

func (h *history) send() {
	n := 1 + h.rng.IntN(6)
	events := make([]eventlog.Event, n)
	last := h.w.whole.Log.At(h.w.early.Log.Len()).Time
	for i := range events {
		events[i] = h.w.event(h.w.early.Log.Len() + h.rng.IntN(h.w.whole.Log.Len()-h.w.early.Log.Len()))
		events[i].Src, events[i].Dst = h.name(), h.name()
		events[i].Time = last + float64(h.rng.IntN(40)) - 5
		if h.rng.IntN(2) == 0 {
			events[i].ID = fmt.Sprint("id-", h.last+uint64(i)+1)
		}
		if h.rng.IntN(3) == 0 {
			events[i].Features = nil
		}
	}
	doc := ask[receiptDoc](h.t, h.server, "POST", "/v1/events", eventsBody(events))
	for i, e := range events {
		h.sent = append(h.sent, sentEvent{e, doc.Last - uint64(n-1-i)})
	}
	h.file = h.withEvents(h.file, h.sent[len(h.sent)-n:])
	h.last = doc.Last
}

func eventsBody(events []eventlog.Event) string {
	var list []string
	for _, e := range events {
		features, _ := json.Marshal(e.Features)
		id, _ := json.Marshal(e.ID)
		if e.ID == "" {
			id = []byte("null")
		}
		list = append(list, fmt.Sprintf(`{"src": %s, "dst": %s, "time": %s, "label": %v, "features": %s, "id": %s}`,
			e.Src, e.Dst, strconv.FormatFloat(e.Time, 'g', -1, 64), e.Label, features, id))
	}
	return `{"events": [` + strings.Join(list, ", ") + `]}`
}

func (h *history) retract() {
	if len(h.sent) == 0 {
		return
	}
	byID := h.rng.IntN(2) == 0
	var ids []string
	var sequences []uint64
	gone := map[uint64]bool{}
	for range 1 + h.rng.IntN(4) {
		e := h.sent[h.rng.IntN(len(h.sent))]
		if byID && e.ID == "" {
			continue
		}
		ids, sequences = append(ids, e.ID), append(sequences, e.sequence)
		gone[e.sequence] = true
	}
	if len(gone) == 0 {
		return
	}
	body, _ := json.Marshal(map[string]any{"sequences": sequences})
	if byID {
		body, _ = json.Marshal(map[string]any{"ids": ids})
	}
	doc := ask[struct{ Retracted int }](h.t, h.server, "POST", "/v1/retractions", string(body))
	if doc.Retracted != len(gone) {
		h.t.Errorf("%s retracted %d events, want %d", body, doc.Retracted, len(gone))
	}
	h.sent = slices.DeleteFunc(h.sent, func(e sentEvent) bool { return gone[e.sequence] })
	dropped := map[string]bool{}
	for sequence := range gone {
		dropped[fmt.Sprint("seq-", sequence)] = true
	}
	h.drop(dropped)
}

// retractBase retracts events of the data set by their ids, and with them one that was sent, if any has an id.
func (h *history) retractBase() {
	var ids []string
	gone := map[int]bool{}
	for range 1 + h.rng.IntN(4) {
		if i := h.rng.IntN(h.set.Log.Len()); !h.base[i] {
			ids, gone[i] = append(ids, h.set.IDs.At(int(h.set.Log.At(i).Edge))), true
		}
	}
	sent := slices.IndexFunc(h.sent, func(e sentEvent) bool { return e.ID != "" })
	if sent >= 0 {
		ids = append(ids, h.sent[sent].ID)
	}
	if len(ids) == 0 {
		return
	}
	unknown, _ := json.Marshal(map[string]any{"ids": append(slices.Clone(ids), "nobody")})
	if got := call(h.server.Handler(), "POST", "/v1/retractions", string(unknown)); got.Code != 404 ||
		!strings.Contains(got.Body.String(), `known as \"nobody\"; nothing`) {
		h.t.Errorf("%s: %d %s, want 404", unknown, got.Code, got.Body)
	}
	body, _ := json.Marshal(map[string]any{"ids": ids})
	want, dropped := len(gone), map[string]bool{}
	if sent >= 0 {
		dropped[fmt.Sprint("seq-", h.sent[sent].sequence)] = true
		h.sent = slices.Delete(h.sent, sent, sent+1)
		want++
	}
	doc := ask[struct{ Retracted int }](h.t, h.server, "POST", "/v1/retractions", string(body))
	if doc.Retracted != want {
		h.t.Errorf("%s retracted %d events, want %d", body, doc.Retracted, want)
	}
	for i := range gone {
		h.base[i] = true
		dropped[h.set.IDs.At(int(h.set.Log.At(i).Edge))] = true
	}
	h.drop(dropped)
	if again := call(h.server.Handler(), "POST", "/v1/retractions", string(body)); again.Code != 404 {
		h.t.Errorf("%s again: %d %s, want 404", body, again.Code, again.Body)
	}
}

// withIDs is a set whose events have ids.
func withIDs(set *dataset.Set) *dataset.Set {
	named := *set
	named.IDs = &dataset.IDs{}
	for i := range set.Edge.Rows - 1 {
		named.IDs.Text = fmt.Appendf(named.IDs.Text, "base-%d", i+1)
		named.IDs.Ends = append(named.IDs.Ends, int64(len(named.IDs.Text)))
	}
	return &named
}

func (h *history) erase() {
	name := h.name()
	number, _ := strconv.Atoi(name)
	known := number < h.set.NumNodes() && !h.erased[name]
	want := 0
	for i := range h.w.early.Log.Len() {
		e := h.w.early.Log.At(i)
		if !h.base[i] && (int(e.Src) == number || int(e.Dst) == number) {
			h.base[i] = true
			want++
		}
	}
	before := len(h.sent)
	h.sent = slices.DeleteFunc(h.sent, func(e sentEvent) bool { return e.Src == name || e.Dst == name })
	want += before - len(h.sent)
	if known {
		h.erased[name] = true
	}
	answer := call(h.server.Handler(), "DELETE", "/v1/nodes/"+name, "")
	if !known && want == 0 {
		if answer.Code != 404 {
			h.t.Errorf("erasing the unknown node %s: %d %s", name, answer.Code, answer.Body)
		}
		return
	}
	h.forget(name)
	text := fmt.Sprintf(`{"events":%d}`, want)
	if answer.Code != 200 || strings.TrimSpace(answer.Body.String()) != text {
		h.t.Errorf("erasing %s: %d %s, want %s", name, answer.Code, answer.Body, text)
	}
}

// neverSet is the set that the server begins with, had it never had what was removed, nor nodes with names that were
// erased.
func (h *history) neverSet() *dataset.Set {
	early := h.set
	set := *early
	set.IDs = nil
	set.Log, set.Edge.Rows, set.Edge.Data = event.NewLog(0), 1, make([]float32, set.Edge.Cols)
	number := make([]event.Node, early.NumNodes()) // of a node without the erased ones
	var names []string
	var features []float32
	for n := range number {
		if n > 0 && early.Names != nil && h.erased[early.Names.Name(event.Node(n))] {
			continue
		}
		if n > 0 {
			number[n] = event.Node(len(names) + 1)
			names = append(names, early.Names.Name(event.Node(n)))
		}
		features = append(features, early.Node.Row(n)...)
	}
	for i := range early.Log.Len() {
		e := early.Log.At(i)
		if h.base[i] {
			continue
		}
		set.Edge.Data = append(set.Edge.Data, early.Edge.Row(int(e.Edge))...)
		e.Edge, e.Src, e.Dst = event.Edge(set.Edge.Rows), number[e.Src], number[e.Dst]
		set.Edge.Rows++
		if _, err := set.Log.Append(e); err != nil {
			h.t.Fatal(err)
		}
	}
	if early.Names != nil {
		set.Node.Rows = len(names) + 1
		if set.Node.Data != nil {
			set.Node.Data = features
		}
		var err error
		if set.Names, err = dataset.NewNames(names, 0); err != nil {
			h.t.Fatal(err)
		}
	}
	return &set
}

func (h *history) serverOf(set *dataset.Set) *Server {
	s, err := h.w.open(func(o *Options) { o.Set, o.Limits = set, patient })
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// never is a server that never had what was removed.
func (h *history) never() *Server {
	s := h.serverOf(h.neverSet())
	for i := 0; i < len(h.sent); i += 7 {
		var events []eventlog.Event
		for _, e := range h.sent[i:min(i+7, len(h.sent))] {
			events = append(events, e.Event)
		}
		ask[receiptDoc](h.t, s, "POST", "/v1/events", eventsBody(events))
	}
	return s
}

func (h *history) run(steps int) {
	h.open()
	for range steps {
		switch h.rng.IntN(10) {
		case 0, 1, 2, 3, 4:
			h.send()
		case 5:
			h.retract()
		case 6:
			h.retract()
			h.retractBase()
		case 7:
			h.erase()
		case 8:
			if h.dir != "" {
				h.close()
				h.open()
				h.reopen()
			}
		case 9: // what is derived from the events goes on
			ask[scoresDoc](h.t, h.server, "POST", "/v1/score", `{"queries": [{"src": 1, "dst": 2}]}`)
		}
	}
	defer h.close()
	never := h.never()
	defer never.Close()
	at := h.w.whole.Log.At(h.w.early.Log.Len()).Time + 50
	want := answersOf(h.t, never, at)
	h.same("the server", answersOf(h.t, h.server, at), want)
	offline, clean := h.serverOf(h.file), h.serverOf(h.neverFile())
	defer offline.Close()
	defer clean.Close()
	h.same("the file", byName(answersOf(h.t, offline, at)), byName(answersOf(h.t, clean, at)))
	if doc := ask[statusDoc](h.t, h.server, "GET", "/v1/status", ""); doc.Last != h.last ||
		doc.Events != never.engine.now().Len() {
		h.t.Errorf("the status has %d events up to %d, want %d up to %d", doc.Events, doc.Last,
			never.engine.now().Len(), h.last)
	}
}

func (h *history) same(what string, got, want map[string]any) {
	h.t.Helper()
	for question := range want {
		if !reflect.DeepEqual(got[question], want[question]) {
			h.t.Errorf("%s: answers to %s differ:\n%v\n%v", what, question, got[question], want[question])
		}
	}
}

// TestRemovalsLeaveNothing: after random histories with retractions, erased nodes and restarts, a server answers as one
// that never had what was removed, bit for bit, and so does one that opens a file from which the same was removed.
// `make histories` runs 10,000 of them; DYGMAMBA_HISTORIES may also be a part of these, such as 2500-5000.
func TestRemovalsLeaveNothing(t *testing.T) {
	first, count := 0, 45
	if testing.Short() {
		count = 6
	}
	if text := os.Getenv("DYGMAMBA_HISTORIES"); text != "" {
		if _, err := fmt.Sscanf(text, "%d-%d", &first, &count); err != nil {
			if count, err = strconv.Atoi(text); err != nil {
				t.Fatal(err)
			}
			first = 0
		}
	}
	names := []string{dygmamba.DefaultModel, "tgn", "walkmamba"}
	for i := first; i < count; i++ {
		rng := rand.New(rand.NewPCG(uint64(i), 29))
		h := &history{t: t, w: newWorld(t, names[i%3], "strict"), rng: rng, base: map[int]bool{},
			erased: map[string]bool{}, met: map[string]bool{}}
		if h.set = h.w.early; rng.IntN(2) == 0 {
			h.set = h.w.named(t)
		}
		h.set = withIDs(h.set)
		h.file = h.set
		for e := range h.set.Log.Len() {
			e := h.set.Log.At(e)
			h.met[strconv.Itoa(int(e.Src))], h.met[strconv.Itoa(int(e.Dst))] = true, true
		}
		if i/3%2 == 1 {
			h.dir = filepath.Join(t.TempDir(), "store")
			if err := os.MkdirAll(h.dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		h.run(6 + rng.IntN(14))
		if t.Failed() {
			t.Fatalf("history %d of %s, log in %q", i, names[i%3], h.dir)
		}
		os.RemoveAll(h.dir)
		if i%1000 == 999 {
			t.Logf("%d histories", i+1)
		}
	}
}

// TestErasedNodeIsGone: no byte of a name is left in the files of the store, and no answer has it.
func TestErasedNodeIsGone(t *testing.T) {
	w := newWorld(t, dygmamba.DefaultModel, "strict")
	dir := t.TempDir()
	log, err := embedded.Open(dir, embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	named := w.named(t)
	s, err := w.open(func(o *Options) {
		o.Set, o.Log, o.Snapshots.File = named, log, filepath.Join(dir, "snapshot")
	})
	if err != nil {
		t.Fatal(err)
	}
	const secret = "erika.mustermann"
	body := func(i int) string {
		return fmt.Sprintf(`{"events": [{"src": %q, "dst": "other%d", "time": %d, "id": "%s-%d"},
			{"src": "one", "dst": "two", "time": %d}]}`, secret, i, 1000+i, secret, i, 1000+i)
	}
	for i := range 20 {
		ask[receiptDoc](t, s, "POST", "/v1/events", body(i), "Idempotency-Key", fmt.Sprint("key", i))
	}
	ask[map[string]any](t, s, "POST", "/v1/admin/snapshot", "")
	found := func() (n int) {
		for _, name := range []string{embedded.File, "snapshot"} {
			raw, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			n += bytes.Count(raw, []byte(secret))
		}
		return n
	}
	if found() == 0 {
		t.Fatal("the test finds nothing")
	}
	if doc := ask[struct{ Events int }](t, s, "DELETE", "/v1/nodes/"+secret, ""); doc.Events != 20 {
		t.Errorf("%d events were erased, want 20", doc.Events)
	}
	if n := found(); n > 0 {
		t.Errorf("the erased name is %d times in the files", n)
	}
	if got := call(s.Handler(), "GET", "/v1/nodes/"+secret+"/history", ""); got.Code != 404 {
		t.Errorf("its history: %d %s", got.Code, got.Body)
	}
	again := ask[receiptDoc](t, s, "POST", "/v1/events", body(3), "Idempotency-Key", "key3")
	if again.Last != 8 || again.Accepted != 2 || s.engine.now().Last != 40 {
		t.Errorf("the key of an erased event answers %+v", again)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := found(); n > 0 {
		t.Errorf("after the end the erased name is %d times in the files", n)
	}
}

// named is the world's early set with names of nodes.
func (w *world) named(t *testing.T) *dataset.Set {
	t.Helper()
	set := *w.early
	list := make([]string, set.NumNodes())
	for i := range list {
		list[i] = strconv.Itoa(i)
	}
	var err error
	if set.Names, err = dataset.NewNames(list[1:], 0); err != nil {
		t.Fatal(err)
	}
	return &set
}

// TestEventIDs: ids are unique for each token, unknown ones are 404 and nothing is removed, and the id of a removed
// event is free again.
func TestEventIDs(t *testing.T) {
	w := newWorld(t, dygmamba.DefaultModel, "strict")
	s := w.server(t, nil)
	post := func(id string, headers ...string) int {
		body := fmt.Sprintf(`{"events": [{"src": 1, "dst": 2, "time": 1000},
			{"src": 1, "dst": 2, "time": 1000, "id": %q}]}`, id)
		return call(s.Handler(), "POST", "/v1/events", body, headers...).Code
	}
	retract := func(body string) (int, string) {
		got := call(s.Handler(), "POST", "/v1/retractions", body)
		return got.Code, strings.TrimSpace(got.Body.String())
	}
	known := s.engine.now().Len()
	for i, c := range []struct{ got, want int }{
		{post("a", "Idempotency-Key", "k"), 200}, {post("a", "Idempotency-Key", "k"), 200}, {post("a"), 409},
		{post("b"), 200}, {post(""), 400}, {post(strings.Repeat("x", 201)), 400},
	} {
		if c.got != c.want {
			t.Errorf("%d: status %d, want %d", i, c.got, c.want)
		}
	}
	two := `{"events": [{"src": 1, "dst": 2, "time": 1, "id": "c"}, {"src": 1, "dst": 2, "time": 1, "id": "c"}]}`
	if got := call(s.Handler(), "POST", "/v1/events", two); got.Code != 409 || s.engine.now().Len() != known+4 {
		t.Errorf("one id twice: %d %s, %d events", got.Code, got.Body, s.engine.now().Len())
	}
	for body, want := range map[string]int{
		`{"ids": ["a", "zz"]}`: 404, `{"sequences": [1, 99]}`: 404, `{}`: 400, `{"ids": []}`: 400,
		`{"ids": ["a"], "sequences": [1]}`: 400, `{"sequences": [0]}`: 400, `{"ids": [1]}`: 400,
	} {
		if code, text := retract(body); code != want || s.engine.now().Len() != known+4 {
			t.Errorf("%s: %d %s, %d events", body, code, text, s.engine.now().Len())
		}
	}
	if code, text := retract(`{"ids": ["a", "a"]}`); code != 200 || text != `{"retracted":1}` {
		t.Errorf("%d %s", code, text)
	}
	if code, _ := retract(`{"ids": ["a"]}`); code != 404 {
		t.Errorf("retracted twice: %d", code)
	}
	if post("a") != 200 || s.engine.now().Len() != known+5 {
		t.Errorf("the id of a removed event is not free: %d events", s.engine.now().Len()-known)
	}
}

// TestTimesAhead: times too far ahead of the clock are refused with what would be right, and nothing is taken.
func TestTimesAhead(t *testing.T) {
	w := newWorld(t, dygmamba.DefaultModel, "strict")
	set := *w.early
	set.TimeFormat = dataset.TimeDate
	s := w.server(t, func(o *Options) { o.Set, o.MaxAhead = &set, 3600 })
	now := float64(time.Now().Unix())
	post := func(at float64) *httptest.ResponseRecorder {
		body := fmt.Sprintf(`{"events": [{"src": 1, "dst": 2, "time": %v}]}`, at)
		return call(s.Handler(), "POST", "/v1/events", body)
	}
	known := s.engine.now().Len()
	if got := post(now + 7200); got.Code != 400 || !strings.Contains(got.Body.String(), "--max-ahead") {
		t.Errorf("two hours ahead: %d %s", got.Code, got.Body)
	}
	if got := post(now + 1800); got.Code != 200 || s.engine.now().Len() != known+1 {
		t.Errorf("half an hour ahead: %d %s", got.Code, got.Body)
	}
}
