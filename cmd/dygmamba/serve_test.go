package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/client"
	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/internal/servebench"
	"github.com/dygmamba/dygmamba/serve"
)

// What is wrong on the command line is said before anything is opened.
func TestServeUsage(t *testing.T) {
	w := trainedRun(t)
	for args, part := range map[string]string{
		"serve":                                          "--checkpoint is missing",
		"serve --run X --listen :8080":                   "--tokens",
		"serve --run X --listen 0.0.0.0:1":               "--insecure",
		"serve --run X --tls-cert a":                     "belong together",
		"serve --run X --log http://x":                   "nats://",
		"serve --run X --stream s":                       "belong to --log",
		"serve --run X --snapshot-every 0":               "at least 1",
		"serve --run X --rate -1":                        "above 0",
		"serve --run X --retain 90x":                     "90s, 15m, 1h, 7d or 2w",
		"serve --run X --retain -1d":                     "above 0",
		"serve --run X --max-events -1":                  "at least 0",
		"serve --run X --reload-dir /nowhere":            "must be a directory",
		"serve --run X --order odd":                      "strict",
		"serve verify --run " + w.run + " --from 100000": "nothing to replay",
		"bench serve --run X --seconds 0":                "above 0",
	} {
		program(t, strings.Fields(args)...).want(t, exitUsage, part)
	}
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("shop fly 0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	program(t, "serve", "--run", w.run, "--data", w.data, "--tokens", tokens, "--listen", "127.0.0.1:0").want(t,
		exitBadInput, "ingest, query, admin", "line 1")
}

// Without a store, events are kept in the log that passes the suite of all logs, until the server knows them.
func TestServeDefaultLog(t *testing.T) {
	a := newApp(nil, io.Discard, io.Discard)
	var o serve.Options
	if err := new(serving).keep(t.Context(), a, &o); err != nil {
		t.Fatal(err)
	}
	if _, ok := o.Log.(*eventlog.Memory); !ok || o.Durable || o.Applied == nil {
		t.Errorf("%T, durable %v", o.Log, o.Durable)
	}
}

func TestServeVerify(t *testing.T) {
	w := trainedRun(t)
	v := decode[servebench.Verdict](t, program(t, "serve", "verify", "--run", w.run, "--data", w.data, "--from", "850",
		"--json").want(t, exitDone))
	if v.Events != 850 || v.Replayed < 50 || v.Queries != 2*v.Replayed || v.Different != 0 || v.AP <= 0 {
		t.Errorf("%+v", v)
	}
	program(t, "serve", "verify", "--run", w.run, "--data", w.data, "--from", "890", "-q").want(t, exitDone).shows(t,
		"equal to the last bit")
	d := decode[servebench.Verdict](t, program(t, "serve", "verify", "--run", w.run, "--data", w.data, "--disturb",
		"--retain", "100", "--checks", "2", "--json").want(t, exitDone))
	if d.Different != 0 || d.Disturbed == nil || d.Disturbed.Retain != 100 || d.Disturbed.Checks != 2 {
		t.Errorf("%+v", d)
	}
	program(t, "serve", "verify", "--run", w.run, "--data", w.data, "--retain", "100").want(t, exitUsage)
}

// The real program starts, is reloaded by a signal, refuses a second one on its store, and ends well when it is told
// to.
func TestServeLives(t *testing.T) {
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("starts processes")
	}
	w, store := trainedRun(t), t.TempDir()
	cmd, url := w.start(t, "--store", store)
	c := client.New(url)
	if _, err := c.Ingest(t.Context(), []client.Event{{Src: "u1", Dst: "v2", Time: 1e6}}); err != nil {
		t.Fatal(err)
	}
	program(t, "serve", "--run", w.run, "--data", w.data, "--store", store, "--listen", "127.0.0.1:0").
		want(t, exitFailed, "in use")
	cmd.Process.Signal(syscall.SIGHUP)
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		s, err := c.Status(t.Context())
		if err != nil || time.Since(began) > 10*time.Second {
			t.Fatal("it was not reloaded", err)
		}
		if s.Generation.Number == 2 {
			break
		}
	}
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if _, err := os.Stat(filepath.Join(store, "snapshot")); err != nil {
		t.Error("no snapshot was left:", err)
	}
	again, url := w.start(t, "--store", store)
	defer func() { again.Process.Kill(); again.Wait() }()
	if s, err := client.New(url).Status(t.Context()); err != nil || s.Last != 1 || !s.Durable || s.Names != "text" {
		t.Errorf("%+v, %v", s, err)
	}
}

// An interrupted server ends with 0, and with --json prints one document.
func TestServeInProcess(t *testing.T) {
	w := trainedRun(t)
	ctx, cancel := context.WithCancel(t.Context())
	said, out := newListener("listening on "), make(chan result, 1)
	go func() {
		var stdout strings.Builder
		code := launch(ctx, []string{"serve", "--run", w.run, "--data", w.data, "--listen", "127.0.0.1:0", "--json"},
			strings.NewReader(""), &stdout, said)
		out <- result{code, stdout.String(), ""}
	}()
	url := <-said.found
	if r, err := http.Get(url + "/healthz"); err != nil || r.StatusCode != 200 {
		t.Error(err)
	}
	cancel()
	r := <-out
	if doc := decode[serve.Summary](t, r.want(t, exitDone)); doc.Events < 900 || doc.Came != 0 {
		t.Errorf("%+v", doc)
	}
}

