package main

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// A limit of the process is honoured before anything is trained, though the machine has much more.
func TestTrainWithinLimits(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("builds the program and limits its memory")
	}
	k := newKiller(t, 1)
	cmd := exec.Command("sh", "-c", `ulimit -d 400000 && exec "$@"`, "sh", k.program, "train", "--data", k.data,
		"--device", "cpu", "--set", "batch_size=5000")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(string(out), "training needs") ||
		!strings.Contains(string(out), "would fit") {
		t.Errorf("with 400 MB of data: %v\n%s", err, out)
	}
}
