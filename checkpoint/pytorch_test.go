package checkpoint_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dygmamba/dygmamba/checkpoint"
)

// torch writes what torch.save writes: a pickle, and storages beside it.
type torch struct {
	pickle bytes.Buffer
	keys   []string
	data   [][]byte
	legacy bool
}

func (w *torch) op(codes ...any) {
	for _, c := range codes {
		switch c := c.(type) {
		case string: // opcodes
			w.pickle.WriteString(c)
		case int: // a number
			w.pickle.WriteByte('J')
			binary.Write(&w.pickle, binary.LittleEndian, int32(c))
		case []int: // a tuple of numbers
			w.op("(")
			for _, n := range c {
				w.op(n)
			}
			w.op("t")
		}
	}
}

func (w *torch) text(s string) {
	w.pickle.WriteByte('X')
	binary.Write(&w.pickle, binary.LittleEndian, uint32(len(s)))
	w.pickle.WriteString(s)
}

// store adds numbers and returns their key.
func (w *torch) store(numbers any) string {
	var b bytes.Buffer
	binary.Write(&b, binary.LittleEndian, numbers)
	w.keys = append(w.keys, fmt.Sprint(100+len(w.keys)))
	w.data = append(w.data, b.Bytes())
	return w.keys[len(w.keys)-1]
}

// tensor pushes a tensor on the pickle's stack.
func (w *torch) tensor(class, key string, elements, offset int, size, stride []int) {
	w.op("ctorch._utils\n_rebuild_tensor_v2\n", "((")
	w.text("storage")
	w.op("ctorch\n" + class + "\n")
	w.text(key)
	w.text("cpu")
	w.op(elements)
	if w.legacy {
		w.op("N")
	}
	w.op("tQ", offset, size, stride, "\x89", "ccollections\nOrderedDict\n)R", "tR")
}

// float pushes a dense tensor of 32-bit floats.
func (w *torch) float(size []int, numbers ...float32) {
	stride, step := make([]int, len(size)), 1
	for i := len(size) - 1; i >= 0; i-- {
		stride[i] = step
		step *= size[i]
	}
	w.tensor("FloatStorage", w.store(numbers), len(numbers), 0, size, stride)
}

// dict pushes an OrderedDict of what the function adds, with the attribute that a state dict has.
func (w *torch) dict(items func()) {
	w.op("\x80\x02", "ccollections\nOrderedDict\n)R", "(")
	items()
	w.op("u", "}")
	w.text("_metadata")
	w.op("ccollections\nOrderedDict\n)R", "s", "b", ".")
}

