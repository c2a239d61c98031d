package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eventlog"
)

// target is a request that can be made malformed.
type target struct{ method, path, kind, body string }

var targets = []target{
	{"POST", "/v1/events", typeJSON,
		`{"events":[{"src":1,"dst":"2","time":12.5e3,"label":-1,"features":[0.5,1e-3,0]},{"dst":7,"src":8,"time":1}]}`},
	{"POST", "/v1/events", typeNDJSON,
		"{\"src\":1,\"dst\":2,\"time\":3}\n\n{\"src\":\"a\\u00e9\",\"dst\":2,\"time\":4}\n"},
	{"POST", "/v1/score", typeJSON, `{"queries":[{"src":1,"dst":2,"time":null},{"src":"3","dst":4,"time":-7}]}`},
	{"POST", "/v1/rank", typeJSON, `{"src":1,"time":5,"k":2,"candidates":[1,"2",3]}`},
	{"POST", "/v1/explain", typeJSON, `{"queries":[{"src":1,"dst":2}],"top":1}`},
	{"POST", "/v1/admin/reload", typeJSON, `{"checkpoint":"\u0000/nowhere"}`},
	{"GET", "/v1/nodes/1/history?limit=5&before=77", "", ""},
	{"GET", "/v1/status", "", ""},
}

// pieces are put into bodies.
var pieces = []string{"\"", "\\", "{", "}", "[", "]", ",", ":", "null", "NaN", "1e999", "-", "0", "-0", "1e-400",
	"\x00", "\xff\xfe", "\\ud800", "\"src\"", "\"time\"",
	"99999999999999999999", strings.Repeat("[", 200), strings.Repeat("9",
		300), "true", "\n", " ", "\u2028", "{\"queries\":[", "e5", ".5", "+1", "\"\\", "/*", "'"}

// mutate changes a text here and there.
func mutate(rng *rand.Rand, text []byte) []byte {
	for range 1 + rng.IntN(4) {
		if len(text) == 0 {
			text = append(text, pieces[rng.IntN(len(pieces))]...)
			continue
		}
		at := rng.IntN(len(text))
		switch rng.IntN(6) {
		case 0:
			text[at] = byte(rng.Uint32())
		case 1:
			text = text[:at]
		case 2:
			text = append(text[:at], text[min(len(text), at+1+rng.IntN(6)):]...)
		case 3:
			text = append(text[:at:at], append([]byte(pieces[rng.IntN(len(pieces))]), text[at:]...)...)
		case 4:
			to := at + rng.IntN(len(text)-at)
			text = append(text, text[at:to]...)
		case 5:
			text[at] ^= 1 << rng.IntN(8)
		}
	}
	return text
}

// recorder keeps what is answered, in memory that is used again.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }
func (r *recorder) WriteHeader(s int)   { r.status = s }
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = 200
	}
	return r.body.Write(b)
}

// hammer sends requests to a handler without a network.
type hammer struct {
	handler http.Handler
	out     recorder
	in      http.Request
	reader  bytes.Reader
}

func newHammer(h http.Handler) *hammer {
	return &hammer{handler: h, out: recorder{header: http.Header{}}}
}

// send sends one, and says what is wrong with the answer.
func (h *hammer) send(t target, body []byte) error {
	clear(h.out.header)
	h.out.status = 0
	h.out.body.Reset()
	u, err := url.ParseRequestURI(t.path)
	if err != nil {
		u = &url.URL{Path: t.path} // no HTTP server would pass it on
	}
	h.reader.Reset(body)
	h.in = http.Request{Method: t.method, URL: u, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {t.kind}},
		Body:   io.NopCloser(&h.reader), ContentLength: int64(len(body)), Host: "127.0.0.1",
		RemoteAddr: "127.0.0.1:9", RequestURI: t.path}
	h.handler.ServeHTTP(&h.out, &h.in)
	switch {
	case h.out.status == 500 || h.out.status == 0:
		return errors.New("status " + strconv.Itoa(h.out.status) + ": " + h.out.body.String())
	case h.out.status != 200 && h.out.status != 307 &&
		!bytes.HasPrefix(h.out.body.Bytes(), []byte(`{"error":{"kind":`)):
		return errors.New("an error in another form: " + h.out.body.String())
	}
	return nil
}

// refusing is a server whose log takes nothing, so that it stays as it is.
func refusing(t testing.TB) *Server {
	return newWorld(t, dygmamba.DefaultModel).server(t,
		func(o *Options) { o.Log = &failing{eventlog.NewMemory(), eventlog.ErrFull} })
}

// FuzzRequests: no body makes a handler fail or answer in another form.
func FuzzRequests(f *testing.F) {
	for i, c := range targets {
		f.Add(uint8(i), []byte(c.body))
	}
	h := newHammer(refusing(f).Handler())
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		c := targets[int(which)%len(targets)]
		if err := h.send(c, body); err != nil {
			t.Errorf("%s %s %q: %v", c.method, c.path, body, err)
		}
	})
}

