package repo

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// history makes a repository with two people, odd names, a merge and an empty commit.
func history(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	dir := t.TempDir()
	git := func(who, when string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=" + who, "-c",
			"user.email=x@example.org", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE="+when+" +0200", "GIT_COMMITTER_DATE="+when+" +0200",
			"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	commit := func(who, when string) {
		git(who, when, "add", "-A")
		git(who, when, "commit", "-q", "-m", "x", "--allow-empty")
	}
	git("Ann", "1000000000", "init", "-q", "-b", "main")
	put("README.md", "1")
	put("src/a b.GO", "1")
	commit("Ann", "1000000000")
	put("src/ü,\"x\".go", "1")
	commit("Böb, \"B\" x", "1000000100")
	git("Ann", "1000000200", "checkout", "-q", "-b", "side")
	put("docs/deep/Makefile", "1")
	commit("Ann", "1000000200")
	git("Ann", "1000000300", "checkout", "-q", "main")
	put("README.md", "2")
	commit("Ann", "1000000300")
	git("Ann", "1000000400", "merge", "-q", "--no-ff", "-m", "m", "side")
	commit("Ann", "1000000500") // changes nothing
	return dir
}

func TestWrite(t *testing.T) {
	dir := history(t)
	for anonymous, want := range map[bool]string{
		false: `person,file,time,dir,ext
Ann,README.md,1000000000,.,md
Ann,src/a b.GO,1000000000,src,go
"Böb, ""B"" x","src/ü,""x"".go",1000000100,src,go
Ann,docs/deep/Makefile,1000000200,docs,
Ann,README.md,1000000300,.,md
`,
		true: `person,file,time,dir,ext
p0,README.md,1000000000,.,md
p0,src/a b.GO,1000000000,src,go
p1,"src/ü,""x"".go",1000000100,src,go
p0,docs/deep/Makefile,1000000200,docs,
p0,README.md,1000000300,.,md
`,
	} {
		var out strings.Builder
		n, err := Write(t.Context(), dir, &out, Options{Anonymous: anonymous})
		if err != nil || out.String() != want || n != (Counts{5, 5, 2}) {
			t.Errorf("anonymous %v: %+v, %v\n%s", anonymous, n, err, out.String())
		}
	}
}

func TestWriteNothing(t *testing.T) {
	history(t) // or skip
	if _, err := Write(t.Context(), t.TempDir(), &strings.Builder{}, Options{}); err == nil ||
		!strings.Contains(err.Error(), "not a git repository") {
		t.Errorf("no repository: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Write(ctx, history(t), &strings.Builder{}, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// What git would never print is refused, not guessed.
func TestWriteForeign(t *testing.T) {
	for _, text := range []string{"\x01soon\x00Ann\x00a.go\x00", "\x01100\x00Ann\x00a.go"} {
		if err := parse(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func parse(text string) error {
	w := writer{out: csv.NewWriter(io.Discard), people: map[string]string{}}
	return w.all(bufio.NewReader(strings.NewReader(text)))
}
