package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// TestKilledTraining kills the real program again and again while it trains, half of the time in the middle of writing
// a file, resumes it, and compares what it ends with. DYGMAMBA_KILLS sets how often, 3 otherwise.
func TestKilledTraining(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program and trains for some seconds")
	}
	kills := 3
	if n, err := strconv.Atoi(os.Getenv("DYGMAMBA_KILLS")); err == nil {
		kills = n
	}
	k := newKiller(t, kills)
	for _, sampling := range []protocol.Sampling{protocol.Native, protocol.Reference} {
		t.Run(string(sampling), func(t *testing.T) { k.test(t, sampling, kills) })
	}
}

func (k *killer) test(t *testing.T, sampling protocol.Sampling, kills int) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole")
	began := time.Now()
	k.start(t, sampling, whole).wait(t)
	length := time.Since(began)

	out := filepath.Join(dir, "killed")
	torn := 0
	for n := range kills {
		p := k.start(t, sampling, out)
		p.live(t, time.Duration(rand.Int64N(int64(length)/int64(kills))))
		if n%2 == 1 {
			p.awaitWriting(t)
		}
		p.kill(t)
		if left, _ := filepath.Glob(filepath.Join(p.out, "*.tmp")); len(left) > 0 {
			torn++
		}
	}
	k.start(t, sampling, out).wait(t)
	t.Logf("%d kills, %d of them left a file half written; the uninterrupted training took %v",
		kills, torn, length.Round(time.Millisecond))

	whole, out = run.SeedDir(whole, 0), run.SeedDir(out, 0)
	if !bytes.Equal(content(t, whole, run.CheckpointFile), content(t, out, run.CheckpointFile)) {
		t.Error("the killed training ended with other weights")
	}
	if a, b := timeless(t, whole), timeless(t, out); a != b {
		t.Errorf("the killed training recorded\n%s\nthe other one\n%s", b, a)
	}
	if left, _ := filepath.Glob(filepath.Join(out, "*.tmp")); len(left) > 0 {
		t.Errorf("%v were left behind", left)
	}
}

// TestInterruptedTwiceAtOnce sends what timeout(1) sends: the same signal to the program and again to its group.
func TestInterruptedTwiceAtOnce(t *testing.T) {
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("builds the program and interrupts it")
	}
	p := newKiller(t, 3).start(t, protocol.Native, filepath.Join(t.TempDir(), "run"))
	p.awaitWriting(t)
	for range 10 {
		p.Process.Signal(os.Interrupt)
		time.Sleep(time.Millisecond)
	}
	<-p.ended
	if code := p.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("ended with %v, want exit status %d\n%s", p.ProcessState, exitInterrupted, p.err.String())
	}
}

// TestInterruptedInALongStep interrupts the program while it waits for something that does not come, as it may for a
// step: that is answered within two seconds, and the second signal ends it at once.
func TestInterruptedInALongStep(t *testing.T) {
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("builds the program and interrupts it")
	}
	k, r, pipe := newKiller(t, 1), trainedRun(t), filepath.Join(t.TempDir(), "pipe")
	if err := exec.Command("mkfifo", pipe).Run(); err != nil {
		t.Skip("no pipes here:", err)
	}
	cmd := exec.Command(k.program, "predict", "--run", r.run, "--device", "cpu", "--u", "u1", "--i", "v1",
		"--ts", "1e6", "--explain", pipe) // nobody reads it
	lines, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	heard := make(chan string, 100)
	go func() {
		for scan := bufio.NewScanner(lines); scan.Scan(); {
			heard <- scan.Text()
		}
		close(heard)
		ended <- cmd.Wait()
	}()
	defer cmd.Process.Kill()
	<-heard // which data it takes
	stuck(t, cmd.Process.Pid)
	began := time.Now()
	cmd.Process.Signal(os.Interrupt)
	if text := <-heard; !strings.Contains(text, "finishing the step; press Ctrl-C again to stop now") ||
		time.Since(began) > 2*time.Second {
		t.Fatalf("after %v: %q", time.Since(began), text)
	}
	began = time.Now()
	cmd.Process.Signal(os.Interrupt)
	select {
	case <-ended:
		if state := cmd.ProcessState.Sys().(syscall.WaitStatus); state.Signal() != syscall.SIGINT {
			t.Errorf("ended with %v, want the signal", cmd.ProcessState)
		}
	case <-time.After(2 * time.Second):
		t.Errorf("the second signal was not heard after %v", time.Since(began))
	}
}

