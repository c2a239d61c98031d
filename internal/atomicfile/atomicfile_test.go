package atomicfile

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// What is no file must never be replaced by one, and a link stays a link.
func TestKeepsNames(t *testing.T) {
	dir := t.TempDir()
	if _, err := Create(dir); err == nil || !strings.Contains(err.Error(), "no ordinary file") {
		t.Errorf("a directory gives %v", err)
	}
	file, link := filepath.Join(dir, "sub", "file"), filepath.Join(dir, "link")
	if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Skip("no links here:", err)
	}
	p, err := Create(link)
	if err != nil {
		t.Fatal(err)
	}
	p.WriteString("new")
	if err := p.Commit(); err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(file); err != nil || string(raw) != "new" {
		t.Errorf("the file behind the link has %q, %v", raw, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is now %v, %v", info.Mode(), err)
	}
}

// A file that is replaced keeps its permissions; a new one has those of any new file.
func TestPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permissions here")
	}
	dir := t.TempDir()
	other := filepath.Join(dir, "other")
	f, err := os.Create(other)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	mode := func(path string) fs.FileMode {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	for _, create := range []func(string) (*File, error){Create, Own} {
		path := filepath.Join(dir, "file")
		for _, want := range []fs.FileMode{mode(other), 0o600, 0o640, 0o444} {
			if want != mode(other) {
				if err := os.Chmod(path, want); err != nil {
					t.Fatal(err)
				}
			}
			f, err := create(path)
			if err != nil {
				t.Fatal(err)
			}
			if open := mode(f.Name()); open&^want&^0o200 != 0 {
				t.Errorf("while it is written the file has %v, it replaces one with %v", open, want)
			}
			if err := f.Commit(); err != nil {
				t.Fatal(err)
			}
			if got := mode(path); got != want {
				t.Errorf("the file has %v, want %v", got, want)
			}
		}
		os.Remove(path)
	}
}

// Errors name the file as its user does, not as it is called until it is complete.
func TestErrorsNameTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	complain := func(what string, err error) {
		if err == nil || strings.Contains(err.Error(), ".tmp") || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want an error with %s", what, err, path)
		}
	}
	for name, create := range map[string]func(string) (*File, error){"Create": Create, "Own": Own} {
		_, err := create(filepath.Join(path, "no", "such"))
		complain(name, err)
		f, err := create(path)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		_, err = f.Write([]byte("a"))
		complain(name+", Write", err)
		_, err = f.WriteAt([]byte("a"), 0)
		complain(name+", WriteAt", err)
		complain(name+", Commit", f.Commit())
	}
}

// A file that a killed process left behind is taken over, and a reader never sees it.
func TestOwn(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state")
	for _, text := range []string{"discarded", "left by a process that was killed", "kept"} {
		f, err := Own(path)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString(text)
		if _, err := os.Stat(path); err == nil {
			t.Fatalf("%s is there while %q is written", path, text)
		}
		switch text {
		case "discarded":
			f.Discard()
		case "kept":
			if err := f.Commit(); err != nil {
				t.Fatal(err)
			}
		default:
			f.Close()
		}
	}
	if raw, err := os.ReadFile(path); err != nil || string(raw) != "kept" {
		t.Errorf("the file has %q, %v", raw, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left in the directory: %v, %v", left, err)
	}
}

// What a killed process left is swept away by the next, whatever that writes; what someone still writes, and what
// others left, is not.
func TestSweeps(t *testing.T) {
	if !renamesOpen {
		t.Skip("only age tells here")
	}
	dir := t.TempDir()
	list := func() (names []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	stranger := filepath.Join(dir, ".visits.dgm.123.tmp")
	if err := os.WriteFile(stranger, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	killed, err := Create(filepath.Join(dir, "visits.dgm"))
	if err != nil {
		t.Fatal(err)
	}
	alive, err := Create(filepath.Join(dir, "sales.dgm"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(list()); n != 3 {
		t.Errorf("what is being written was swept away: %v", list())
	}
	killed.Close() // as the end of a process does
	next, err := Create(filepath.Join(dir, "other.dgm"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*File{alive, next} {
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := list(), []string{".visits.dgm.123.tmp", "other.dgm", "sales.dgm"}; !slices.Equal(got, want) {
		t.Errorf("left: %v, want %v", got, want)
	}
}

// What is written as JSON can be read by people, and its hash is that of its bytes.
func TestWriteJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	if err := WriteJSON(path, map[string]int{"a": 1}); err != nil {
		t.Fatal(err)
	}
	const want = "{\n  \"a\": 1\n}\n"
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("found %q, want %q (%v)", got, want, err)
	}
	if got, err := Hash(path); err != nil || got != fmt.Sprintf("%x", sha256.Sum256([]byte(want))) {
		t.Errorf("the hash is %s (%v)", got, err)
	}
	if err := WriteJSON(path, math.NaN()); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("what JSON cannot say: %v, want the file named", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("it left %q (%v)", got, err)
	}
	if _, err := Hash(path + ".none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the hash of nothing: %v", err)
	}
}
