package arch

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestFewPublicPackages(t *testing.T) {
	found, err := PublicPackages(os.DirFS("../.."))
	if err != nil || len(found) > MostPackages {
		t.Errorf("%d public packages, want at most %d (%v):\n  %s", len(found), MostPackages, err,
			strings.Join(found, "\n  "))
	}
}

func TestFewRootExports(t *testing.T) {
	found, err := RootExports(os.DirFS("../.."))
	if err != nil || len(found) > MostExports {
		t.Errorf("the root package exports %d names, want at most %d (%v):\n  %s", len(found), MostExports, err,
			strings.Join(found, "\n  "))
	}
}

func TestFunctionsAreShort(t *testing.T) {
	broken, err := TooLong(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range broken {
		t.Error(b)
	}
}

func TestReadmeIsShort(t *testing.T) {
	if n, err := lines(os.DirFS("../.."), "README.md"); err != nil || n > LongestStart {
		t.Errorf("README.md has %d lines, want at most %d (%v)", n, LongestStart, err)
	}
}

// A guard that cannot fail guards nothing.
func TestSizeNotices(t *testing.T) {
	root := "package p\n\nconst (\n\tA = 1\n\tb = 2\n)\n\nvar C, D int\n\ntype T[K any] struct{ Field int }\n\n" +
		"func (t *T[K]) Method() {}\n\nfunc (t T[K]) hidden() {}\n\ntype small int\n\nfunc (small) Loud() {}\n" +
		"\nfunc F() {}\n"
	long := "package p\n\nfunc (x *X) Run() {\n" + strings.Repeat("\t_ = 1\n", LongestFunc-2) + "}\n"
	longer := strings.Replace(long, "}\n", "\t_ = 1\n}\n", 1)
	tree := fstest.MapFS{
		"a.go": {Data: []byte(root)}, "a_test.go": {Data: []byte("package p\n\nfunc TestX() {}\n")},
		"x/a.go": {Data: []byte(long)}, "x/internal/y/a.go": {Data: []byte(longer)},
		"internal/z/a_test.go": {Data: []byte(longer)}, "v/only_test.go": {Data: []byte("package v\n")},
	}
	if got, err := PublicPackages(tree); err != nil || !slices.Equal(got, []string{".", "x"}) {
		t.Errorf("public packages %v, %v", got, err)
	}
	want := []string{"A", "C", "D", "F", "T", "T.Method"}
	if got, err := RootExports(tree); err != nil || !slices.Equal(got, want) {
		t.Errorf("exports %v, %v, want %v", got, err, want)
	}
	defer func(was map[string]string) { LongFunctions = was }(LongFunctions)
	LongFunctions = map[string]string{"x.X.Run": "a table"}
	got, err := TooLong(tree)
	if err != nil || len(got) != 2 || !strings.Contains(got[0], "remove it") ||
		!strings.Contains(got[1], "x/internal/y.X.Run has 81 lines") {
		t.Errorf("got %q, %v", got, err)
	}
}
