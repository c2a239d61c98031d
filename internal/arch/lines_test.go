package arch

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

func TestLinesAreShort(t *testing.T) {
	long, err := LongLines(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range long {
		t.Error(l)
	}
}

// Characters count, not bytes, and a tab is four of them.
func TestLongLinesNotices(t *testing.T) {
	full := strings.Repeat("é", Widest)
	for _, tt := range []struct{ file, text, want string }{
		{"a/a.go", full + "\n", ""},
		{"a/a.go", "x\r\n" + full + "\r\n", ""},
		{"a/a.go", "x\n" + full + "é", "a/a.go:2: a line of 121 columns; want at most 120"},
		{"a/a_test.go", "\t" + full[2*TabWidth:], ""},
		{"a/a_test.go", "\t" + full[2*(TabWidth-1):], "a/a_test.go:1: a line of 121 columns"},
		{"a/a_windows.go", full + "é", "121 columns"},
		{"a/testdata/a.go", full + "é", ""},
		{"a/a.s", full + "é", ""},
	} {
		found, err := LongLines(fstest.MapFS{tt.file: {Data: []byte(tt.text)}})
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(found, "\n")
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.file, got, tt.want)
		}
	}
}
