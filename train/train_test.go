package train_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/train"
)

// small is a training of seconds: a periodic stream and a narrow model.
func small(t *testing.T, dir string, settings ...string) *train.Run {
	t.Helper()
	o := dataset.DefaultPeriodic
	o.Events = 1200
	set, err := dataset.Periodic(o)
	if err != nil {
		t.Fatal(err)
	}
	split, err := dataset.NewSplit(set.Log, dataset.SplitOptions{Sampling: set.Sampling})
	if err != nil {
		t.Fatal(err)
	}
	settings = append([]string{"channel_embedding_dim=8", "time_feat_dim=16", "max_input_sequence_length=8",
		"max_interaction_times=4", "node_feat_dim=8", "edge_feat_dim=8", "num_epochs=3", "batch_size=100",
		"learning_rate=0.001"}, settings...)
	spec, err := models.Get("dygmamba").Spec("", model.Data{Name: set.Name}, settings...)
	if err != nil {
		t.Fatal(err)
	}
	dev := cpu.New(cpu.Options{Threads: 2})
	t.Cleanup(func() { dev.Close() })
	return &train.Run{
		Model: "dygmamba", Factory: models.Get("dygmamba"), Spec: spec, Set: set, Device: dev, Seed: 1, Dir: dir,
		Protocol: eval.NewProtocol(split, eval.Options{
			Sampling: set.Sampling, BatchSize: spec.Training.BatchSize, Shares: spec.Training.Negatives,
		}),
	}
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestRunDirectory(t *testing.T) {
	dir := t.TempDir()
	job := small(t, dir)
	job.TensorBoard = true
	var heard []run.Epoch
	job.OnEpoch = func(e run.Epoch) { heard = append(heard, e) }
	r, err := job.Train(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Epochs != 3 || len(heard) != 3 || len(r.History) != 3 {
		t.Errorf("%d epochs, %d heard of, %d in the history; want 3", r.Epochs, len(heard), len(r.History))
	}
	if first, last := heard[0].Loss, heard[2].Loss; !(last < first) {
		t.Errorf("loss went from %v to %v", first, last)
	}
	for _, name := range []string{run.ConfigFile, run.LogFile, run.CheckpointFile, run.LastFile,
		run.ResultFile} {
		read(t, dir, name)
	}
	if lines := bytes.Count(read(t, dir, run.LogFile), []byte("\n")); lines != 3 {
		t.Errorf("log has %d lines, want 3", lines)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "events.out.tfevents.*")); len(files) != 1 {
		t.Errorf("TensorBoard files: %v", files)
	}
	if _, err := small(t, dir).Train(t.Context()); err == nil {
		t.Error("a second run into the same directory overwrote the first")
	}
	// The checkpoint scores as the training's own final evaluation did.
	again := small(t, "")
	m, err := again.Factory.Build(envOf(again), again.Spec)
	if err != nil {
		t.Fatal(err)
	}
	file, err := checkpoint.Load(filepath.Join(dir, run.CheckpointFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := train.Restore(m, nil, file); err != nil {
		t.Fatal(err)
	}
	measured, err := again.Protocol.Evaluate(t.Context(), scorerOf(m), eval.Test, protocol.RandomNegatives)
	if err != nil {
		t.Fatal(err)
	}
	if measured.AP != r.Results[0].AP {
		t.Errorf("checkpoint has AP %v, training reported %v", measured.AP, r.Results[0].AP)
	}
}

// TestResume interrupts a training again and again, in the middle of epochs and of validations, and compares what it
// ends with.
func TestResume(t *testing.T) {
	whole := t.TempDir()
	if _, err := small(t, whole, "dropout=0.2").Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cuts := 0
	for after := 1; ; after++ {
		job := small(t, dir, "dropout=0.2")
		job.Resume, job.SaveEvery = true, time.Nanosecond
		ctx, cancel := context.WithCancel(t.Context())
		steps := 0
		job.OnStep = func(train.Step) {
			if steps++; steps == after%5+1 {
				cancel()
			}
		}
		_, err := job.Train(ctx)
		cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		cuts++
	}
	if cuts < 5 {
		t.Fatalf("only %d interruptions", cuts)
	}
	if !bytes.Equal(read(t, whole, run.CheckpointFile), read(t, dir, run.CheckpointFile)) {
		t.Errorf("after %d interruptions the checkpoint differs", cuts)
	}
	t.Logf("%d interruptions", cuts)
}

// TestResumeRefuses checks that a run goes on only as it began, and that damaged files are recognised.
func TestResumeRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := small(t, dir, "num_epochs=1").Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := small(t, dir, "num_epochs=1", "dropout=0.3")
	other.Resume = true
	if _, err := other.Train(t.Context()); err == nil {
		t.Error("resumed with another configuration")
	}
	raw := read(t, dir, run.LastFile)
	raw[len(raw)-5] ^= 1
	if err := os.WriteFile(filepath.Join(dir, run.LastFile), raw, 0o644); err != nil {
		t.Fatal(err)
	}
	same := small(t, dir, "num_epochs=1")
	same.Resume = true
	if _, err := same.Train(t.Context()); !errors.Is(err, checkpoint.ErrCorrupt) {
		t.Errorf("damaged state gave %v, want %v", err, checkpoint.ErrCorrupt)
	}
}

// TestThreads: the same training on 1 and 3 threads ends with the same bytes.
func TestThreads(t *testing.T) {
	var ends [2][]byte
	for i, threads := range []int{1, 3} {
		dir := t.TempDir()
		job := small(t, dir, "num_epochs=1")
		dev := cpu.New(cpu.Options{Threads: threads})
		job.Device = dev
		if _, err := job.Train(t.Context()); err != nil {
			t.Fatal(err)
		}
		dev.Close()
		ends[i] = read(t, dir, run.CheckpointFile)
	}
	if !bytes.Equal(ends[0], ends[1]) {
		t.Error("1 and 3 threads give different checkpoints")
	}
}

func TestMemoryLimit(t *testing.T) {
	job := small(t, t.TempDir())
	job.MemoryLimit = 4 << 20
	_, err := job.Train(t.Context())
	var short *train.MemoryError
	if !errors.As(err, &short) || short.Need <= short.Limit {
		t.Fatalf("got %v, want a memory error", err)
	}
	if _, err := os.Stat(filepath.Join(job.Dir, run.LastFile)); err == nil {
		t.Error("a training that cannot fit left a state")
	}
	// The batch size it names fits, and one a quarter larger does not.
	var fit int
	if _, err := fmt.Sscanf(short.Hint, "batch_size=%d would fit", &fit); err != nil {
		t.Fatalf("hint %q names no batch_size", short.Hint)
	}
	for batch, want := range map[int]bool{fit: true, fit + fit/4 + 1: false} {
		job := small(t, "", "num_epochs=1", fmt.Sprintf("batch_size=%d", batch))
		job.MemoryLimit = 4 << 20
		if _, err := job.Train(t.Context()); (err == nil) != want {
			t.Errorf("batch_size %d fits: %v, want %v (%v)", batch, err == nil, want, err)
		}
	}
}

func TestSummarize(t *testing.T) {
	s := run.Summarize([]run.Result{
		{Seed: 0, Results: []run.Measured{{Scenario: "transductive", Strategy: "random",
			Result: eval.Result{AP: 0.9, AUC: 0.8}}}},
		{Seed: 1, Results: []run.Measured{{Scenario: "transductive", Strategy: "random",
			Result: eval.Result{AP: 0.8, AUC: 0.8}}}},
	})
	got := s.Results[0]
	if math.Abs(got.AP-0.85) > 1e-12 || math.Abs(got.APStd-0.1/math.Sqrt2) > 1e-12 || got.AUCStd != 0 || got.Runs != 2 {
		t.Errorf("got %+v", got)
	}
}

func envOf(r *train.Run) model.Env {
	return model.Env{Device: r.Device, Node: r.Set.Node, Edge: r.Set.Edge, NumNodes: r.Set.NumNodes(), Seed: r.Seed}
}

func scorerOf(m model.Model) *model.DeviceScorer { return model.NewScorer(m) }
