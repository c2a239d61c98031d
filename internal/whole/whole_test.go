package whole

import (
	"os"
	"path/filepath"
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
