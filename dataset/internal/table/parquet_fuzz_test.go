package table

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/dygmamba/dygmamba/dataset/internal/input/inputtest"
)

// FuzzImportParquet feeds damaged files: whatever they hold, the answer is a table or a complaint about the input.
func FuzzImportParquet(f *testing.F) {
	type row struct {
		Src  string  `parquet:"src"`
		Dst  int64   `parquet:"dst"`
		Time float64 `parquet:"ts"`
	}
	var good bytes.Buffer
	if err := parquet.Write(&good, []row{{"a", 1, 1}, {"b", 2, 2.5}, {"a", 2, 3}}); err != nil {
		f.Fatal(err)
	}
	f.Add(good.Bytes())
	f.Add(good.Bytes()[:good.Len()/2])
	f.Add([]byte("PAR1PAR1"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		path := filepath.Join(t.TempDir(), "a.parquet")
		if err := os.WriteFile(path, raw, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Import(t.Context(), []string{path}, "", Options{})
		inputtest.CheckError(t, err)
	})
}

// A file with one bit of its footer changed has as many events as before, or is refused.
func TestParquetDamagedFooter(t *testing.T) {
	type row struct {
		Src, Dst string
		Time     float64
	}
	var b bytes.Buffer
	if err := parquet.Write(&b, []row{{"a", "b", 1}, {"b", "c", 2}, {"c", "d", 3}}); err != nil {
		t.Fatal(err)
	}
	good := b.Bytes()
	path := filepath.Join(t.TempDir(), "a.parquet")
	size := int(binary.LittleEndian.Uint32(good[len(good)-8:]))
	for i := len(good) - 8 - size; i < len(good)-8; i++ {
		raw := bytes.Clone(good)
		raw[i] ^= 2 // changes a count by one
		if err := os.WriteFile(path, raw, 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := Import(t.Context(), []string{path}, "", Options{})
		inputtest.CheckError(t, err)
		if err == nil && r.Events != 3 {
			t.Errorf("byte %d of %d: %d events, want 3", i, len(good), r.Events)
		}
	}
}
