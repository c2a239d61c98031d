package checkpoint_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/internal/torchtest"
)

func loadTorch(t testing.TB, raw []byte) (checkpoint.File, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.pkl")
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	return checkpoint.LoadPyTorch(path)
}

func TestPyTorch(t *testing.T) {
	for _, legacy := range []bool{false, true} {
		w := &torchtest.File{Legacy: legacy}
		w.Dict(func() {
			w.Text("0.w")
			w.Float([]int{2, 3}, 1, -2, 3.5, 1e-45, float32(math.Inf(1)), 0)
			w.Text("1.b")
			w.Float([]int{}, 4)
			w.Text("0.turned") // of 0 … 5 in rows of three, the last two columns, transposed
			w.Tensor("FloatStorage", w.Store([]float32{0, 1, 2, 3, 4, 5}), 6, 1, []int{2, 2}, []int{1, 3})
			w.Text("0.shared")
			w.Tensor("FloatStorage", w.Keys[0], 6, 2, []int{1}, []int{1})
			w.Text("0.parameter")
			w.Op("ctorch._utils\n_rebuild_parameter\n", "(")
			w.Float([]int{1}, 7)
			w.Op("\x88", "ccollections\nOrderedDict\n)R", "tR")
		})
		got, err := loadTorch(t, w.Bytes())
		if err != nil {
			t.Fatalf("legacy %v: %v", legacy, err)
		}
		want := []checkpoint.Tensor{
			{Name: "0.w", Shape: []int{2, 3}, Data: []float32{1, -2, 3.5, 1e-45, float32(math.Inf(1)), 0}},
			{Name: "1.b", Shape: []int{}, Data: []float32{4}},
			{Name: "0.turned", Shape: []int{2, 2}, Data: []float32{1, 4, 2, 5}},
			{Name: "0.shared", Shape: []int{1}, Data: []float32{3.5}},
			{Name: "0.parameter", Shape: []int{1}, Data: []float32{7}},
		}
		if d := cmp.Diff(want, got.Tensors); d != "" {
			t.Errorf("legacy %v: %s", legacy, d)
		}
	}
}

func TestPyTorchFloatTypes(t *testing.T) {
	w := &torchtest.File{}
	w.Dict(func() {
		w.Text("double")
		w.Tensor("DoubleStorage", w.Store([]float64{1.5, -0.1}), 2, 0, []int{2}, []int{1})
		w.Text("half")
		w.Tensor("HalfStorage", w.Store([]uint16{0x3c00, 0xc000}), 2, 0, []int{2}, []int{1})
		w.Text("brain")
		w.Tensor("BFloat16Storage", w.Store([]uint16{0x3f80, 0xc000}), 2, 0, []int{2}, []int{1})
	})
	f, err := loadTorch(t, w.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]float32{{1.5, -0.1}, {1, -2}, {1, -2}} {
		if d := cmp.Diff(want, f.Tensors[i].Data); d != "" {
			t.Errorf("%s: %s", f.Tensors[i].Name, d)
		}
	}
}

