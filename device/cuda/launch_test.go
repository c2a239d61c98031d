//go:build linux && !nogpu

package cuda

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestKernelNames: every kernel that is launched has a source, and every source is launched.
func TestKernelNames(t *testing.T) {
	var have []string
	for _, m := range kernelName.FindAllStringSubmatch(source(), -1) {
		have = append(have, m[1])
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	want := append(slices.Clone(scanForms), scanGradForms...)
	launched := regexp.MustCompile(`(?:d\.(?:over|warps|columns|grid)\(|form :?= )"(\w+)"`)
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range launched.FindAllSubmatch(text, -1) {
			want = append(want, string(m[1]))
		}
	}
	slices.Sort(have)
	slices.Sort(want)
	if want = slices.Compact(want); !slices.Equal(have, want) {
		t.Errorf("the sources have %v, launched are %v", have, want)
	}
}
