package table

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/dataset/internal/native"
)

func TestImportParquet(t *testing.T) {
	type record struct {
		User  string    `parquet:"user"`
		Item  int64     `parquet:"item"`
		When  int64     `parquet:"when,timestamp(millisecond)"`
		Label bool      `parquet:"label"`
		Vec   []float32 `parquet:"vec,list"`
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a.parquet")
	var rows []record
	for i := range 20000 {
		rows = append(rows, record{fmt.Sprint("u", i%7), int64(i % 5), int64(1_700_000_000_123 - 1000*i), i == 3,
			[]float32{float32(i), 0.5}})
	}
	if err := parquet.WriteFile(path, rows, parquet.MaxRowsPerRowGroup(3000)); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out.dgm")
	r, err := Import(t.Context(), []string{path}, out, Options{Time: "when", EdgeFeatures: []string{"vec"}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := native.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	lines := show(s)
	if r.Events != 20000 || r.Nodes != 12 || r.TimeFormat != input.TimeDate || r.EdgeFeatures != 2 || r.Sorted {
		t.Errorf("%+v", r)
	}
	last := lines[19999]
	if !strings.HasPrefix(last, "u0→0 @2023-11-14T22:13:20.12") || !strings.HasSuffix(last, "[0 0.5] edge 1") {
		t.Errorf("%s, want %s", last, "u0→0 @2023-11-14T22:13:20.123Z [0 0.5] edge 1")
	}
	if !slices.ContainsFunc(lines, func(l string) bool {
		return strings.HasPrefix(l, "u3→3") && strings.HasSuffix(l, "label 1 [3 0.5] edge 4")
	}) {
		t.Error("row 4 is not as written")
	}
	if _, err := Import(t.Context(), []string{path}, out, Options{Time: "vec"}); err == nil ||
		!strings.Contains(err.Error(), "column vec: found a nested column; want single values") {
		t.Error(err)
	}
}

// importedParquet writes rows as Parquet, imports them and opens the result.
func importedParquet[T any](t *testing.T, rows []T, o Options) (*data.Set, error) {
	t.Helper()
	var b bytes.Buffer
	if err := parquet.Write(&b, rows); err != nil {
		t.Fatal(err)
	}
	s, _, err := imported(t, "a.parquet", b.String(), o)
	return s, err
}

// Hashes are often kept as unsigned numbers; they look the same afterwards. So do times and features beyond the signed
// ones.
func TestImportParquetUnsigned(t *testing.T) {
	type record struct {
		Src uint64 `parquet:"src"`
		Dst uint32 `parquet:"dst"`
		T   uint32 `parquet:"t"`
		F   uint64 `parquet:"f"`
	}
	s, err := importedParquet(t, []record{{18446744073709551615, 7, 4294967295, 1 << 63}, {7, 4294967295, 1, 1}},
		Options{EdgeFeatures: []string{"f"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"7→4294967295 @1 [1] edge 2", "18446744073709551615→7 @4294967295 [9.223372e+18] edge 1"}
	if diff := cmp.Diff(want, show(s)); diff != "" {
		t.Error(diff)
	}
}

// The number stored for a decimal is not the one meant.
func TestImportParquetDecimal(t *testing.T) {
	type record struct {
		Src, Dst string
		Time     int64
		F        int64 `parquet:"F,decimal(2:12)"`
	}
	_, err := importedParquet(t, []record{{"a", "b", 1, 1234}}, Options{EdgeFeatures: []string{"F"}})
	if err == nil || !strings.HasSuffix(err.Error(),
		"a.parquet, column F: found decimals; want whole or floating-point numbers: cast the column") {
		t.Error(err)
	}
}

func TestImportParquetFloatIDs(t *testing.T) {
	type record struct {
		Src, Dst string
		Time     float64
		User     float64
	}
	_, err := importedParquet(t, []record{{"a", "b", 1, 7}}, Options{Source: "User"})
	if err == nil || !strings.HasSuffix(err.Error(), "column User: found 7 as a floating-point number; "+
		"want a node's name, as text or a whole number: cast the column") {
		t.Error(err)
	}
}

func TestImportParquetUUID(t *testing.T) {
	type record struct {
		Src [16]byte `parquet:"src,uuid"`
		Dst string   `parquet:"dst"`
		T   float64  `parquet:"t"`
	}
	s, err := importedParquet(t, []record{{[16]byte([]byte("ABCDEFGHIJKLMNOP")), "b", 1}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"41424344-4546-4748-494a-4b4c4d4e4f50→b @1 edge 1"}, show(s)); diff != "" {
		t.Error(diff)
	}
}
