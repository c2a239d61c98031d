package study

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/run"
)

// TestRecords: records have ended, are in order, and do not say where data lay on somebody's machine; what an audit
// said stands beside the very weights that it was said of.
func TestRecords(t *testing.T) {
	files, err := filepath.Glob("../../results/*" + recordEnding)
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	audits := 0
	for _, file := range files {
		lines, err := readLines(file)
		if err != nil || len(lines) == 0 {
			t.Fatalf("%s: %d records, %v", file, len(lines), err)
		}
		for i, l := range lines {
			r, err := l.record(file)
			if err != nil {
				t.Fatal(file, l.Name, err)
			}
			if why := r.Unfinished(); why != "" || r.Config.Path != "" {
				t.Errorf("%s: %s, data at %q", l.Name, why, r.Config.Path)
			}
			if i > 0 && lines[i-1].Name >= l.Name {
				t.Errorf("%s stands behind %s", l.Name, lines[i-1].Name)
			}
			if r.Config.Data+recordEnding != filepath.Base(file) {
				t.Errorf("%s is of %s", l.Name, r.Config.Data)
			}
			if l.Audit == nil {
				continue
			}
			audits++
			if sum := r.Result.Checkpoint; sum == "" || !strings.Contains(string(l.Audit), `"want":"`+sum+`"`) {
				t.Errorf("the audit of %s is of other weights than %q", l.Name, sum)
			}
		}
	}
	if audits == 0 {
		t.Error("there is no audit")
	}
}

// runDir writes a run directory.
func runDir(t *testing.T, dir, seed, result string) string {
	t.Helper()
	config := `{"model":"tcl", "spec":{}, "data":"uci", "data_path":"/home/me", "seed":` + seed +
		`, "hashes":{"data":"x"}, "later": 1.50}`
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{run.ConfigFile: config, run.ResultFile: result} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Runs are added with everything they have written down, once, and only when they have ended.
func TestAddRecords(t *testing.T) {
	dir, into := t.TempDir(), filepath.Join(t.TempDir(), "results")
	const done = `{"model":"tcl", "data":"uci", "epochs": 3, "results": [{"ap": 0.30000000000000004}]}`
	training := filepath.Join(dir, "b")
	runDir(t, filepath.Join(training, "seed-1"), "1", done)
	one := runDir(t, filepath.Join(dir, "c"), "2", done)
	names, err := AddRecords(into, one, training)
	if err != nil || strings.Join(names, " ") != "c b-1" {
		t.Fatal(names, err)
	}
	raw, err := os.ReadFile(filepath.Join(into, "uci.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	if strings.Count(text, "\n") != 2 || !strings.HasPrefix(text, `{"name":"b-1"`) || strings.Contains(text, "/home") ||
		!strings.Contains(text, "0.30000000000000004") || !strings.Contains(text, `"later":1.50`) {
		t.Errorf("recorded:\n%s", text)
	}
	for why, run := range map[string]string{
		"there already, as c":   runDir(t, filepath.Join(dir, "again"), "2", done),
		"there already, as b-1": filepath.Join(training, "seed-1"),
		"no result yet":         runDir(t, filepath.Join(dir, "begun"), "3", ""),
		"cut short after epoch 2": runDir(t, filepath.Join(dir, "cut"), "4",
			`{"epochs":2,"ended":"max-time"}`),
		"cut short in epoch 1":              runDir(t, filepath.Join(dir, "short"), "5", `{"epochs":0}`),
		"no such file or directory":         filepath.Join(dir, "nowhere"),
		"invalid character 'x' looking for": runDir(t, filepath.Join(dir, "broken"), "6", "x"),
	} {
		if _, err := AddRecords(into, run); !errors.Is(err, ErrRecord) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", run, err, why)
		}
	}
	if again, err := os.ReadFile(filepath.Join(into, "uci.jsonl")); err != nil || string(again) != text {
		t.Errorf("refused runs changed the file: %v\n%s", err, again)
	}
	records, err := ReadRecords(into)
	if err != nil || len(records) != 2 || records[0].Config.Seed != 1 || records[1].Result.Epochs != 3 {
		t.Errorf("%+v, %v", records, err)
	}
	if dirs, err := ReadRecords(dir); err != nil || len(dirs) != 6 { // the broken one is none
		t.Errorf("%d records in directories, %v, want 6", len(dirs), err)
	}
}

// A file of something else is left alone; one that is broken further down is an error that says where.
func TestReadOtherFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("other.jsonl", `{"epoch":1}`+"\n")
	write(run.LogFile, "not JSON\n")
	if list, err := ReadRecords(dir); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	write("uci.jsonl", `{"name":"a","config":{"model":"tcl","spec":{}},"result":{}}`+"\n"+`{"name":"b"}`+"\n")
	if _, err := ReadRecords(dir); err == nil || !strings.Contains(err.Error(), "uci.jsonl, line 2") {
		t.Errorf("a broken line: %v", err)
	}
}
