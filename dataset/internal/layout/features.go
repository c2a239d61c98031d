package layout

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/internal/atomicfile"
	"github.com/dygmamba/dygmamba/internal/npy"
)

func firstRows(f *data.Features, rows int) {
	f.Rows = rows
	if f.Data != nil {
		f.Data = f.Data[:rows*f.Cols]
	}
}

// readFeatures reads an .npy matrix, gzip or not, none from "". It holds no more than the values read so far, and none
// while those are zero.
func readFeatures(path string) (data.Features, error) {
	if path == "" {
		return data.Features{}, nil
	}
	in, err := input.Open(path)
	if err != nil {
		return data.Features{}, err
	}
	defer in.Close()
	return matrixIn(in)
}

func matrixIn(in *input.File) (data.Features, error) {
	const want = "a NumPy .npy file"
	if kind := in.Kind(); kind != "" && kind != want {
		return data.Features{}, input.FileError(in.Path, kind, want)
	}
	h, err := npy.ReadHeader(in)
	var bad *npy.Error
	if errors.As(err, &bad) {
		return data.Features{}, input.FileError(in.Path, bad.Found, bad.Want)
	} else if err != nil {
		return data.Features{}, err
	}
	m := matrix{path: in.Path, Features: data.Features{Rows: h.Rows, Cols: h.Cols}}
	if values := h.Rows * h.Cols; int64(values) <= in.Size*gzipRatio/int64(h.Size) {
		m.values = values
	}
	total := int64(h.Rows) * int64(h.Cols) * int64(h.Size)
	buf := make([]byte, len(zeros))
	for left := total; left > 0; {
		n, err := io.ReadFull(in, buf[:min(int64(len(buf)), left)])
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			return data.Features{}, input.FileError(in.Path,
				fmt.Sprintf("the end of the file after %d bytes of values", total-left+int64(n)),
				fmt.Sprintf("%d bytes, for shape (%d, %d) and %d bytes a value", total, h.Rows, h.Cols, h.Size))
		} else if err != nil {
			return data.Features{}, err
		}
		if err := m.add(buf[:n], h.Size); err != nil {
			return data.Features{}, err
		}
		left -= int64(n)
	}
	if n, err := io.ReadFull(in, buf[:1]); n > 0 { // also reads the checksum of a gzip file
		return data.Features{}, input.FileError(in.Path, "more bytes after the last value",
			fmt.Sprintf("%d bytes of values, for shape (%d, %d)", total, h.Rows, h.Cols))
	} else if err != io.EOF {
		return data.Features{}, err
	}
	return m.Features, nil
}

// zeros are as many as are read at once.
var zeros [256 << 10]byte

// gzipRatio is more than gzip can shrink anything by.
const gzipRatio = 1100

// matrix collects the values of a Features; Data stays nil until one is not zero.
type matrix struct {
	path string
	data.Features
	seen   int // values so far
	values int // how many there will be, as far as the header can be believed
}

func (m *matrix) add(b []byte, size int) error {
	n := len(b) / size
	defer func() { m.seen += n }()
	if m.Data == nil {
		if bytes.Equal(b, zeros[:len(b)]) {
			return nil
		}
		m.Data = make([]float32, m.seen, max(m.values, m.seen+n))
	}
	for i := range n {
		var v float32
		if size == 8 {
			d := math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
			if v = float32(d); !input.Finite(float64(v)) {
				return m.notFinite(i, d)
			}
		} else if v = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])); !input.Finite(float64(v)) {
			return m.notFinite(i, float64(v))
		}
		m.Data = append(m.Data, v)
	}
	return nil
}

// addFloats takes the next values themselves. They are finite.
func (m *matrix) addFloats(values []float32) {
	if m.Data == nil && slices.ContainsFunc(values, func(v float32) bool { return math.Float32bits(v) != 0 }) {
		m.Data = make([]float32, m.seen, m.seen+len(values))
	}
	if m.Data != nil {
		m.Data = append(m.Data, values...)
	}
	m.seen += len(values)
}

func (m *matrix) notFinite(i int, v float64) error {
	at := m.seen + i
	return &input.Error{File: m.path, Row: at / m.Cols, Column: strconv.Itoa(at % m.Cols),
		Found: strconv.FormatFloat(v, 'g', -1, 64), Want: input.WantFloat32}
}

// Save writes the set as three files; see dataset.SaveDyGLib.
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
	if b = strconv.AppendFloat(b, v, 'f', -1, bits); bytes.IndexByte(b[n:], '.') < 0 {
		b = append(b, ".0"...)
	}
	return b
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
