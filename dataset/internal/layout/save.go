package layout

import (
	"encoding/binary"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/internal/atomicfile"
	"github.com/dygmamba/dygmamba/internal/npy"
)

// Save writes the set as ml_NAME.csv, ml_NAME.npy and ml_NAME_node.npy in dir, which is made if need be. Names of nodes
// are not kept in this layout. Each file appears whole or not at all, the csv last.
func Save(dir string, s *data.Set) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	base := filepath.Join(dir, "ml_"+s.Name)
	if err := atomicfile.Write(base+".npy", func(w io.Writer) error { return writeNPY(w, s.Edge, 1) }); err != nil {
		return err
	}
	nodes := func(w io.Writer) error { return writeNPY(w, s.Node, 172) }
	if err := atomicfile.Write(base+"_node.npy", nodes); err != nil {
		return err
	}
	return atomicfile.Write(base+".csv", func(w io.Writer) error { return writeTable(w, s) })
}

// writeTable writes the csv; times and labels so that they are read back exactly.
func writeTable(w io.Writer, s *data.Set) error {
	if _, err := io.WriteString(w, ",u,i,ts,label,idx\n"); err != nil {
		return err
	}
	var line []byte
	for i := range s.Log.Len() {
		e := s.Log.At(i)
		line = strconv.AppendInt(line[:0], int64(i), 10)
		line = strconv.AppendInt(append(line, ','), int64(e.Src), 10)
		line = strconv.AppendInt(append(line, ','), int64(e.Dst), 10)
		line = appendFloat(append(line, ','), e.Time, 64)
		line = appendFloat(append(line, ','), float64(e.Label), 32)
		line = strconv.AppendInt(append(line, ','), int64(e.Edge), 10)
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// appendFloat writes a number with a decimal point, as the public files do.
func appendFloat(b []byte, v float64, bits int) []byte {
	n := len(b)
	b = strconv.AppendFloat(b, v, 'f', -1, bits)
	for _, c := range b[n:] {
		if c == '.' {
			return b
		}
	}
	return append(b, ".0"...)
}

// writeNPY writes a matrix as float64, as the public files are. One without columns gets cols of zeros.
func writeNPY(w io.Writer, f data.Features, cols int) error {
	if f.Cols > 0 {
		cols = f.Cols
	}
	if err := npy.WriteHeader(w, npy.Header{Rows: f.Rows, Cols: cols, Size: 8}); err != nil {
		return err
	}
	row := make([]byte, 8*cols)
	for i := range f.Rows {
		for j, v := range f.Row(i) {
			binary.LittleEndian.PutUint64(row[8*j:], math.Float64bits(float64(v)))
		}
		if _, err := w.Write(row); err != nil {
			return err
		}
	}
	return nil
}