// FuzzEvents: what the reader of events accepts, a plain JSON decoder accepts too, and finds the same in it.
func FuzzEvents(f *testing.F) {
	f.Add(targets[0].body)
	f.Add(`{"events":[{"src":"a\u00e9\n","dst":"\ud83d\ude00","time":-0.0,"features":null}]}`)
	limits := DefaultLimits
	f.Fuzz(func(t *testing.T, text string) {
		d := eventDecoder{limits: &limits, set: &dataset.Set{Names: someNames}, width: 3}
		got, err := d.decode(text, typeJSON)
		if err != nil {
			return
		}
		var want struct {
			Events []struct {
				Src, Dst any
				Time     float64
				Label    float64
				Features []float32
			}
		}
		plain := json.NewDecoder(strings.NewReader(text))
		plain.UseNumber()
		plain.DisallowUnknownFields()
		if err := plain.Decode(&want); err != nil || len(want.Events) != len(got) {
			t.Fatalf("accepted %q: %v", text, err)
		}
		name := func(v any) string {
			switch v := v.(type) {
			case json.Number:
				return v.String()
			case string:
				return v
			}
			return ""
		}
		for i, e := range got {
			w := want.Events[i]
			if e.Src != name(w.Src) || e.Dst != name(w.Dst) || e.Time != w.Time || e.Label != w.Label ||
				len(e.Features) != len(w.Features) || math.IsNaN(e.Time) {
				t.Fatalf("event %d of %q is %+v, want %+v", i, text, e, w)
			}
		}
	})
}

var someNames, _ = dataset.NewNames([]string{"a"}, 0)

// TestHammer sends malformed requests, and opens malformed snapshots and checkpoints: DYGMAMBA_HAMMER of them,
// otherwise
// a few. Nothing may panic, and memory may not grow. `make hammer` does so 24 million times.
func TestHammer(t *testing.T) {
	count := 5_000
	if n, err := strconv.Atoi(os.Getenv("DYGMAMBA_HAMMER")); err == nil {
		count = n
	}
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // much is thrown away at once
	s := refusing(t)
	weights, err := os.ReadFile(filepath.Join(s.options.Checkpoint, "checkpoint.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	began := time.Now()
	beat := func(from, count int) map[int]int {
		var group sync.WaitGroup
		var mu sync.Mutex
		all := map[int]int{}
		workers := runtime.GOMAXPROCS(0)
		for k := range workers {
			group.Go(func() {
				b := &beater{hammer: newHammer(s.Handler()), rng: rand.New(rand.NewPCG(seed, uint64(from+k))),
					snapshot: some(t), weights: weights, statuses: map[int]int{}}
				for i := range count / workers {
					if err := b.one(i); err != nil {
						t.Errorf("seed %d, worker %d, number %d: %v", seed, from+k, i, err)
						return
					}
				}
				mu.Lock()
				defer mu.Unlock()
				for status, n := range b.statuses {
					all[status] += n
				}
			})
		}
		group.Wait()
		return all
	}
	beat(0, count/10) // caches and pools are filled
	before := heap()
	statuses := beat(100, count)
	if after := heap(); after > before+before/2+16<<20 {
		t.Errorf("memory grew from %d to %d bytes", before, after)
	}
	if statuses[400] < count/3 || s.engine.now().Last != 0 {
		t.Errorf("%v, and %d events were taken", statuses, s.engine.now().Last)
	}
	t.Logf("%d in %v: %v; heap %d MB before, %d MB after", count, time.Since(began).Round(time.Millisecond), statuses,
		before>>20, heap()>>20)
}

// beater makes what is malformed.
type beater struct {
	*hammer
	rng               *rand.Rand
	snapshot, weights []byte
	statuses          map[int]int
	body              []byte
}

// one makes a malformed request, or now and then a file.
func (b *beater) one(i int) error {
	switch {
	case i%64 == 0:
		b.body = mutate(b.rng, append(b.body[:0], b.snapshot...))
		if s, err := parseSnapshot(bytes.NewReader(b.body), int64(len(b.body))); err == nil && s.Events > len(b.body) {
			return errors.New("a snapshot of more events than it has bytes")
		}
	case i%512 == 1:
		b.body = mutate(b.rng, append(b.body[:0], b.weights...))
		if f, err := checkpoint.Read(bytes.NewReader(b.body), int64(len(b.body))); err == nil &&
			len(f.Tensors) > len(b.body) {
			return errors.New("a checkpoint of more tensors than it has bytes")
		}
	default:
		c := targets[b.rng.IntN(len(targets))]
		if c.method == "GET" {
			c.path = string(mutate(b.rng, []byte(c.path)))
		}
		b.body = mutate(b.rng, append(b.body[:0], c.body...))
		if err := b.send(c, b.body); err != nil {
			return fmt.Errorf("%s %s %q: %w", c.method, c.path, b.body, err)
		}
		b.statuses[b.out.status]++
	}
	return nil

}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
