// Package inputtest answers: what do tests of readers need?
package inputtest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
)

// Write puts files into a new directory and returns it.
func Write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Gzip is the text, packed.
func Gzip(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(text))
	w.Close()
	return b.String()
}

// CheckError requires that an error, if there is one, is a complaint about the input.
func CheckError(t testing.TB, err error) {
	t.Helper()
	var in *input.Error
	if err != nil && !errors.As(err, &in) {
		t.Fatalf("%T: %v", err, err)
	}
}

// CheckProblems compares the lines of an error, without the directory.
func CheckProblems(t testing.TB, dir string, err error, want []string) {
	t.Helper()
	var got []string
	if err != nil {
		got = strings.Split(strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), ""), "\n")
		var bad *input.Error
		if !errors.As(err, &bad) {
			t.Errorf("%T is no complaint about the input", err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