// A server that takes long to stop says what it does, in the form of its log: it is no training that ends a step.
func TestServeStopsSlowly(t *testing.T) {
	w := trainedRun(t)
	for _, format := range []string{"text", "json"} {
		ctx, cancel := context.WithCancel(t.Context())
		said, out := newListener("listening on "), make(chan int, 1)
		go func() {
			out <- launch(ctx, []string{"serve", "--run", w.run, "--data", w.data, "--listen", "127.0.0.1:0",
				"--log-format", format, "--drain-wait", (patience + time.Second).String()}, strings.NewReader(""),
				io.Discard, said)
		}()
		<-said.found
		cancel()
		if code := <-out; code != exitDone {
			t.Errorf("exit code %d\n%s", code, said.text)
		}
		late := 0
		for line := range strings.Lines(said.text) {
			if strings.Contains(line, "a second signal stops the server at once") &&
				(format == "text" || json.Valid([]byte(line))) {
				late++
			}
		}
		if late != 1 || strings.Contains(said.text, "finishing the step") {
			t.Errorf("%s:\n%s", format, said.text)
		}
	}
}

// listener is a writer that waits for a line.
type listener struct {
	prefix string
	text   string
	found  chan string
}

func newListener(prefix string) *listener {
	return &listener{prefix: prefix, found: make(chan string, 1)}
}

func (w *listener) Write(b []byte) (int, error) {
	w.text += string(b)
	for line := range strings.Lines(w.text) {
		if rest, ok := strings.CutPrefix(line, w.prefix); ok && strings.HasSuffix(line, "\n") {
			select {
			case w.found <- strings.TrimSpace(rest):
			default:
			}
		}
	}
	return len(b), nil
}

// The examples of the documentation work as they stand.
func TestServingExamples(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil || testing.Short() {
		t.Skip("needs curl")
	}
	text, err := os.ReadFile("../../docs/SERVING.md")
	if err != nil {
		t.Fatal(err)
	}
	cmd, url := trainedRun(t).start(t, "--store", t.TempDir())
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	count := 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(text, -1) {
		if !strings.Contains(string(block[1]), "curl") {
			continue
		}
		script := strings.ReplaceAll(string(block[1]), "http://127.0.0.1:8080", url)
		out, err := exec.Command("sh", "-ec", script).Output()
		if err != nil {
			t.Fatalf("%s: %v", block[1], err)
		}
		docs := json.NewDecoder(strings.NewReader(string(out)))
		for {
			var doc map[string]any
			if err := docs.Decode(&doc); err == io.EOF {
				break
			} else if err != nil || doc["error"] != nil {
				t.Fatalf("%s answers %v, %v", block[1], doc, err)
			}
			count++
		}
	}
	if count < 9 {
		t.Errorf("%d examples", count)
	}
}

// A start that takes long ends soon when it is told to.
func TestServeStopsWhileStarting(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	forever := make(chan struct{})
	defer close(forever)
	began := time.Now()
	got, err := startOrStop(ctx, 20*time.Millisecond, func() (*int, error) {
		<-forever
		return nil, nil
	})
	if got != nil || err != nil || time.Since(began) > 5*time.Second {
		t.Errorf("%v, %v after %v", got, err, time.Since(began))
	}
	w := trainedRun(t)
	program := func(ctx context.Context) (string, int) {
		var stdout strings.Builder
		code := launch(ctx, []string{"serve", "--run", w.run, "--data", w.data, "--listen", "127.0.0.1:0", "--json"},
			strings.NewReader(""), &stdout, io.Discard)
		return stdout.String(), code
	}
	if out, code := program(ctx); code != exitDone || !json.Valid([]byte(out)) {
		t.Errorf("exit %d: %s", code, out)
	}
}

// A store can be exported, and a backup of a running server becomes a store.
func TestServeStore(t *testing.T) {
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("starts processes")
	}
	w, dir := trainedRun(t), t.TempDir()
	store, tar, again := filepath.Join(dir, "store"), filepath.Join(dir, "b.tar"), filepath.Join(dir, "again")
	cmd, url := w.start(t, "--store", store)
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	if _, err := client.New(url).Ingest(t.Context(), []client.Event{{Src: "u1", Dst: "v2", Time: 1e6}}); err != nil {
		t.Fatal(err)
	}
	program(t, "serve", "export", "--store", store, "--out", filepath.Join(dir, "e.csv")).
		want(t, exitFailed, "serve backup")
	program(t, "serve", "backup", "--url", url, "--out", tar).want(t, exitDone).shows(t, "bytes")
	program(t, "serve", "restore", tar, "--store", again).want(t, exitDone).shows(t, "sequence 1")
	for _, file := range []string{"e.csv", "e.parquet"} {
		out := filepath.Join(dir, file)
		program(t, "serve", "export", "--store", again, "--out", out).want(t, exitDone).
			shows(t, "1 event, sequences 1 to 1")
		if info, err := os.Stat(out); err != nil || info.Size() == 0 {
			t.Error(err)
		}
	}
	if text := string(content(t, filepath.Join(dir, "e.csv"))); !strings.Contains(text, "1,u1,v2,1000000,0\n") {
		t.Errorf("the table is %q", text)
	}
	program(t, "serve", "export", "--store", again, "--out", "x.json").want(t, exitUsage, ".parquet")
	program(t, "serve", "export", "--store", dir, "--out", "x.csv").want(t, exitBadInput, "no store")
	program(t, "serve", "restore", tar, "--store", again).want(t, exitBadInput, "not empty")
}

// The Python client works with the real server.
func TestPythonClient(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil || testing.Short() || runtime.GOOS == "windows" {
		t.Skip("needs python3")
	}
	server, url := trainedRun(t).start(t, "--store", t.TempDir())
	defer func() { server.Process.Kill(); server.Wait() }()
	cmd := exec.Command(python, "-B", "-m", "unittest", "-v", "test_dygmamba")
	cmd.Dir = "../../clients/python"
	cmd.Env = append(os.Environ(), "DYGMAMBA_URL="+url)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
