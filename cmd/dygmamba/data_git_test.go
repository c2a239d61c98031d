package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The history of a repository becomes a data set, with people by name or numbered.
func TestImportGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	dir := t.TempDir()
	for i, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "x"}} {
		if i == 1 {
			if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("1"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=Ann", "-c", "user.email=a@example.org",
			"-c", "commit.gpgsign=false"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	out := filepath.Join(t.TempDir(), "x.dgm")
	for _, anonymous := range []string{"false", "true"} {
		r := program(t, "data", "import", "--git", dir, "--anonymous="+anonymous, "--out", out, "--json")
		r.want(t, exitDone)
		var doc struct {
			Events   int    `json:"events"`
			TimeUnit string `json:"time_unit"`
		}
		if err := json.Unmarshal([]byte(r.out), &doc); err != nil || doc.Events != 1 || doc.TimeUnit != "s" {
			t.Errorf("%v: %s", err, r.out)
		}
		shown := program(t, "data", "export", out, "--out", filepath.Join(filepath.Dir(out), "x.csv"))
		shown.want(t, exitDone)
		raw, err := os.ReadFile(filepath.Join(filepath.Dir(out), "x.csv"))
		if err != nil || strings.Contains(string(raw), "Ann") == (anonymous == "true") {
			t.Errorf("anonymous %s: %v\n%s", anonymous, err, raw)
		}
	}
	program(t, "data", "import", "--git", t.TempDir()).want(t, exitBadInput, "not a git repository")
	program(t, "data", "import", "--git", dir, "x.csv").want(t, exitUsage, "found the file")
	program(t, "data", "import", "--git", dir, "--src", "x").want(t, exitUsage, "--src cannot be used with --git")
	program(t, "data", "import", "x.csv", "--anonymous").want(t, exitUsage, "--anonymous needs --git")
}
