package main

import (
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// A flag counts before the environment, this before the file, this before the default.
func TestServeConfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "serve.conf")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# a comment\n\nrun = X\nmax-events = 1\nmax-nodes = 1\nmax-batch = 1\nreload-dir = /a\nreload-dir = /b\n" +
		"timeout = 5s\nlearn = true\n")
	t.Setenv("DYGMAMBA_SERVE_MAX_NODES", "2")
	t.Setenv("DYGMAMBA_SERVE_MAX_BATCH", "2")
	var s serving
	cmd := &cobra.Command{}
	s.add(cmd)
	if err := cmd.ParseFlags([]string{"--config", path, "--max-batch", "3"}); err != nil {
		t.Fatal(err)
	}
	s.note(cmd)
	if err := configured(cmd); err != nil {
		t.Fatal(err)
	}
	if s.limits.Events != 1 || s.limits.Nodes != 2 || s.limits.Batch != 3 || s.limits.Timeout != 5*time.Second ||
		!s.learn.On || strings.Join(s.reload, " ") != "/a /b" || s.listen.Address != "127.0.0.1:8080" {
		t.Errorf("%+v", s)
	}
	write("max-events = 7\nrun = X\n")
	again, err := s.again()
	if err != nil || again.limits.Events != 7 || again.limits.Nodes != 2 || again.limits.Batch != 3 {
		t.Errorf("%+v, %v", again, err)
	}
	for text, part := range map[string]string{
		"max-evnts = 1": "max-events", "max-events": "NAME = VALUE", "max-events = many": "max-events = many",
		"learn = true\nlearn = true": "line 2", "config = x": "config",
	} {
		write(text + "\n")
		program(t, "serve", "--run", "X", "--config", path).want(t, exitBadInput, part)
	}
	program(t, "serve", "--run", "X", "--config", path+"none").want(t, exitBadInput, "--config")
	t.Setenv("DYGMAMBA_SERVE_MAX_NODES", "odd")
	program(t, "serve", "--run", "X").want(t, exitUsage, "DYGMAMBA_SERVE_MAX_NODES")
}

// --check opens what a start needs, and starts nothing.
func TestServeCheck(t *testing.T) {
	w := trainedRun(t)
	program(t, "serve", "--run", w.run, "--data", w.data, "--check").want(t, exitDone).shows(t, "ok: ")
	program(t, "serve", "--run", w.run, "--data", w.data, "--check", "--tls-cert", "none", "--tls-key", "none").
		want(t, exitBadInput, "TLS certificate")
	program(t, "serve", "--run", "none", "--check").want(t, exitBadInput)
	for _, flag := range []string{"--retain", "--max-ahead"} { // times of this set have no unit
		program(t, "serve", "--run", w.run, "--data", w.data, "--check", flag, "90d").want(t, exitUsage, flag)
	}
}

// SIGHUP reads tokens and limits again.
func TestServeReconfigures(t *testing.T) {
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("starts processes")
	}
	w, dir := trainedRun(t), t.TempDir()
	tokens, config := filepath.Join(dir, "tokens"), filepath.Join(dir, "serve.conf")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(tokens, "a query 0123456789abcdef\n")
	write(config, "tokens = "+tokens+"\nlog-format = json\n")
	cmd, url := w.start(t, "--config", config)
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	status := func(token string) int {
		t.Helper()
		r, err := http.NewRequest("GET", url+"/v1/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	if a, b := status("0123456789abcdef"), status("fedcba9876543210"); a != 200 || b != 401 {
		t.Fatalf("%d, %d", a, b)
	}
	write(tokens, "a query fedcba9876543210\n")
	write(config, "tokens = "+tokens+"\nrate = 1\n")
	cmd.Process.Signal(syscall.SIGHUP)
	for began := time.Now(); status("fedcba9876543210") != 200; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatal("the tokens were not read again")
		}
	}
	codes := map[int]int{}
	for range 200 {
		codes[status("fedcba9876543210")]++
	}
	if codes[429] == 0 || status("0123456789abcdef") != 401 {
		t.Errorf("the limits were not read again: %v", codes)
	}
}

// The settings of deploy/ are those of flags that exist.
func TestDeployedConfig(t *testing.T) {
	manifest, err := os.ReadFile("../../deploy/kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(manifest), "serve.conf: |\n")
	text, _, _ = strings.Cut(text, "---")
	path := filepath.Join(t.TempDir(), "serve.conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, "../../deploy/serve.conf"} {
		var s serving
		cmd := &cobra.Command{}
		s.add(cmd)
		if lines, err := readConfig(file, cmd.Flags()); err != nil || len(lines) < 7 {
			t.Errorf("%s: %d settings, %v", file, len(lines), err)
		}
	}
}
