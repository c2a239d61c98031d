package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/run"
)

// without leaves a setting out of a command line.
func without(key string, args []string) []string {
	var kept []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--set" && strings.HasPrefix(args[i+1], key+"=") {
			i++
			continue
		}
		kept = append(kept, args[i])
	}
	return kept
}

// A sweep shows a table, its directory stands for the chosen trial, and one that was stopped goes on by itself.
func TestSweepCommand(t *testing.T) {
	data, out := trainedRun(t).data, filepath.Join(t.TempDir(), "search")
	args := append(without("learning_rate", training(data)), "--sweep", "learning_rate=1e-06,0.01", "--sweep",
		"dropout=0,0.1")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(400*time.Millisecond, cancel)
	stopped := programIn(ctx, "", append(args, "--out", out)...)
	if stopped.code != exitInterrupted && stopped.code != exitDone { // where it was faster
		t.Fatalf("stopped with %d: %s", stopped.code, stopped.err)
	}
	if stopped.code == exitInterrupted {
		program(t, append(args, "--out", out)...).want(t, exitFailed, "holds a sweep already", "--resume")
	}
	r := program(t, "train", "--resume", "--out", out, "--device", "cpu").want(t, exitDone)
	r.shows(t, "learning_rate", "dropout", "trial-4", "ended early", "chosen", "transductive", "saved in")
	doc := decode[sweepDoc](t, program(t, "train", "--resume", "--out", out, "--device", "cpu", "--json").want(t,
		exitDone))
	if len(doc.Trials) != 4 || doc.Best == "" || doc.Dir != filepath.Join(out, doc.Best) ||
		len(doc.Result.Results) == 0 || doc.Result.Runs[0].Epochs != 2 {
		t.Errorf("got %+v", doc)
	}
	if want := []string{run.ResultFile, "sweep.json", "trial-1", "trial-2", "trial-3",
		"trial-4"}; !slices.Equal(names(t, out), want) {
		t.Errorf("the directory has %v", names(t, out))
	}
	ask := []string{"--data", data, "--device", "cpu", "--u", "u1", "--i", "v1", "--ts", "500"}
	by := program(t, append([]string{"predict", "--run", out}, ask...)...).want(t, exitDone).out
	if want := program(t, append([]string{"predict", "--run", doc.Dir}, ask...)...).want(t, exitDone).out; by != want {
		t.Errorf("the sweep says %q, its chosen trial %q", by, want)
	}
	program(t, training(data, "--out", out)...).want(t, exitFailed, "holds a sweep already")
}

func TestSweepUsage(t *testing.T) {
	data, out := trainedRun(t).data, filepath.Join(t.TempDir(), "search")
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"--sweep dropout=0,0.1", exitUsage, "--sweep needs --out"},
		{"--trials 3 --out " + out, exitUsage, "--trials needs --sweep"},
		{"--full --out " + out, exitUsage, "--full needs --sweep"},
		{"--sweep dropout=0,0.1 --trials -1 --out " + out, exitUsage, "--trials is -1"},
		{"--sweep dropout --out " + out, exitUsage, "key=value,value"},
		{"--sweep batch_size=1,2 --out " + out, exitUsage, "batch_size is in both --set and --sweep"},
		{"--sweep dropuot=0,0.1 --out " + out, exitUsage, "did you mean dropout"},
		{"--sweep dropout=0..0.5 --out " + out, exitUsage, "how many to draw"},
		{"--config none.json --out " + out, exitBadInput, "none.json"},
		{"--config none.json --resume --out " + out, exitUsage, "--config cannot be used with --resume"},
		{"--config " + data + " --out " + out, exitBadInput, filepath.Base(data)},
	} {
		program(t, training(data, strings.Fields(tt.args)...)...).want(t, tt.code, tt.want)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("wrong usage left a directory")
	}
}

// A run's configuration begins another: the same bytes if nothing is given beside it.
func TestConfig(t *testing.T) {
	small := trainedRun(t)
	config := filepath.Join(small.run, run.ConfigFile)
	again := filepath.Join(t.TempDir(), "again")
	program(t, "train", "--config", config, "--device", "cpu", "--out", again).want(t, exitDone)
	if string(content(t, small.run, run.CheckpointFile)) != string(content(t, again, "seed-0",
		run.CheckpointFile)) {
		t.Error("the same configuration gave another model")
	}
	other := filepath.Join(t.TempDir(), "other")
	program(t, "train", "--config", config, "--device", "cpu", "--out", other, "--seed", "7", "--set",
		"num_epochs=2", "--data", small.data).want(t, exitDone)
	if lines := strings.Count(string(content(t, other, "seed-7", run.LogFile)), "\n"); lines != 2 {
		t.Errorf("%d epochs, want the 2 that were given beside the configuration", lines)
	}
	var was, is map[string]any
	decodeFile(t, &was, config)
	decodeFile(t, &is, other, "seed-7", run.ConfigFile)
	if was["parameters"] != is["parameters"] || was["model"] != is["model"] {
		t.Errorf("%v became %v", was, is)
	}
}

func decodeFile(t *testing.T, to any, parts ...string) {
	t.Helper()
	if err := json.Unmarshal(content(t, parts...), to); err != nil {
		t.Fatal(err)
	}
}
