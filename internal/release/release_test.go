package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// An archive depends on the content of its files alone: not on their times, and not on where they are.
func TestArchivesAreReproducible(t *testing.T) {
	at := time.Unix(1_700_000_000, 0).UTC()
	for _, ending := range []string{".tar.gz", ".zip"} {
		var archives [2]bytes.Buffer
		for i := range archives {
			dir := t.TempDir()
			program := filepath.Join(dir, "dygmamba")
			if err := os.WriteFile(program, []byte("program"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(program, at, at.Add(time.Duration(i)*time.Hour)); err != nil {
				t.Fatal(err)
			}
			if err := pack(&archives[i], ending, "dygmamba_v1", at, []packed{{program, 0o755}}); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(archives[0].Bytes(), archives[1].Bytes()) || archives[0].Len() == 0 {
			t.Errorf("%s: two archives of the same file differ", ending)
		}
	}
}

func TestSums(t *testing.T) {
	r := release{out: t.TempDir()}
	for _, name := range []string{"b", "a"} {
		if err := os.WriteFile(filepath.Join(r.out, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.sums([]string{"b", "a"}); err != nil {
		t.Fatal(err)
	}
	const x = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
	got, err := os.ReadFile(filepath.Join(r.out, "SHA256SUMS"))
	if want := x + "  a\n" + x + "  b\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// The SBOM names every module of a build, the one that stands in for another, and the standard library.
func TestMaterials(t *testing.T) {
	info := &debug.BuildInfo{GoVersion: "go1.26.0", Deps: []*debug.Module{
		{Path: "example.com/a", Version: "v1.2.3", Sum: "h1:abc="},
		{Path: "example.com/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/c", Version: "v2.0.0"}},
	}}
	b := materials(library("example.com/main", "v9", ""), info, time.Unix(0, 0).UTC())
	var names []string
	for _, c := range b.Components {
		names = append(names, c.PURL)
	}
	want := "pkg:golang/std@1.26.0 pkg:golang/example.com/a@v1.2.3 pkg:golang/example.com/c@v2.0.0"
	if got := strings.Join(names, " "); got != want || strings.Join(b.Depends[0].On, " ") != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if b.Components[1].Properties[0].Value != "h1:abc=" || b.Metadata.Timestamp != "1970-01-01T00:00:00Z" {
		t.Errorf("got %+v", b)
	}
}
