//go:build unix

package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/run"
)

// launchers are the programs that start ranks.
var launchers = []string{"mpirun.openmpi", "mpirun.mpich"}

// launcher is how a program starts this test binary as ranks of dygmamba.
func launcher(t *testing.T, name string, ranks int, args []string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("there is no %s", name)
	}
	cmd := exec.Command(path, "-n", strconv.Itoa(ranks), os.Args[0])
	cmd.Env = append(os.Environ(), childArgs+"="+strings.Join(args, "\n"), "OMPI_ALLOW_RUN_AS_ROOT=1",
		"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1")
	return cmd
}

// rankModels train within a second or so.
var rankModels = map[string][]string{
	"dygmamba": {"channel_embedding_dim=8", "time_feat_dim=8", "max_input_sequence_length=8",
		"max_interaction_times=4"},
	"walkmamba": {"channel_embedding_dim=8", "time_feat_dim=8", "max_input_sequence_length=8",
		"max_interaction_times=4"},
	"graphmixer": {"time_feat_dim=8", "num_neighbors=4"},
	"tgn":        {"time_feat_dim=8", "num_neighbors=3"},
}

// rankArgs trains on the CPU, or on the device that DYGMAMBA_TEST_DEVICE names, which ranks then share.
func rankArgs(data, model, out string, more ...string) []string {
	device := cmp.Or(os.Getenv("DYGMAMBA_TEST_DEVICE"), "cpu")
	args := []string{"train", "--data", data, "--model", model, "--out", out, "--device", device, "-q", "--resume"}
	for _, s := range append([]string{"node_feat_dim=8", "edge_feat_dim=8", "num_epochs=1"}, rankModels[model]...) {
		args = append(args, "--set", s)
	}
	return append(args, more...)
}

func rankData(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "periodic.dgm")
	set, err := dataset.Periodic(dataset.PeriodicOptions{Events: 2000})
	if err == nil {
		err = dataset.Save(path, set)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// rankFiles are what must not depend on the number of ranks.
func rankFiles(t *testing.T, out string) []byte {
	t.Helper()
	dir := run.SeedDir(out, 0)
	return append(content(t, dir, run.CheckpointFile), content(t, dir, run.LastFile)...)
}

// TestMPIRanks wants the same bytes from any number of ranks of both families of MPI.
func TestMPIRanks(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	data := rankData(t)
	for model := range rankModels {
		t.Run(model, func(t *testing.T) {
			var want []byte
			for _, c := range []struct{ launcher, ranks int }{{0, 1}, {0, 2}, {0, 4}, {1, 2}} {
				out := filepath.Join(t.TempDir(), "run")
				cmd := launcher(t, launchers[c.launcher], c.ranks, rankArgs(data, model, out))
				if text, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%s -n %d: %v\n%s", launchers[c.launcher], c.ranks, err, text)
				}
				got := rankFiles(t, out)
				if want == nil {
					want = got
				}
				if !bytes.Equal(got, want) {
					t.Errorf("%s -n %d wrote other bytes", launchers[c.launcher], c.ranks)
				}
			}
		})
	}
}

// TestKilledRanks kills ranks of a training with SIGKILL, one at a time, and resumes it with another number of ranks.
// The others must stop within ten seconds and say which rank was lost. DYGMAMBA_KILLS sets how often, 2 otherwise.
func TestKilledRanks(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("kills processes")
	}
	kills := 2
	if n, err := strconv.Atoi(os.Getenv("DYGMAMBA_KILLS")); err == nil {
		kills = n
	}
	data, whole, out := rankData(t), filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "killed")
	args := func(out string) []string {
		return rankArgs(data, "tgn", out, "--set", fmt.Sprintf("num_epochs=%d", 2+kills/2), "--set", "batch_size=40",
			"--save-every", "1ns")
	}
	began := time.Now()
	if text, err := launcher(t, launchers[0], 1, args(whole)).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	length := time.Since(began)
	slowest, done := time.Duration(0), 0
	for i := range kills {
		cmd := launcher(t, launchers[i%len(launchers)], 2+i%3, args(out))
		var text bytes.Buffer
		cmd.Stdout, cmd.Stderr = &text, &text
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitForRanks(cmd.Process.Pid)
		// All waits together last as long as the training. The first kill does not wait: the training may be short.
		if i > 0 {
			time.Sleep(time.Duration(rand.Int64N(int64(length) / int64(kills))))
		}
		if victim := pickRank(cmd.Process.Pid); victim > 0 {
			syscall.Kill(victim, syscall.SIGKILL)
			done++
		}
		took, err := ranksEnd(t, cmd)
		if err != nil && took > slowest {
			slowest = took
		}
		// A rank that dies before it has joined the others is the launcher's to report: "1 process returned …" of Open
		// MPI, errors of mpiexec's own of MPICH; or it is reported by their transport, UCX, which finds it gone. A
		// launcher that had to be killed reports nothing.
		if cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
			continue
		}
		said := strings.ToLower(text.String())
		named := func(word string) bool { return strings.Contains(said, word) }
		reports := []string{"rank", "killed", "process returned", "mpiexec@", "ucx "}
		if err != nil && !slices.ContainsFunc(reports, named) {
			t.Errorf("nobody says which rank was lost:\n%s", text.String())
		}
	}
	if slowest > 10*time.Second {
		t.Errorf("the others stopped %v after a rank was killed, want 10 s", slowest)
	}
	if text, err := launcher(t, launchers[0], 2, args(out)).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	t.Logf("%d kills; the others stopped within %v", done, slowest.Round(time.Millisecond))
	if done == 0 || !bytes.Equal(rankFiles(t, out), rankFiles(t, whole)) {
		t.Errorf("after %d kills it ended with other bytes", done)
	}
}