// stuck waits until a process has done no work for a while: a signal that comes earlier ends it in good order, at once.
func stuck(t *testing.T, pid int) {
	t.Helper()
	still, last := 0, ""
	for range 200 {
		time.Sleep(50 * time.Millisecond)
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil { // another system: long enough for what comes before
			time.Sleep(time.Second)
			return
		}
		fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
		if used := strings.Join(fields[11:13], " "); used == last { // time of the processor, as user and as system
			still++
		} else {
			still, last = 0, used
		}
		if still == 10 {
			return
		}
	}
	t.Fatal("the program is busy after ten seconds")
}

// builtProgram is the program as users run it.
type builtProgram struct {
	dir, program string
	err          error
}

// buildProgram builds it once for all tests.
var buildProgram = sync.OnceValue(func() (b builtProgram) {
	if b.dir, b.err = os.MkdirTemp("", "dygmamba-program"); b.err != nil {
		return b
	}
	b.program = filepath.Join(b.dir, "dygmamba")
	if runtime.GOOS == "windows" {
		b.program += ".exe"
	}
	if message, err := exec.Command("go", "build", "-o", b.program, ".").CombinedOutput(); err != nil {
		b.err = fmt.Errorf("%w\n%s", err, message)
	}
	built = b.dir
	return b
})

// built is where it lies, "" while nobody wanted it.
var built string

// killer has the program, and data to train on.
type killer struct {
	program, data string
	epochs        int
}

func newKiller(t *testing.T, kills int) *killer {
	t.Helper()
	b := buildProgram()
	if b.err != nil {
		t.Skip("the program cannot be built here:", b.err)
	}
	k := &killer{b.program, filepath.Join(t.TempDir(), "periodic.dgm"), 2 + kills}
	set, err := dataset.Periodic(dataset.PeriodicOptions{Events: 2000})
	if err != nil {
		t.Fatal(err)
	}
	if err := dataset.Save(k.data, set); err != nil {
		t.Fatal(err)
	}
	return k
}

// process is the program at work.
type process struct {
	*exec.Cmd
	out   string // its run directory
	err   bytes.Buffer
	ended chan error
}

// start trains, or continues. The state is saved after every batch.
func (k *killer) start(t *testing.T, sampling protocol.Sampling, out string) *process {
	t.Helper()
	args := training(k.data, "--set", fmt.Sprintf("num_epochs=%d", k.epochs), "--set", "batch_size=40",
		"--save-every", "1ns", "--sampling", string(sampling), "--out", out, "--resume")
	p := &process{Cmd: exec.Command(k.program, args...), out: run.SeedDir(out, 0), ended: make(chan error, 1)}
	p.Stderr = &p.err
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.ended <- p.Wait() }()
	return p
}

// wait lets the training come to its end.
func (p *process) wait(t *testing.T) {
	t.Helper()
	if err := <-p.ended; err != nil {
		t.Fatalf("training: %v\n%s", err, p.err.String())
	}
}

// live lets it train for some time.
func (p *process) live(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case err := <-p.ended:
		t.Fatalf("training ended before it could be killed: %v\n%s", err, p.err.String())
	}
}

// awaitWriting lets it train until a file is being written.
func (p *process) awaitWriting(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if _, err := os.Stat(filepath.Join(p.out, run.LastFile+".tmp")); err == nil {
			return
		}
		p.live(t, 0)
	}
	t.Error("no file was written for a minute")
}

func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.ended
}

// timeless is what a run recorded, but for how long things took.
func timeless(t *testing.T, dir string) string {
	t.Helper()
	var result run.Result
	if err := json.Unmarshal(content(t, dir, run.ResultFile), &result); err != nil {
		t.Fatal(err)
	}
	result.Seconds, result.PerEpoch = 0, 0
	lines := slices.Collect(bytes.Lines(content(t, dir, run.LogFile)))
	for _, line := range lines {
		var e run.Epoch
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		e.Seconds, e.Events = run.Seconds{}, 0
		result.History = append(result.History, e)
	}
	raw, err := json.Marshal([]any{result, result.History})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestKilledImport kills an import while it waits for more rows: the next one removes what it left.
func TestKilledImport(t *testing.T) {
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("builds the program and kills it")
	}
	k, dir := newKiller(t, 1), t.TempDir()
	cmd := exec.Command(k.program, "data", "import", "-", "--out", filepath.Join(dir, "visits.dgm"))
	rows, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); len(names(t, dir)) == 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if left := names(t, dir); len(left) != 1 || left[0] == "visits.dgm" {
		t.Fatalf("the killed import left %v: this test shows nothing", left)
	}
	table := filepath.Join(t.TempDir(), "visits.csv")
	if err := os.WriteFile(table, []byte("u,i,ts\na,b,1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	program(t, "data", "import", table, "--out", filepath.Join(dir, "visits.dgm")).want(t, exitDone)
	if left := names(t, dir); !slices.Equal(left, []string{"visits.dgm"}) {
		t.Errorf("left: %v", left)
	}
}
