package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/run"
	"github.com/spf13/cobra"
)

// What learns rounds on a GPU unless it is told not to; nothing else has anything to round.
func TestTF32IsTheDefault(t *testing.T) {
	var learns, answers deviceFlags
	learns.addRounding(new(cobra.Command))
	if !learns.tf32 || answers.tf32 {
		t.Errorf("learning rounds: %v, answering: %v", learns.tf32, answers.tf32)
	}
}

func TestTF32(t *testing.T) {
	data, out := trainedRun(t).data, t.TempDir()
	r := program(t, training(data, "--out", out, "--tf32")...).want(t, exitDone, "--tf32 has no effect: cpu")
	if bytes.Contains(content(t, out, "seed-0", run.ConfigFile), []byte("tf32")) {
		t.Error("the run is recorded as rounded")
	}
	if n := bytes.Count([]byte(r.err), []byte("tf32")); n != 1 {
		t.Errorf("said %d times", n)
	}
	for _, flag := range []string{"--tf32=false", "--quiet=false"} { // asked for nothing that is not to be had
		r := program(t, training(data, "--out", t.TempDir(), flag)...).want(t, exitDone)
		if strings.Contains(r.err, "tf32") {
			t.Errorf("%s: %s", flag, r.err)
		}
	}
	program(t, "eval", "--run", out, "--data", data, "--tf32").want(t, exitUsage, "unknown flag --tf32")

	// --resume remembers it, and the CPU cannot continue such a run.
	path := filepath.Join(out, "seed-0", run.ConfigFile)
	c := bytes.Replace(content(t, out, "seed-0", run.ConfigFile), []byte(`"by_ap"`),
		[]byte(`"tf32": true, "by_ap"`), 1)
	if err := os.WriteFile(path, c, 0o644); err != nil {
		t.Fatal(err)
	}
	program(t, "train", "--data", data, "--out", out, "--device", "cpu", "--resume").
		want(t, exitFailed, "tf32 was true and is now false")
}
