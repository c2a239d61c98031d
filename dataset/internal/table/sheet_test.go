package table

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
)

// readSheet reads a table and lists its rows, as its lines and values.
func readSheet(t *testing.T, path, text string, o Options) (*Sheet, []string, error) {
	t.Helper()
	if path == "" {
		path = "-"
	}
	s, err := ReadSheet(t.Context(), path, strings.NewReader(text), Pairs, o)
	var rows []string
	for i := 0; s != nil && i < len(s.Rows); i++ {
		rows = append(rows, fmt.Sprintf("%d/%d %q", s.Places[i].Line, s.Places[i].Row, s.Rows[i]))
	}
	return s, rows, err
}

func TestSheetOfParquet(t *testing.T) {
	type record struct {
		Amount float32   `parquet:"amount"`
		Who    string    `parquet:"who"`
		When   time.Time `parquet:"when,timestamp(millisecond)"`
		What   uint64    `parquet:"what"`
		Tags   []string  `parquet:"tags"`
		Note   *string   `parquet:"note,optional"`
		Paid   bool      `parquet:"paid"`
		Day    int32     `parquet:"day,date"`
	}
	note := "a, b"
	at := time.Date(2024, 5, 1, 12, 0, 0, 250e6, time.UTC)
	path := filepath.Join(t.TempDir(), "q.parquet")
	if err := parquet.WriteFile(path, []record{
		{0.1, "ada", at, 1<<64 - 1, []string{"x", "y"}, &note, true, 19844}, {-3, "bob", at.Add(time.Hour), 7, nil, nil,
			false, 0},
	}); err != nil {
		t.Fatal(err)
	}
	o := Options{Source: "who", Target: "what", Time: "when"}
	s, rows, err := readSheet(t, path, "", o)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"amount", "who", "when", "what", "note", "paid", "day"}; !slices.Equal(s.Columns, want) ||
		s.At != [3]int{1, 3, 2} {
		t.Errorf("columns %v, at %v, want %v", s.Columns, s.At, want)
	}
	want := []string{
		`0/1 ["0.1" "ada" "2024-05-01T12:00:00.25Z" "18446744073709551615" "a, b" "true" "2024-05-01T00:00:00Z"]`,
		`0/2 ["-3" "bob" "2024-05-01T13:00:00.25Z" "7" "" "false" "1970-01-01T00:00:00Z"]`,
	}
	if !slices.Equal(rows, want) {
		t.Errorf("rows\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
	o.Source = "tags"
	if _, _, err := readSheet(t, path, "", o); err == nil || !strings.Contains(err.Error(), "a nested column") {
		t.Errorf("a list as source: %v", err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := 4; cut < len(raw); cut += 97 {
		if err := os.WriteFile(path, raw[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		var bad *input.Error
		if _, _, err := readSheet(t, path, "", Options{}); !errors.As(err, &bad) {
			t.Fatalf("cut to %d bytes: %v", cut, err)
		}
	}
}

// Members that come later are columns too; whatever is no single value stays as it is written.
func TestSheetOfJSONLines(t *testing.T) {
	s, rows, err := readSheet(t, "",
		"\n"+`{"u":"a","i":2,"ts":1.50}`+"\n\n"+
			`{"tag":[1, 2],"u":"b\nc","ts":"2024-05-01","i":null,"x":{"y":"z"}}`+"\n"+
			`{"x":true,"u":"d","i":"e","ts":1}`+"\n", Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`2/1 ["a" "2" "1.50"]`, `4/2 ["b\nc" "" "2024-05-01" "[1, 2]" "{\"y\":\"z\"}"]`,
		`5/3 ["d" "e" "1" "" "true"]`}
	if !slices.Equal(rows, want) || !slices.Equal(s.Columns, []string{"u", "i", "ts", "tag", "x"}) {
		t.Errorf("columns %v, rows\n%s\nwant\n%s", s.Columns, strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
}

// Rows are numbered as in the file, however many blocks it has, and what is wrong with them is all said.
func TestSheetCounts(t *testing.T) {
	var b strings.Builder
	b.WriteString("u,i,ts,note\n")
	const n = 40000
	for i := range n {
		if i == 30000 {
			b.WriteString("short\n\n")
			continue
		}
		fmt.Fprintf(&b, "u%d,v,%d,\"two\nlines\"\n", i, i)
	}
	_, rows, err := readSheet(t, "", b.String(), Options{})
	if len(rows) != n-1 || rows[30000] != fmt.Sprintf(`%d/%d ["u30001" "v" "30001" "two\nlines"]`, 2*30000+4, 30002) {
		t.Errorf("%d rows, %s", len(rows), rows[30000])
	}
	want := "standard input: line 60002 (row 30001): found 1 columns; want 4, as in the first line"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = ReadSheet(ctx, "-", strings.NewReader(b.String()), Pairs, Options{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
