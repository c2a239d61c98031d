package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// result is what one run of the program left.
type result struct {
	code     int
	out, err string
}

// program runs the program in this process.
func program(t *testing.T, args ...string) result {
	t.Helper()
	return programIn(t.Context(), "", args...)
}

func programIn(ctx context.Context, stdin string, args ...string) result {
	var out, err bytes.Buffer
	code := launch(ctx, args, strings.NewReader(stdin), &out, &err)
	return result{code, out.String(), err.String()}
}

// want checks the exit code, and that standard error has all the parts.
func (r result) want(t *testing.T, code int, parts ...string) result {
	t.Helper()
	if r.code != code {
		t.Fatalf("exit code %d, want %d\nstdout:\n%s\nstderr:\n%s", r.code, code, r.out, r.err)
	}
	for _, part := range parts {
		if !strings.Contains(r.err, part) {
			t.Errorf("standard error lacks %q:\n%s", part, r.err)
		}
	}
	return r
}

// shows checks that standard output has all the parts.
func (r result) shows(t *testing.T, parts ...string) result {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(r.out, part) {
			t.Errorf("standard output lacks %q:\n%s", part, r.out)
		}
	}
	return r
}

// decode reads standard output, which must be exactly one JSON document.
func decode[T any](t *testing.T, r result) T {
	t.Helper()
	var v T
	dec := json.NewDecoder(strings.NewReader(r.out))
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("standard output is not JSON: %v\n%s", err, r.out)
	}
	if dec.More() {
		t.Fatalf("standard output has more than one document:\n%s", r.out)
	}
	return v
}

func TestWrongUsage(t *testing.T) {
	tests := []struct {
		args string
		want string
	}{
		{"evl", "unknown command"},
		{"vers", "did you mean version?"},
		{"trian", "did you mean train?"},
		{"--nope", "unknown flag --nope"},
		{"version --jsn", "did you mean --json?"},
		{"version extra", `takes no arguments, found "extra"`},
		{"version --json=maybe", "maybe"},
		{"completion", "needs the name of a shell"},
		{"completion tcsh", "tcsh"},
		{"help vrsion", "did you mean version?"},
		{"data", "data needs a command: list, info, check, import, append, retract, forget, export, slice"},
		{"train --seed -1", `--seed is "-1", must be a whole number of at least 0`},
		{"train --runs 1.5", `--runs is "1.5", must be a whole number`},
		{"train --tf32=maybe", `--tf32 is "maybe", must be true or false`},
		{"train --max-time soon", `--max-time is "soon", must be a length of time such as 90s, 15m, 1h, 7d or 2w`},
		{"serve --rate many", `--rate is "many", must be a number`},
		{"serve --run r --listen nowhere", `--listen is "nowhere", must be HOST:PORT`},
		{"bench neighbors --lengths a,b", `--lengths is "a,b", must be whole numbers, separated by commas`},
		{"data import --schema no/such", "--schema no/such: open no/such"},
		{"data imprt", "did you mean import?"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			r := program(t, strings.Fields(tt.args)...).want(t, exitUsage, tt.want, "--help' for usage and examples.")
			if r.out != "" {
				t.Errorf("standard output must stay empty, has %q", r.out)
			}
			if n := strings.Count(r.err, "error:"); n != 1 {
				t.Errorf("the error is printed %d times:\n%s", n, r.err)
			}
		})
	}
}

func TestErrorsAsJSON(t *testing.T) {
	r := program(t, "version", "--json", "--nope").want(t, exitUsage, "unknown flag --nope")
	doc := decode[failure](t, r)
	if doc.Error.Exit != exitUsage || doc.Error.Kind != "wrong usage" ||
		!strings.Contains(doc.Error.Message, "--nope") {
		t.Errorf("got %+v", doc.Error)
	}
}

func TestInterrupted(t *testing.T) {
	a := &app{running: true}
	if code := a.exitCode(context.Canceled); code != exitInterrupted {
		t.Errorf("a cancelled context gives %d, want %d", code, exitInterrupted)
	}
	var out bytes.Buffer
	a = newApp(nil, &out, io.Discard)
	root := newRoot(a)
	a.running, a.json = true, true
	const want = "seed 0: stopped after 5 of 9 events"
	a.finish(root, fmt.Errorf(want+": %w", context.Canceled))
	if got := decode[failure](t, result{out: out.String()}).Error.Message; got != want {
		t.Errorf("the document says %q, want %q", got, want)
	}
}

// A directory that cannot be made is no bad input; a file that is missing is.
func TestOutputIsNoInput(t *testing.T) {
	a := &app{running: true}
	for _, tt := range []struct {
		op   string
		want int
	}{{"open", exitBadInput}, {"stat", exitBadInput}, {"mkdir", exitFailed}} {
		if got := a.exitCode(&fs.PathError{Op: tt.op, Path: "x", Err: fs.ErrNotExist}); got != tt.want {
			t.Errorf("%s: exit %d, want %d", tt.op, got, tt.want)
		}
	}
}

