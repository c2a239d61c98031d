package models

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/model"
)

// TestAnotherModule: a module of its own adds a model with an extra of its own, without a change to this one. It can
// import public packages only, which the compiler sees to.
func TestAnotherModule(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a module: not with -short")
	}
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("there is no go command: ", err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/toy")); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	// It asks for all that this module asks for: the go command then needs no other module, which a fresh machine does
	// not have.
	const module = "github.com/dygmamba/dygmamba"
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	text, own := strings.CutPrefix(string(mod), "module "+module)
	if !own {
		t.Fatalf("go.mod begins with %.40q, want its module line", mod)
	}
	for name, text := range map[string]string{
		"go.sum": string(sums),
		"go.mod": fmt.Sprintf("module example.com/toy%s\nrequire %s v0.0.0\n\nreplace %s => %q\n",
			text, module, module, root),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), tool, "test", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOPROXY=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestRegister: a name is registered once, and is one that a command line and a file system can take.
func TestRegister(t *testing.T) {
	f := Get("tgn")
	for _, c := range []struct {
		name string
		f    model.Factory
	}{{"tgn", f}, {"", f}, {"My Model", f}, {"../x", f}, {"empty", model.Factory{}}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q is registered", c.name)
				}
			}()
			Register(c.name, c.f)
		}()
	}
}
