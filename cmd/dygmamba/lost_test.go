package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// full is a disk with room for a few more bytes.
type full struct{ room int }

var errFull = errors.New("no space left on device")

func (f *full) Write(p []byte) (int, error) {
	n := min(f.room, len(p))
	f.room -= n
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

// An answer that did not arrive is an error, whichever command gives it, and so is help.
func TestLostOutput(t *testing.T) {
	r := trainedRun(t)
	lines := [][]string{
		{"version"}, {"models"}, {"models", "dygmamba"}, {"data", "list"}, {"data", "info", r.data}, {"data", "check",
			r.data}, {"completion", "bash"},
		{"help", "data", "import"}, {"__complete", "tra"}, {},
		{"eval", "--model", "edgebank", "--data", r.data, "--negatives", "random"},
		{"predict", "--run", r.run, "--device", "cpu", "--u", "u1", "--i", "v1", "--ts", "1e6", "--explain", "-"},
		{"predict", "--run", r.run, "--device", "cpu", "--queries", queryFile(t, "u,i,ts", "u1,v1,5")},
		{"predict", "--run", r.run, "--device", "cpu", "--queries", queryFile(t, "u,i,ts", "u1,v1,5"), "--out",
			filepath.Join(t.TempDir(), "s.csv")},
		{"data", "import", queryFile(t, "u,i,ts", "a,b,5"), "--out", filepath.Join(t.TempDir(), "few.dgm")},
		{"train", "--resume", "--out", filepath.Dir(r.run), "--device", "cpu"},
	}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		lines = append(lines, append(strings.Fields(cmd.CommandPath())[1:], "--help"))
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(newRoot(newApp(nil, nil, nil)))
	for _, line := range lines {
		for _, form := range [][]string{nil, {"--json"}} {
			args := append(append([]string{}, line...), form...)
			var stderr bytes.Buffer
			code := launch(t.Context(), args, strings.NewReader(""), &full{10}, &stderr)
			if text := stderr.String(); code != exitFailed || strings.Count(text, "error: ") != 1 ||
				!strings.Contains(text, "error: the output was lost: no space left") {
				t.Errorf("%v: exit code %d, standard error\n%s", args, code, text)
			}
		}
	}
}

// Some file systems tell late what they lost. One that has failed has said so already, and a stream that was never
// there lost nothing.
func TestShut(t *testing.T) {
	open := func() *os.File {
		f, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	broken := open()
	broken.Close()
	for _, tt := range []struct {
		name       string
		file       *os.File
		code, want int
	}{{"fine", open(), exitDone, exitDone}, {"lost", broken, exitDone, exitFailed}, {"failed before", broken,
		exitBadInput, exitBadInput}} {
		var stderr bytes.Buffer
		got := shut(tt.file, &stderr, tt.code)
		if got != tt.want || (got != tt.code) != strings.Contains(stderr.String(), "the output was lost") {
			t.Errorf("%s: exit code %d, standard error %q", tt.name, got, stderr.String())
		}
	}
}
