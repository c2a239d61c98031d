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