// file is the whole file.
func (w *torch) file() []byte {
	var out bytes.Buffer
	if w.legacy {
		out.WriteString("\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19." + "\x80\x02M\xe9\x03.")
		out.WriteString("\x80\x02}(X\x0d\x00\x00\x00little_endian\x88u.")
		out.Write(w.pickle.Bytes())
		keys := &torch{}
		keys.op("\x80\x02", "](")
		for _, k := range w.keys {
			keys.text(k)
		}
		keys.op("e.")
		out.Write(keys.pickle.Bytes())
		for _, d := range w.data {
			binary.Write(&out, binary.LittleEndian, uint64(len(d)/4))
			out.Write(d)
		}
		return out.Bytes()
	}
	z := zip.NewWriter(&out)
	add := func(name string, content []byte) {
		f, err := z.CreateHeader(&zip.FileHeader{Name: "model/" + name, Method: zip.Store})
		if err != nil {
			panic(err)
		}
		f.Write(content)
	}
	add("data.pkl", w.pickle.Bytes())
	add("byteorder", []byte("little"))
	for i, k := range w.keys {
		add("data/"+k, w.data[i])
	}
	add("version", []byte("3\n"))
	z.Close()
	return out.Bytes()
}

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
		w := &torch{legacy: legacy}
		w.dict(func() {
			w.text("0.w")
			w.float([]int{2, 3}, 1, -2, 3.5, 1e-45, float32(math.Inf(1)), 0)
			w.text("1.b")
			w.float([]int{}, 4)
			w.text("0.turned") // of 0 … 5 in rows of three, the last two columns, transposed
			w.tensor("FloatStorage", w.store([]float32{0, 1, 2, 3, 4, 5}), 6, 1, []int{2, 2}, []int{1, 3})
			w.text("0.shared")
			w.tensor("FloatStorage", w.keys[0], 6, 2, []int{1}, []int{1})
			w.text("0.parameter")
			w.op("ctorch._utils\n_rebuild_parameter\n", "(")
			w.float([]int{1}, 7)
			w.op("\x88", "ccollections\nOrderedDict\n)R", "tR")
		})
		got, err := loadTorch(t, w.file())
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
	w := &torch{}
	w.dict(func() {
		w.text("double")
		w.tensor("DoubleStorage", w.store([]float64{1.5, -0.1}), 2, 0, []int{2}, []int{1})
		w.text("half")
		w.tensor("HalfStorage", w.store([]uint16{0x3c00, 0xc000}), 2, 0, []int{2}, []int{1})
		w.text("brain")
		w.tensor("BFloat16Storage", w.store([]uint16{0x3f80, 0xc000}), 2, 0, []int{2}, []int{1})
	})
	f, err := loadTorch(t, w.file())
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
	with := func(value func(w *torch)) []byte {
		w := &torch{}
		w.dict(func() { w.text("0.x"); value(w) })
		return w.file()
	}
	script := func(codes string) []byte {
		w := &torch{}
		w.op(codes)
		return w.file()
	}
	big := &torch{}
	big.dict(func() { big.text("x"); big.float([]int{1}, 1) })
	large := big.file()
	tests := []struct {
		name string
		raw  []byte
		is   error
		want string
	}{
		{"system", script("\x80\x02cos\nsystem\n(X\x04\x00\x00\x00exittR."), checkpoint.ErrForeignCode, `"os.system"`},
		{"eval", script("\x80\x04\x8c\x08builtins\x8c\x04eval\x93\x8c\x011\x85R."), checkpoint.ErrForeignCode, `"builtins.eval"`},
		{"instance", script("(ios\nsystem\n."), checkpoint.ErrForeignCode, `"os.system"`},
		{"whole model", with(func(w *torch) { w.op("cmodels.DyGMamba\nDyGMamba\n)\x81}b") }), checkpoint.ErrForeignCode, "models.DyGMamba.DyGMamba"},
		{"extension", script("\x80\x02\x82\x01."), checkpoint.ErrCorrupt, "extension"},
		{"number", with(func(w *torch) { w.op(7) }), nil, `entry "0.x" is the number 7, not a tensor`},
		{"nothing", with(func(w *torch) { w.op("N") }), nil, `entry "0.x" is None`},
		{"nested", with(func(w *torch) { w.op("}"); w.text("a"); w.op(1, "s") }), nil, "a dictionary of 1 entries, not a tensor"},
		{"list", script("]."), nil, "it holds a list"},
		{"empty", script("}."), nil, "its dictionary is empty"},
		{"integers", with(func(w *torch) { w.tensor("LongStorage", w.store([]int64{1}), 1, 0, []int{1}, []int{1}) }), nil, "torch.LongStorage, want floats"},
		{"outside", with(func(w *torch) { w.tensor("FloatStorage", w.store([]float32{1}), 1, 0, []int{2}, []int{1}) }), checkpoint.ErrCorrupt, "reach outside"},
		{"before", with(func(w *torch) { w.tensor("FloatStorage", w.store([]float32{1}), 1, -1, []int{1}, []int{1}) }), checkpoint.ErrCorrupt, "reach outside"},
		{"endless", with(func(w *torch) {
			w.tensor("FloatStorage", w.store([]float32{1}), 1, 0, []int{1 << 20, 1 << 20, 1 << 20}, []int{0, 0, 0})
		}), checkpoint.ErrCorrupt, "more than the file can hold"},
		{"short entry", with(func(w *torch) { w.tensor("FloatStorage", w.store([]float32{1}), 2, 0, []int{2}, []int{1}) }), checkpoint.ErrCorrupt, "has 4 bytes, want 8"},
		{"no entry", with(func(w *torch) { w.tensor("FloatStorage", "9", 2, 0, []int{2}, []int{1}) }), checkpoint.ErrCorrupt, "no entry data/9"},
		{"huge text", script("\x80\x04\x8d\x00\x00\x00\x00\x00\x01\x00\x00."), checkpoint.ErrCorrupt, "cut off"},
		{"huge frame", script("\x80\x04\x95\x00\x00\x00\x00\x00\x01\x00\x00."), checkpoint.ErrCorrupt, "cut off"},
		{"unknown opcode", script("\x80\x04\xff."), checkpoint.ErrCorrupt, "0xff"},
		{"odd items", script("}(Nu."), checkpoint.ErrCorrupt, "makes no sense"},
		{"other pickle", []byte("\x80\x03}q\x00X\x01\x00\x00\x00aK\x01s."), nil, "PyTorch did not write"},
		{"other zip", bytes.ReplaceAll(large, []byte("data.pkl"), []byte("some.txt")), checkpoint.ErrCorrupt, "without data.pkl"},
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

// TestPyTorchCut reads every beginning of two files: all are refused, none crashes.
func TestPyTorchCut(t *testing.T) {
	for _, legacy := range []bool{false, true} {
		w := &torch{legacy: legacy}
		w.dict(func() { w.text("0.w"); w.float([]int{2}, 1, 2) })
		raw := w.file()
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
	w := &torch{legacy: true}
	w.dict(func() { w.text("0.w"); w.float([]int{1}, 1) })
	z := &torch{}
	z.dict(func() { z.text("0.w"); z.float([]int{1}, 1) })
	var ours bytes.Buffer
	if err := checkpoint.Write(&ours, sample()); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		raw  []byte
		want bool
	}{
		"zip":               {z.file(), true},
		"legacy":            {w.file(), true},
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
		w := &torch{legacy: legacy}
		w.dict(func() { w.text("0.w"); w.float([]int{2, 1}, 1, 2) })
		f.Add(w.file())
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := loadTorch(t, raw)
		if err == nil && len(got.Tensors) == 0 {
			t.Error("neither tensors nor an error")
		}
	})
}
