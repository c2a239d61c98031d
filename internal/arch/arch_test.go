package arch

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

func TestImportsOnlyGoDown(t *testing.T) {
	broken, err := Check(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range broken {
		t.Error(b)
	}
}

// A guard that cannot fail guards nothing.
func TestCheckNotices(t *testing.T) {
	const m = Module + "/"
	tests := []struct {
		name, file, imports, want string
	}{
		{"down", "index/a.go", m + "event", ""},
		{"up", "event/a.go", m + "index", "not below"},
		{"sideways", "device/cpu/a.go", m + "device/cuda", "not below"},
		{"across", "sample/a.go", m + "tensor", "other tower"},
		{"across the other way", "nn/a.go", m + "event", "other tower"},
		{"behind a build tag", "grad/a_windows.go", m + "dataset", "other tower"},
		{"a test goes up", "event/a_test.go", m + "index", ""},
		{"a test goes across", "event/a_test.go", m + "grad", "other tower"},
		{"the roof sees all", "cmd/dygmamba/a.go", m + "dataset", ""},
		{"the roof sees no tapes", "cmd/dygmamba/a.go", m + "grad", "leaves to the library"},
		{"the roof sees no tensors", "cmd/dygmamba/a.go", m + "tensor", "leaves to the library"},
		{"the roof sees no passes", "cmd/dygmamba/a.go", m + "replay", "leaves to the library"},
		{"nor do its tests", "cmd/dygmamba/a_test.go", m + "sample", "leaves to the library"},
		{"but their list", "cmd/dygmamba/a.go", m + "models", ""},
		{"the facade from above", "cmd/dygmamba/a.go", Module, ""},
		{"the facade from below", "eval/a.go", Module, "not below"},
		{"a model by another", "models/internal/tgn/a.go", m + "models/internal/tgat", "not below"},
		{"new package", "helpers/a.go", "fmt", "has no line"},
		{"import of a new package", "event/a.go", m + "helpers", "has no line"},
		{"standard library", "event/a.go", "encoding/binary", ""},
		{"stranger", "event/a.go", "example.com/left-pad", "has no line in Outside"},
		{"module for others", "event/a.go", "github.com/spf13/cobra", "alone"},
		{"module for its user", "cmd/dygmamba/a.go", "github.com/spf13/cobra", ""},
		{"test module in a test", "event/a_test.go", "pgregory.net/rapid", ""},
		{"cgo", "event/a.go", "C", "cgo"},
		{"a model", "train/a.go", m + "models/internal/tgn", "not below"},
		{"a model from above", "cmd/dygmamba/a.go", m + "models/internal/tgn", "found in the catalogue"},
		{"a model in a test", "train/a_test.go", m + "models/internal/tgn", "found in the catalogue"},
		{"the catalogue", "models/a.go", m + "models/internal/tgn", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := "//go:build windows\n\npackage p\n\nimport _ \"" + tt.imports + "\"\n"
			broken, err := Check(fstest.MapFS{tt.file: {Data: []byte(src)}, "x/testdata/bad.go": {Data: []byte("?")}})
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(broken, "\n")
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("%s importing %s: got %q, want a message with %q", tt.file, tt.imports, got, tt.want)
			}
		})
	}
}

// Only the catalogue, and those that show or quote models, may name one.
func TestNamesOfModels(t *testing.T) {
	list := "package models\n\nvar All = map[string]int{\"dygmamba\": 1, \"tgn\": 2}\n"
	for _, tt := range []struct{ file, text, want string }{
		{"train/a.go", `"tgn"`, `names the model "tgn"`},
		{"cmd/dygmamba/a.go", "`tgn`", `names the model "tgn"`},
		{"train/a.go", `"dygmamba"`, ""},
		{"train/a.go", `"not tgn"`, ""},
		{"train/a_test.go", `"tgn"`, ""},
		{"internal/demo/a.go", `"tgn"`, ""},
		{"models/internal/jodie/a.go", `"tgn"`, ""},
	} {
		src := "package p\n\nvar x = " + tt.text + "\n"
		broken, err := Check(fstest.MapFS{Catalogue: {Data: []byte(list)}, tt.file: {Data: []byte(src)}})
		got := strings.Join(broken, "\n")
		if err != nil || tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s with %s: %q, %v, want %q", tt.file, tt.text, got, err, tt.want)
		}
	}
	names, err := catalogue(os.DirFS("../.."))
	if err != nil || len(names) < 7 {
		t.Errorf("the catalogue has %v, %v", names, err)
	}
}
