package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A server of a model that tells kinds apart says so in its status, which the page follows, and answers by kind alone.
func TestServeAsksKinds(t *testing.T) {
	if testing.Short() {
		t.Skip("trains a model")
	}
	dir := t.TempDir()
	text := "user,page,time,what\n"
	for i := range 400 {
		user, page := i%11, (i%11*3+i%4)%17
		text += fmt.Sprintf("u%d,p%d,%d,%s\n", user, page, 1_700_000_000+60*i, []string{"viewed", "bought"}[page%2])
	}
	table, data, run := filepath.Join(dir, "k.csv"), filepath.Join(dir, "k.dgm"), filepath.Join(dir, "run")
	if err := os.WriteFile(table, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	program(t, "data", "import", table, "--src", "user", "--dst", "page", "--time", "time", "--kind", "what",
		"--bipartite", "--out", data).want(t, exitDone)
	program(t, "train", "--data", data, "--task", "kind", "--preset", "quick", "--set", "num_epochs=1",
		"--out", run, "-q").want(t, exitDone)
	cmd, url := smallRun{run: filepath.Join(run, "seed-0"), data: data}.start(t)
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	for _, tt := range []struct{ path, body, want string }{
		{"/v1/status", "", `"kinds":["viewed","bought"],"asks_kinds":true`},
		{"/v1/rank", `{"src": "u1", "k": 2}`, `"found":"nothing"`},
		{"/v1/rank", `{"src": "u1", "k": 2, "kind": "bought"}`, `"items":[{"dst":"p`},
		{"/v1/score", `{"queries": [{"src": "u1", "dst": "p3", "kind": "viewed"}]}`, `"logit"`},
	} {
		var answer *http.Response
		var err error
		if tt.body == "" {
			answer, err = http.Get(url + tt.path)
		} else {
			answer, err = http.Post(url+tt.path, "application/json", strings.NewReader(tt.body))
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || !strings.Contains(string(got), tt.want) {
			t.Errorf("%s %s: %s, %v; want %s", tt.path, tt.body, got, err, tt.want)
		}
	}
	page, err := os.ReadFile("../../serve/page.html")
	if err != nil || !strings.Contains(string(page), "s.asks_kinds") ||
		strings.Count(string(page), "kind: kindOf()") != 2 { // of a score with its reasons, and of a ranking
		t.Errorf("the page does not name a kind: %v", err)
	}
}
