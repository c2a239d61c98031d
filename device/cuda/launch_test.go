//go:build linux && !nogpu

package cuda

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestKernelNames: every kernel that is launched has a source, and every source is launched.
func TestKernelNames(t *testing.T) {
	have := slices.Collect(maps.Keys(declared(source())))
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	want := append(slices.Clone(scanForms), scanGradForms...)
	launched := regexp.MustCompile(`(?:d\.(?:over|pointwise|warps|columns|grid)\(|form :?= )"(\w+)"`)
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

// TestDeclaredKernels: what a kernel writes is what its declaration does not call const.
func TestDeclaredKernels(t *testing.T) {
	k := declared(source())
	for name, want := range map[string][]param{
		"bias_act":   {value, writes, value, reads, writes, value, value, value, reads, value, value, value, value},
		"scan_euler": {value},
		"bucket":     append([]param{writes, writes, reads}, make([]param, 9)...),
	} {
		if got := k[name].params; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