// TestPyTorchRefuses: nothing but tensors is read, and nothing is ever run.
func TestPyTorchRefuses(t *testing.T) {
	with := func(value func(w *torchtest.File)) []byte {
		w := &torchtest.File{}
		w.Dict(func() { w.Text("0.x"); value(w) })
		return w.Bytes()
	}
	script := func(codes string) []byte {
		w := &torchtest.File{}
		w.Op(codes)
		return w.Bytes()
	}
	big := &torchtest.File{}
	big.Dict(func() { big.Text("x"); big.Float([]int{1}, 1) })
	large := big.Bytes()
	tests := []struct {
		name string
		raw  []byte
		is   error
		want string
	}{
		{"system", script("\x80\x02cos\nsystem\n(X\x04\x00\x00\x00exittR."), checkpoint.ErrForeignCode, `"os.system"`},
		{"eval", script("\x80\x04\x8c\x08builtins\x8c\x04eval\x93\x8c\x011\x85R."), checkpoint.ErrForeignCode,
			`"builtins.eval"`},
		{"instance", script("(ios\nsystem\n."), checkpoint.ErrForeignCode, `"os.system"`},
		{"whole model", with(func(w *torchtest.File) { w.Op("cmodels.DyGMamba\nDyGMamba\n)\x81}b") }),
			checkpoint.ErrForeignCode, "models.DyGMamba.DyGMamba"},
		{"extension", script("\x80\x02\x82\x01."), checkpoint.ErrCorrupt, "extension"},
		{"number", with(func(w *torchtest.File) { w.Op(7) }), nil, `entry "0.x" is the number 7, not a tensor`},
		{"nothing", with(func(w *torchtest.File) { w.Op("N") }), nil, `entry "0.x" is None`},
		{"nested", with(func(w *torchtest.File) { w.Op("}"); w.Text("a"); w.Op(1, "s") }), nil,
			"a dictionary of 1 entries, not a tensor"},
		{"list", script("]."), nil, "it holds a list"},
		{"empty", script("}."), nil, "its dictionary is empty"},
		{"integers", with(func(w *torchtest.File) {
			w.Tensor("LongStorage", w.Store([]int64{1}), 1, 0, []int{1}, []int{1})
		}), nil, "torch.LongStorage, want floats"},
		{"outside", with(func(w *torchtest.File) {
			w.Tensor("FloatStorage", w.Store([]float32{1}), 1, 0, []int{2}, []int{1})
		}), checkpoint.ErrCorrupt, "reach outside"},
		{"before", with(func(w *torchtest.File) {
			w.Tensor("FloatStorage", w.Store([]float32{1}), 1, -1, []int{1}, []int{1})
		}), checkpoint.ErrCorrupt, "reach outside"},
		{"endless", with(func(w *torchtest.File) {
			w.Tensor("FloatStorage", w.Store([]float32{1}), 1, 0, []int{1 << 20, 1 << 20, 1 << 20}, []int{0, 0, 0})
		}), checkpoint.ErrCorrupt, "more than the file can hold"},
		{"short entry", with(func(w *torchtest.File) {
			w.Tensor("FloatStorage", w.Store([]float32{1}), 2, 0, []int{2}, []int{1})
		}), checkpoint.ErrCorrupt, "has 4 bytes, want 8"},
		{"no entry", with(func(w *torchtest.File) { w.Tensor("FloatStorage", "9", 2, 0, []int{2}, []int{1}) }),
			checkpoint.ErrCorrupt, "no entry data/9"},
		{"overlapping entries", overlapping(), checkpoint.ErrCorrupt, "larger than the archive"},
		{"long number", script("\x80\x02L" + strings.Repeat("7", 1000) + "\n."), nil,
			"the number " + strings.Repeat("7", 40) + ", not a dictionary"},
		{"huge text", script("\x80\x04\x8d\x00\x00\x00\x00\x00\x01\x00\x00."), checkpoint.ErrCorrupt, "cut off"},
		{"huge frame", script("\x80\x04\x95\x00\x00\x00\x00\x00\x01\x00\x00."), checkpoint.ErrCorrupt, "cut off"},
		{"unknown opcode", script("\x80\x04\xff."), checkpoint.ErrCorrupt, "0xff"},
		{"odd items", script("}(Nu."), checkpoint.ErrCorrupt, "makes no sense"},
		{"other pickle", []byte("\x80\x03}q\x00X\x01\x00\x00\x00aK\x01s."), nil, "PyTorch did not write"},
		{"other zip", bytes.ReplaceAll(large, []byte("data.pkl"), []byte("some.txt")), checkpoint.ErrCorrupt,
			"without data.pkl"},
		{"script", bytes.ReplaceAll(large, []byte("model/version"), []byte("constants.pkl")), nil, "TorchScript"},
		{"cut", large[:len(large)-30], checkpoint.ErrCorrupt, "zip"},
		{"nothing at all", nil, checkpoint.ErrCorrupt, "want a zip archive or a pickle"},
		{"text", []byte("epoch,loss\n"), checkpoint.ErrCorrupt, "want a zip archive or a pickle"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := loadTorch(t, tt.raw)
			if err == nil || !strings.Contains(err.Error(), tt.want) || tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("got %v, want one with %q", err, tt.want)
			}
		})
	}
	if _, err := checkpoint.LoadPyTorch(filepath.Join(t.TempDir(), "none.pkl")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file gave %v", err)
	}
}