// An interruption that takes its time is answered, once; one that does not is not worth a word.
func TestInterruptionIsAnswered(t *testing.T) {
	for _, tt := range []struct {
		interrupted, long bool
	}{{true, true}, {true, false}, {false, false}} {
		var log bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		soon := time.Millisecond
		if !tt.long {
			soon = time.Hour
		}
		done := newApp(nil, nil, &log).attend(ctx, soon)
		if tt.interrupted {
			cancel()
			time.Sleep(100 * time.Millisecond)
		}
		done()
		cancel()
		n := strings.Count(log.String(), "finishing the step; press Ctrl-C again to stop now\n")
		if (n == 1) != tt.long || n > 1 {
			t.Errorf("%+v: %q", tt, log.String())
		}
	}
}

func TestCrashIsNotUsage(t *testing.T) {
	var out, err bytes.Buffer
	a := newApp(nil, &out, &err)
	a.json = true
	if code := a.crashed("index out of range"); code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	if !strings.Contains(err.String(), "please report") || !json.Valid(out.Bytes()) {
		t.Errorf("stdout %q, stderr %q", out.String(), err.String())
	}
}

func TestVersion(t *testing.T) {
	program(t, "version").want(t, exitDone).shows(t, "commit", "platform", "go1.")
	doc := decode[versionDoc](t, program(t, "version", "--json").want(t, exitDone))
	if doc.CPUs < 1 || len(doc.Devices) < 2 || !doc.Devices[0].Usable {
		t.Errorf("got %+v", doc)
	}
}

// version prints the commit, and marks one with uncommitted changes.
func TestVersionCommit(t *testing.T) {
	stamped := func(settings ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{}
		for i := 0; i < len(settings); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: settings[i], Value: settings[i+1]})
		}
		return info
	}
	for name, tt := range map[string]struct {
		info           *debug.BuildInfo
		linked         string
		commit, people string
	}{
		"clean": {stamped("vcs.revision", "abc", "vcs.time", "2026-01-02T03:04:05Z", "vcs.modified", "false"), "xyz",
			"abc", "abc of 2026-01-02T03:04:05Z"},
		"modified":        {stamped("vcs.revision", "abc", "vcs.modified", "true"), "", "abc-dirty", "abc-dirty"},
		"linked":          {stamped(), "abc", "abc", "abc"},
		"linked, changed": {nil, "abc-dirty", "abc-dirty", "abc-dirty"},
		"unknown":         {nil, "", "", "unknown: built without version control"},
	} {
		doc := describeBuild(tt.info, tt.linked)
		if doc.Commit != tt.commit || doc.built() != tt.people || doc.Modified != strings.HasSuffix(tt.commit, dirty) {
			t.Errorf("%s: commit %q, shown as %q, modified %v; want %q, %q",
				name, doc.Commit, doc.built(), doc.Modified, tt.commit, tt.people)
		}
	}
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		program(t, "completion", shell).want(t, exitDone).shows(t, "dygmamba")
	}
	program(t, "__complete", "vers").want(t, exitDone).shows(t, "version")
	for line, want := range map[string][]string{
		"train --preset ":                        {"steady\t", "quick\tfor a first look", ":4"},
		"train --model tgn --preset ":            {"strict\t", ":4"},
		"models dygmamba --preset ":              {"paper-size-a\t"},
		"predict --set ":                         {"max_input_sequence_length=\t", "learning_rate=\t", ":6"},
		"train --model edgebank --set ":          {"edge_bank_memory_mode=\t"},
		"train --set freeze_time_encoder=":       {"freeze_time_encoder=true\n", "freeze_time_encoder=false\n"},
		"train --preset quick --set num_epochs=": {"num_epochs=10\t"},
	} {
		words := strings.Split("__complete "+line, " ")
		program(t, words...).want(t, exitDone).shows(t, want...)
	}
	r := program(t, "__complete", "help", "").want(t, exitDone).shows(t, "version")
	if strings.Contains(r.out, "__complete") {
		t.Errorf("help completes what is hidden:\n%s", r.out)
	}
}

// Every command has help with an example that begins like a command line, as text and as JSON.
func TestHelpOfEveryCommand(t *testing.T) {
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		path := strings.Fields(cmd.CommandPath())[1:]
		t.Run("dygmamba "+strings.Join(path, " "), func(t *testing.T) {
			if cmd.Short == "" || !strings.HasPrefix(strings.TrimSpace(cmd.Example), "dygmamba ") &&
				cmd.Name() != "completion" {
				t.Errorf("has summary %q and example %q", cmd.Short, cmd.Example)
			}
			program(t, append(path, "--help")...).want(t, exitDone).shows(t, "Usage:", "Examples:", cmd.Example)
			decode[map[string]string](t, program(t, append(path, "--help", "--json")...).want(t, exitDone))
		})
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(newRoot(newApp(nil, nil, nil)))
}
