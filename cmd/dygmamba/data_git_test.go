package main

import (
	"encoding/json"
	"fmt"
	"math"
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

// A tour of a repository says who changes what next and what was surprising; a history of a few commits is refused.
func TestDemoGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	dir := t.TempDir()
	var stream strings.Builder
	for c := range 120 {
		who := []string{"Ann", "Bob", "Cid"}[c%3]
		at := 1_700_000_000 + 7200*c
		fmt.Fprintf(&stream, "commit refs/heads/main\nmark :%d\ncommitter %s <x@example.org> %d +0000\ndata 1\nx\n",
			c+1, who, at)
		if c > 0 {
			fmt.Fprintf(&stream, "from :%d\n", c)
		}
		text := fmt.Sprint(c)
		for _, file := range []string{who + "/a.go", fmt.Sprintf("all/%d.md", c%7)} {
			fmt.Fprintf(&stream, "M 644 inline %s\ndata %d\n%s\n", file, len(text), text)
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"fast-import", "--quiet"}} {
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		cmd.Stdin = strings.NewReader(stream.String())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	r := program(t, "demo", "--git", dir, "--max-time", "5s", "--json")
	r.want(t, exitDone)
	var doc historyTourDoc
	if err := json.Unmarshal([]byte(r.out), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Events != 240 || doc.People != 3 || len(doc.Next) != 3 || doc.Week == 0 || len(doc.Surprises) != 10 {
		t.Errorf("%+v", doc)
	}
	for _, one := range doc.Next {
		sum := one.Others + one.New
		for _, x := range one.Items {
			sum += x.Share
		}
		if math.Abs(sum-1) > 1e-5 {
			t.Errorf("the shares of %s sum to %v", one.U, sum)
		}
	}
	program(t, "demo", "--git", dir, "--out", "x.html").want(t, exitUsage, "without --git")
	program(t, "demo", "--anonymous").want(t, exitUsage, "--anonymous needs --git")
}
