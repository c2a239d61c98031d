package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/eventlog"
)

// A page of another site cannot change anything, with whatever a browser lets it send without asking first.
func TestCrossSiteRequests(t *testing.T) {
	w := newWorld(t, dygmamba.DefaultModel)
	file := filepath.Join(t.TempDir(), "snapshot")
	s := w.server(t, func(o *Options) { o.Snapshots = Snapshots{File: file} })
	other := newWorld(t, remembering()[0])
	if err := s.Reload(t.Context(), other.run); err != nil { // so that there is something to go back to
		t.Fatal(err)
	}
	const own = "http://example.com" // the Host of test requests
	for _, path := range []string{"/v1/admin/rollback", "/v1/admin/snapshot", "/v1/admin/reload", "/v1/events"} {
		for _, c := range []struct {
			headers []string
			want    int
		}{
			{[]string{"Origin", "http://evil.example", "Content-Type", "text/plain"}, 403},
			{[]string{"Origin", "http://evil.example"}, 403},
			{[]string{"Origin", "null"}, 403},
			{[]string{"Sec-Fetch-Site", "cross-site"}, 403},
			{[]string{"Origin", own, "Content-Type", "text/plain"}, 415},
			{[]string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		} {
			if r := call(s.Handler(), "POST", path, "{}", c.headers...); r.Code != c.want {
				t.Errorf("%s with %v: %d %s, want %d", path, c.headers, r.Code, r.Body, c.want)
			}
		}
	}
	if g := s.models.current.Load(); g.Number != 2 {
		t.Errorf("model %d answers, want 2", g.Number)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a snapshot was written")
	}
	for _, path := range []string{"/v1/admin/rollback", "/v1/admin/snapshot"} {
		for _, headers := range [][]string{{"Origin", own}, {"Sec-Fetch-Site", "same-origin"}, {"Content-Type", ""}} {
			if r := call(s.Handler(), "POST", path, "", headers...); r.Code != 200 {
				t.Errorf("%s with %v: %d %s", path, headers, r.Code, r.Body)
			}
		}
	}
}

// Only regular files below the directories of models are loaded, and whatever else is asked for is refused at once.
func TestReloadIsConfined(t *testing.T) {
	w, other := newWorld(t, dygmamba.DefaultModel), newWorld(t, remembering()[0])
	models, elsewhere := t.TempDir(), t.TempDir()
	secret := filepath.Join(elsewhere, "secret")
	if err := os.WriteFile(secret, []byte("{hunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	weights, err := os.ReadFile(filepath.Join(other.run, "checkpoint.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	good := filepath.Join(models, "good.safetensors")
	if err := os.WriteFile(good, weights, 0o600); err != nil {
		t.Fatal(err)
	}
	for to, link := range map[string]string{secret: "link", "/dev/zero": "zero", elsewhere: "dir"} {
		if err := os.Symlink(to, filepath.Join(models, link)); err != nil {
			t.Skip(err)
		}
	}
	huge := filepath.Join(models, "huge")
	if f, err := os.Create(huge); err != nil || f.Truncate(maxCheckpoint+1) != nil || f.Close() != nil {
		t.Skip("no sparse files here")
	}
	s := w.server(t, func(o *Options) { o.Models = []string{models} })
	reload := func(path string) (int, string) {
		t.Helper()
		began := time.Now()
		r := call(s.Handler(), http.MethodPost, "/v1/admin/reload", fmt.Sprintf(`{"checkpoint": %q}`, path))
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s took %v", path, took)
		}
		return r.Code, r.Body.String()
	}
	for _, path := range []string{"/dev/zero", "/dev/null", "/etc/passwd", secret, other.run, models + "/../" +
		filepath.Base(elsewhere) + "/secret", models + "/link", models + "/zero", models + "/dir/secret", huge,
		models + "x", "", "/"} {
		code, body := reload(path)
		if code != 409 || strings.Contains(body, "hunter") || strings.Contains(body, "root:") {
			t.Errorf("%q: %d %s, want 409", path, code, body)
		}
	}
	if g := s.models.current.Load(); g.Number != 1 {
		t.Errorf("model %d answers, want the first", g.Number)
	}
	if code, body := reload(good); code != 200 {
		t.Errorf("%d %s", code, body)
	}
	if code, body := reload(w.run); code != 200 { // the run that the server was started with
		t.Errorf("%d %s", code, body)
	}
}

// An idempotency key belongs to the token that sent it, and to the body: another body is not taken for the first one.
func TestKeysAreBound(t *testing.T) {
	w := newWorld(t, dygmamba.DefaultModel)
	log := eventlog.NewMemory()
	if _, err := log.Append(t.Context(), "from-before", []eventlog.Event{w.event(0)}); err != nil { // keys had no body
		t.Fatal(err)
	}
	s := w.server(t, func(o *Options) {
		o.Log = log
		o.Tokens = tokensOf(t, "shop ingest 0123456789abcdef\nstore ingest fedcba9876543210\n")
	})
	const shop, store = "Bearer 0123456789abcdef", "Bearer fedcba9876543210"
	post := func(token, key, body string, want int, last uint64) {
		t.Helper()
		r := call(s.Handler(), "POST", "/v1/events", body, "Authorization", token, "Idempotency-Key", key)
		var doc receiptDoc
		json.Unmarshal(r.Body.Bytes(), &doc)
		if r.Code != want || doc.Last != last {
			t.Errorf("%s: %d %s, want %d until %d", key, r.Code, r.Body, want, last)
		}
	}
	one, two := w.body(1, 3), w.body(3, 4)
	post(shop, "k", one, 200, 3)
	post(shop, "k", one, 200, 3)
	post(shop, "k", two, 422, 0)
	post(store, "k", two, 200, 4)
	post(store, "k", two, 200, 4)
	post(store, "k", one, 422, 0)
	post(shop, "k", one, 200, 3)
	post(shop, "other", two, 200, 5)
	if s.engine.now().Last != 5 {
		t.Errorf("%d events, want 5", s.engine.now().Last)
	}
	open := w.server(t, func(o *Options) { o.Log = log })
	r := ask[receiptDoc](t, open, "POST", "/v1/events", one, "Idempotency-Key", "from-before")
	if r != (receiptDoc{1, 1}) || log.Last() != 5 {
		t.Errorf("a key from before: %+v, the log ends with %d", r, log.Last())
	}
}
