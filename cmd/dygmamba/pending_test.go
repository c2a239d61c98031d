package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func writePending(t *testing.T, path, text string) {
	t.Helper()
	p, err := newPending(path)
	if err != nil {
		t.Fatal(err)
	}
	defer p.discard()
	io.WriteString(p, text)
	if err := p.commit(); err != nil {
		t.Fatal(err)
	}
}

// A pipe or a device is written to; it must never be replaced by a file of its name.
func TestPendingPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := exec.Command("mkfifo", pipe).Run(); err != nil {
		t.Skip("no named pipes here:", err)
	}
	got := make(chan string)
	go func() {
		raw, _ := os.ReadFile(pipe)
		got <- string(raw)
	}()
	writePending(t, pipe, "answers")
	if info, err := os.Stat(pipe); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Fatalf("the pipe is now %v, %v", info.Mode(), err)
	}
	if text := <-got; text != "answers" {
		t.Errorf("the reader of the pipe got %q", text)
	}
}

func TestPendingLink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "sub", "file"), filepath.Join(dir, "link")
	if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	writePending(t, file, "old")
	if err := os.Symlink(filepath.Join("sub", "file"), link); err != nil {
		t.Skip("no links here:", err)
	}
	writePending(t, link, "new")
	if raw, err := os.ReadFile(file); err != nil || string(raw) != "new" {
		t.Errorf("the file behind the link has %q, %v", raw, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is now %v, %v", info.Mode(), err)
	}
}

// Whether a file can be written is found out before any work is done for it, and nothing is left of that.
func TestWritable(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "page.html")
	if err := writable("out", file); err != nil || len(names(t, dir)) != 0 {
		t.Errorf("%v, left %v", err, names(t, dir))
	}
	if err := writable("out", os.DevNull); err != nil {
		t.Error(err)
	}
	long := filepath.Join(dir, strings.Repeat("x", 300))
	if err := writable("out", long); err == nil || !strings.Contains(err.Error(), "cannot create the file: ") ||
		strings.Contains(err.Error(), ".tmp") {
		t.Errorf("a name that is too long: %v", err)
	}
	program(t, "demo", "--out", long).want(t, exitUsage, "cannot create the file")
}
