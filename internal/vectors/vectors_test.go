package vectors

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/dygmamba/dygmamba/internal/npy"
)

var rows = []Row{
	{Node: "ada", ID: 1, Side: "source", Time: 1714637000.25, Date: "2024-05-02T08:03:20.25Z", Partner: "tea",
		Vector: []float32{1, -2.5}},
	{Node: "bob, the \"second\"", ID: 7, Time: 3, Partner: "ü", Vector: []float32{0, 1e-30}},
}

func TestParquet(t *testing.T) {
	var b [2]bytes.Buffer
	for i := range b {
		w := Parquet(&b[i])
		for _, r := range rows {
			if err := w.Write([]Row{r}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(b[0].Bytes(), b[1].Bytes()) {
		t.Error("the same rows gave other bytes")
	}
	got, err := parquet.Read[parquetRow](bytes.NewReader(b[0].Bytes()), int64(b[0].Len()))
	if err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	for i, r := range rows {
		g := got[i]
		if g.Node != r.Node || g.ID != r.ID || g.Time != r.Time || g.Partner != r.Partner ||
			!slices.Equal(g.Embedding, r.Vector) {
			t.Errorf("row %d is %+v, want %+v", i, g, r)
		}
	}
	if *got[0].Side != "source" || *got[0].Date != 1714637000250000 || got[1].Side != nil || got[1].Date != nil {
		t.Errorf("sides and dates are %+v", got)
	}
	schema := parquet.SchemaOf(parquetRow{}).String()
	for _, want := range []string{"group embedding (LIST)",
		"optional int64 date (TIMESTAMP(isAdjustedToUTC=true,unit=MICROS))"} {
		if !strings.Contains(schema, want) {
			t.Errorf("no %q in\n%s", want, schema)
		}
	}
}

func TestNPY(t *testing.T) {
	var matrix, names bytes.Buffer
	w, err := NPY(&matrix, &names, 2, 2)
	if err == nil {
		err = w.Write(rows)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	h, err := npy.ReadHeader(&matrix)
	values := make([]float32, 4)
	if err == nil {
		err = binary.Read(&matrix, binary.LittleEndian, values)
	}
	if err != nil || h != (npy.Header{Rows: 2, Cols: 2, Size: 4}) || matrix.Len() != 0 || !slices.Equal(values,
		[]float32{1, -2.5, 0, 1e-30}) {
		t.Errorf("header %+v, values %v, %d bytes left, %v", h, values, matrix.Len(), err)
	}
	const want = "row,node,id,side,time,partner\n0,ada,1,source,2024-05-02T08:03:20.25Z,tea\n1,\"bob, the " +
		"\"\"second\"\"\",7,,3,ü\n"
	if names.String() != want {
		t.Errorf("got\n%s, want\n%s", names.String(), want)
	}
}

// A matrix has as many rows as its header says, or there is an error.
func TestNPYCounts(t *testing.T) {
	var matrix, names bytes.Buffer
	for _, tt := range []struct{ rows, cols int }{{1, 2}, {3, 2}, {2, 3}} {
		w, err := NPY(&matrix, &names, tt.rows, tt.cols)
		if err != nil {
			t.Fatal(err)
		}
		if err = w.Write(rows); err == nil {
			err = w.Close()
		}
		if err == nil {
			t.Errorf("two rows of two numbers were taken for %d of %d", tt.rows, tt.cols)
		}
	}
}