// ranksEnd waits for a launcher, and says how long its ranks went on. Open MPI 4 may wait for a lock of its own for
// ever when a rank dies while it starts: such a launcher is killed once its ranks are gone.
func ranksEnd(t *testing.T, cmd *exec.Cmd) (took time.Duration, err error) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	began, gone := time.Now(), time.Time{}
	for {
		select {
		case err := <-ended:
			if gone.IsZero() {
				gone = time.Now()
			}
			return gone.Sub(began), err
		case <-time.After(20 * time.Millisecond):
		}
		switch alive := pickRank(cmd.Process.Pid) > 0; {
		case alive:
			gone = time.Time{}
		case gone.IsZero():
			gone = time.Now()
		case time.Since(gone) > 20*time.Second:
			t.Log("the launcher did not end after its ranks: killed")
			cmd.Process.Kill()
		}
	}
}

// waitForRanks waits until a launcher has started a rank, or has had time enough for it.
func waitForRanks(launcher int) {
	for end := time.Now().Add(20 * time.Second); pickRank(launcher) == 0 && time.Now().Before(end); {
		time.Sleep(2 * time.Millisecond)
	}
}

// pickRank is a process, one of those that a launcher has started directly or through its own helpers, that runs this
// test binary; 0: there is none yet.
func pickRank(launcher int) int {
	own, _ := os.Readlink("/proc/self/exe")
	parents := map[int]int{}
	var ranks []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
		if len(fields) > 1 {
			parents[pid], _ = strconv.Atoi(fields[1])
		}
	}
	for pid := range parents {
		exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		for p := pid; p > 1 && exe == own; p = parents[p] {
			if p == launcher {
				ranks = append(ranks, pid)
				break
			}
		}
	}
	if len(ranks) == 0 {
		return 0
	}
	return ranks[rand.IntN(len(ranks))]
}

// TestRanksFlag starts ranks by itself.
func TestRanksFlag(t *testing.T) {
	if _, err := exec.LookPath("mpirun"); err != nil || testing.Short() {
		t.Skip("there is no mpirun, or no time for it")
	}
	out := filepath.Join(t.TempDir(), "run")
	args := rankArgs(rankData(t), "graphmixer", out, "--ranks", "2")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childArgs+"="+strings.Join(args, "\n"))
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if r, err := run.Open(run.SeedDir(out, 0)); err != nil || r.Config.Ranks != 2 {
		t.Errorf("%v: recorded %d ranks", err, r.Config.Ranks)
	}
	interruptRanks(t)
	t.Setenv("RANK", "0")
	t.Setenv("WORLD_SIZE", "1")
	t.Setenv("MASTER_ADDR", "localhost")
	t.Setenv("MASTER_PORT", "1")
	r := program(t, rankArgs("x", "graphmixer", out, "--device", "cpu")...)
	if r.code == 0 || !strings.Contains(r.err, "use mpirun") {
		t.Errorf("torchrun's variables on a CPU: %d, %s", r.code, r.err)
	}
}

// interruptRanks interrupts a training that has started its ranks itself, as a terminal does: the whole group hears it.
// It must end with the code of an interruption and a state from which the training goes on to the same bytes.
func interruptRanks(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return
	}
	whole, out := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "cut")
	data := rankData(t)
	more := []string{"--set", "num_epochs=40", "--set", "patience=40", "--set", "batch_size=40"}
	train := func(out string, ranks int, more ...string) *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		args := rankArgs(data, "graphmixer", out, append(more, "--ranks", strconv.Itoa(ranks))...)
		cmd.Env = append(os.Environ(), childArgs+"="+strings.Join(args, "\n"))
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		return cmd
	}
	if text, err := train(whole, 1, more...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	cmd := train(out, 2, append(more, "--save-every", "1h")...)
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	last := filepath.Join(run.SeedDir(out, 0), run.LastFile)
	for end := time.Now().Add(30 * time.Second); !run.Exists(last) && time.Now().Before(end); { // after an epoch
		time.Sleep(2 * time.Millisecond)
	}
	began := time.Now()
	syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || time.Since(began) > 20*time.Second {
		t.Errorf("ended after %v with %d, want %d\n%s", time.Since(began), code, exitInterrupted, text.String())
	}
	if run.Exists(filepath.Join(run.SeedDir(out, 0), run.ResultFile)) || !run.Exists(last) {
		t.Error("the training was over, or nothing was saved")
	}
	if text, err := train(out, 4, more...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if !bytes.Equal(rankFiles(t, out), rankFiles(t, whole)) {
		t.Error("interrupted and resumed with four ranks it wrote other bytes")
	}
}