// overlapping is an archive whose directory names the same bytes fifty times.
func overlapping() []byte {
	w := &torchtest.File{}
	first := w.Store(make([]float32, 1000))
	key := func(i int) string { return fmt.Sprint(100 + i) }
	w.Dict(func() {
		for i := range 50 {
			w.Text("x" + key(i))
			w.Tensor("FloatStorage", key(i), 1000, 0, []int{1}, []int{1})
		}
	})
	raw := w.Bytes()
	end := raw[len(raw)-22:] // counts at 8 and 10, then size and place of the directory
	size, at := binary.LittleEndian.Uint32(end[12:]), binary.LittleEndian.Uint32(end[16:])
	directory := slices.Clone(raw[at : at+size])
	name := "model/data/" + first
	begin := bytes.Index(directory, []byte(name)) - 46
	entry := directory[begin : begin+46+len(name)]
	for i := range 49 {
		directory = append(directory, bytes.ReplaceAll(entry, []byte(name), []byte("model/data/"+key(1+i)))...)
	}
	count := binary.LittleEndian.Uint16(end[10:]) + 49
	end = slices.Clone(end)
	binary.LittleEndian.PutUint16(end[8:], count)
	binary.LittleEndian.PutUint16(end[10:], count)
	binary.LittleEndian.PutUint32(end[12:], uint32(len(directory)))
	return slices.Concat(raw[:at], directory, end)
}

// TestPyTorchCut reads every beginning of two files: all are refused, none crashes.
func TestPyTorchCut(t *testing.T) {
	for _, legacy := range []bool{false, true} {
		w := &torchtest.File{Legacy: legacy}
		w.Dict(func() { w.Text("0.w"); w.Float([]int{2}, 1, 2) })
		raw := w.Bytes()
		if _, err := loadTorch(t, raw); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "cut.pkl")
		for n := range raw {
			if err := os.WriteFile(path, raw[:n], 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := checkpoint.LoadPyTorch(path); err == nil {
				t.Errorf("legacy %v: the first %d of %d bytes were read without complaint", legacy, n, len(raw))
			}
		}
	}
}

func TestIsPyTorch(t *testing.T) {
	dir := t.TempDir()
	w := &torchtest.File{Legacy: true}
	w.Dict(func() { w.Text("0.w"); w.Float([]int{1}, 1) })
	z := &torchtest.File{}
	z.Dict(func() { z.Text("0.w"); z.Float([]int{1}, 1) })
	var ours bytes.Buffer
	if err := checkpoint.Write(&ours, sample()); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		raw  []byte
		want bool
	}{
		"zip":               {z.Bytes(), true},
		"legacy":            {w.Bytes(), true},
		"ours":              {ours.Bytes(), false},
		"unlucky header":    {[]byte("\x80\x02\x00\x00\x00\x00\x00\x00{}"), false},
		"nothing":           {nil, false},
		"a pickle's begin":  {[]byte("\x80\x02"), true},
		"something else":    {[]byte("u,i,ts\n1,2,3\n"), false},
		"protocol 4 framed": {[]byte("\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8a"), true},
	}
	for name, tt := range tests {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, tt.raw, 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := checkpoint.IsPyTorch(path); got != tt.want || err != nil {
			t.Errorf("%s: %v, %v, want %v", name, got, err, tt.want)
		}
	}
}

// FuzzPyTorch: no file crashes the reader.
func FuzzPyTorch(f *testing.F) {
	for _, legacy := range []bool{false, true} {
		w := &torchtest.File{Legacy: legacy}
		w.Dict(func() { w.Text("0.w"); w.Float([]int{2, 1}, 1, 2) })
		f.Add(w.Bytes())
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := loadTorch(t, raw)
		if err == nil && len(got.Tensors) == 0 {
			t.Error("neither tensors nor an error")
		}
	})
}
