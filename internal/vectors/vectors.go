// Package vectors answers: how do embeddings reach other programs? As one Parquet file, or as a NumPy matrix with a
// table that says what its rows are.
package vectors

import (
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/dygmamba/dygmamba/internal/npy"
)

// Row is one embedding and what it is of.
type Row struct {
	Node    string // as people call it
	ID      int32
	Side    string // source or destination, where these are named apart; otherwise ""
	Time    float64
	Date    string // the time where it is a date, RFC 3339; otherwise ""
	Partner string // whom it is seen with
	Vector  []float32
}

// Writer takes rows in order. Close ends what was written.
type Writer interface {
	Write(rows []Row) error
	Close() error
}

type parquetRow struct {
	Node      string    `parquet:"node"`
	ID        int32     `parquet:"id"`
	Side      *string   `parquet:"side,optional"`
	Time      float64   `parquet:"time"`
	Date      *int64    `parquet:"date,optional,timestamp(microsecond)"`
	Partner   string    `parquet:"partner"`
	Embedding []float32 `parquet:"embedding,list"`
}

type parquetWriter struct {
	to *parquet.GenericWriter[parquetRow]
}

// Parquet writes a Parquet file.
func Parquet(w io.Writer) Writer {
	return &parquetWriter{parquet.NewGenericWriter[parquetRow](w, parquet.Compression(&parquet.Zstd))}
}

func (w *parquetWriter) Write(rows []Row) error {
	list := make([]parquetRow, len(rows))
	for i, r := range rows {
		list[i] = parquetRow{Node: r.Node, ID: r.ID, Time: r.Time, Partner: r.Partner, Embedding: r.Vector}
		if r.Side != "" {
			list[i].Side = &r.Side
		}
		if r.Date != "" {
			micros := int64(math.Round(r.Time * 1e6))
			list[i].Date = &micros
		}
	}
	_, err := w.to.Write(list)
	return err
}

func (w *parquetWriter) Close() error { return w.to.Close() }

type npyWriter struct {
	matrix     io.Writer
	names      *csv.Writer
	rows, cols int
	done       int
	buf        []byte
}

// NPY writes a matrix of 32-bit floats with this many rows and columns, and a CSV that says what they are: row, node,
// id, side, time and partner.
func NPY(matrix, names io.Writer, rows, cols int) (Writer, error) {
	w := &npyWriter{matrix: matrix, names: csv.NewWriter(names), rows: rows, cols: cols}
	if err := npy.WriteHeader(matrix, npy.Header{Rows: rows, Cols: cols, Size: 4}); err != nil {
		return nil, err
	}
	return w, w.names.Write([]string{"row", "node", "id", "side", "time", "partner"})
}

func (w *npyWriter) Write(rows []Row) error {
	for _, r := range rows {
		if len(r.Vector) != w.cols || w.done == w.rows {
			return fmt.Errorf("row %d has %d numbers, want %d rows of %d", w.done, len(r.Vector), w.rows, w.cols)
		}
		w.buf = w.buf[:0]
		for _, x := range r.Vector {
			w.buf = binary.LittleEndian.AppendUint32(w.buf, math.Float32bits(x))
		}
		if _, err := w.matrix.Write(w.buf); err != nil {
			return err
		}
		at := r.Date
		if at == "" {
			at = strconv.FormatFloat(r.Time, 'f', -1, 64)
		}
		line := []string{strconv.Itoa(w.done), r.Node, strconv.Itoa(int(r.ID)), r.Side, at, r.Partner}
		if err := w.names.Write(line); err != nil {
			return err
		}
		w.done++
	}
	return nil
}

func (w *npyWriter) Close() error {
	if w.done < w.rows {
		return fmt.Errorf("%d rows of %d are missing", w.rows-w.done, w.rows)
	}
	w.names.Flush()
	return w.names.Error()
}
