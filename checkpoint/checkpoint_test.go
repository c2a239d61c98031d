package checkpoint_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/internal/golden"
)

func sample() checkpoint.File {
	return checkpoint.File{
		Meta: map[string]string{"config": `{"d": 50, "quote": "<\">"}`, "état": "ü"},
		Tensors: []checkpoint.Tensor{
			{Name: "param/0.w", Shape: []int{2, 3}, Data: []float32{1, -2, 3.5, float32(math.Inf(1)), 1e-45, 0}},
			{Name: "state/memory", Shape: []int{3}, Bytes: []byte{0, 255, 7}},
			{Name: "param/1.b", Shape: []int{}, Data: []float32{4}},
			{Name: "empty", Shape: []int{0, 4}, Data: []float32{}},
		},
	}
}

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.safetensors")
	if err := checkpoint.Save(path, sample()); err != nil {
		t.Fatal(err)
	}
	got, err := checkpoint.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(sample(), got); d != "" {
		t.Error(d)
	}
	first, _ := os.ReadFile(path)
	if err := checkpoint.Save(path, got); err != nil {
		t.Fatal(err)
	}
	if second, _ := os.ReadFile(path); !bytes.Equal(first, second) {
		t.Error("the same content gave other bytes")
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("%d files are left, want 1", len(files))
	}
	pieces := sample() // floats may be in pieces, and the file may be a stream
	for i, x := range pieces.Tensors {
		if x.Bytes == nil {
			half := len(x.Data) / 2
			pieces.Tensors[i].Data, pieces.Tensors[i].Pieces = nil, [][]float32{x.Data[:half], nil, x.Data[half:]}
		}
	}
	var stream bytes.Buffer
	if err := checkpoint.Write(&stream, pieces); err != nil || !bytes.Equal(first, stream.Bytes()) {
		t.Errorf("written in pieces: other bytes, %v", err)
	}
}

// TestSaveFails shows that a failed save leaves the old file alone.
func TestSaveFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.safetensors")
	if err := checkpoint.Save(path, sample()); err != nil {
		t.Fatal(err)
	}
	bad := []checkpoint.Tensor{
		{Name: "a", Shape: []int{3}, Data: []float32{1}},
		{Name: "__metadata__", Shape: []int{1}, Data: []float32{1}},
		{Name: "param/0.w", Shape: []int{1}, Data: []float32{1}},
		{Name: "a\xff", Shape: []int{1}, Data: []float32{1}},
		{Name: "a", Shape: []int{1}, Data: []float32{}, Bytes: []byte{1}},
	}
	for _, b := range bad {
		f := sample()
		f.Tensors = append(f.Tensors, b)
		if err := checkpoint.Save(path, f); err == nil {
			t.Errorf("saved a tensor %+v", b)
		}
	}
	got, err := checkpoint.Load(path)
	if err != nil || cmp.Diff(sample(), got) != "" {
		t.Errorf("the old file changed: %v", err)
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("%d files are left, want 1", len(files))
	}
}

// raw makes a file of a header and data.
func raw(header string, data ...byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

func read(b []byte) (checkpoint.File, error) {
	return checkpoint.Read(bytes.NewReader(b), int64(len(b)))
}

// TestForeign reads what other programs write: any order, other types, padding, no checksum.
func TestForeign(t *testing.T) {
	header := `{"b":{"dtype":"F16","shape":[4],"data_offsets":[4,12]},` +
		`"a":{"shape":[1],"data_offsets":[0,4],"dtype":"F32"},` +
		`"c":{"dtype":"BF16","shape":[1],"data_offsets":[12,14]},` +
		`"d":{"dtype":"F64","shape":[1,1],"data_offsets":[14,22]}}   `
	data := binary.LittleEndian.AppendUint32(nil, math.Float32bits(0.1))
	for _, h := range []uint16{0x3c00, 0xc000, 0x0001, 0x7c00} {
		data = binary.LittleEndian.AppendUint16(data, h)
	}
	data = binary.LittleEndian.AppendUint16(data, uint16(math.Float32bits(-3)>>16))
	data = binary.LittleEndian.AppendUint64(data, math.Float64bits(1e-3))
	f, err := read(raw(header, data...))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]float32{"a": {0.1}, "b": {1, -2, 1.0 / (1 << 24), float32(math.Inf(1))},
		"c": {-3}, "d": {1e-3}}
	for name, w := range want {
		if got, ok := f.Find(name); !ok || !slices.Equal(got.Data, w) {
			t.Errorf("%s is %v, want %v", name, got.Data, w)
		}
	}
}

// malformed are files that must be turned down, with a word of the reason.
var malformed = map[string][]byte{
	"too few":   {1, 2, 3},
	"claimed":   raw("{}")[:9],
	"header of": binary.LittleEndian.AppendUint64(nil, math.MaxUint64),
	"want {":    raw(`[]`),
	"EOF":       raw(``),
	"follows":   raw(`{} x`),
	"twice": raw(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},`+
		`"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 0, 0),
	"key \"dtype\"":       raw(`{"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 0),
	"key \"k\"":           raw(`{"__metadata__":{"k":"1","k":"2"}}`),
	"want a string":       raw(`{"__metadata__":{"k":1}}`),
	"lacks":               raw(`{"a":{"dtype":"U8","shape":[1]}}`, 0),
	"unknown property":    raw(`{"a":{"dtype":"U8","shape":[1],"offsets":[0,1]}}`, 0),
	"offsets, want 2":     raw(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}}`, 0),
	"from 0":              raw(`{"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}}`, 0),
	"1.5":                 raw(`{"a":{"dtype":"U8","shape":[1.5],"data_offsets":[0,1]}}`, 0),
	"of 1":                raw(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}`, 0),
	"bytes 1 to 0":        raw(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}}`, 0),
	"[3]":                 raw(`{"a":{"dtype":"U8","shape":[3],"data_offsets":[0,2]}}`, 0, 0),
	"4611686018427387904": raw(`{"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}}`),
	"want 1": raw(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},`+
		`"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 0),
	"want 0":           raw(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 0, 0),
	"cover 1 bytes of": raw(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 0, 0),
	"checksum": raw(`{"__metadata__":{"sha256":"00"},`+
		`"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 0),
}

func TestMalformed(t *testing.T) {
	for reason, b := range malformed {
		if _, err := read(b); !errors.Is(err, checkpoint.ErrCorrupt) || !strings.Contains(err.Error(), reason) {
			t.Errorf("got %v, want a corrupt checkpoint: … %s …", err, reason)
		}
	}
	_, err := read(raw(`{"a":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}`, make([]byte, 8)...))
	if err == nil || errors.Is(err, checkpoint.ErrCorrupt) || !strings.Contains(err.Error(), "I64") {
		t.Errorf("an integer tensor: got %v, want an error that names the type", err)
	}
	if _, err := checkpoint.Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: got %v", err)
	}
}

// TestDamage flips a bit in every byte of a file in turn, and cuts it at every length: nothing else may be read without
// an error. Only the word that says where the checksum is must be whole.
func TestDamage(t *testing.T) {
	var b bytes.Buffer
	if err := checkpoint.Write(&b, sample()); err != nil {
		t.Fatal(err)
	}
	whole := b.Bytes()
	key := bytes.Index(whole, []byte("sha256"))
	for i := range whole {
		damaged := bytes.Clone(whole)
		damaged[i] ^= 1
		if f, err := read(damaged); err == nil && (i < key || i >= key+6) && cmp.Diff(sample(), f) != "" {
			t.Errorf("byte %d changed, and other content was read without an error", i)
		}
		if _, err := read(whole[:i]); !errors.Is(err, checkpoint.ErrCorrupt) {
			t.Errorf("a file cut to %d bytes: got %v", i, err)
		}
	}
}

// TestReferenceWeights reads a file written by the reference program.
func TestReferenceWeights(t *testing.T) {
	f, err := checkpoint.Load(golden.Shared(t, "spec", "golden", "predict-dygmamba-enron", "weights.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	w, ok := f.Find("0.time_encoder.w.weight")
	if !ok || !slices.Equal(w.Shape, []int{100, 1}) || w.Data[0] != 1 {
		t.Errorf("time encoder: found %v, shape %v", ok, w.Shape)
	}
}

func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	if err := checkpoint.Write(&b, sample()); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	for _, m := range malformed {
		f.Add(m)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := read(b)
		if err != nil {
			return
		}
		size := 0
		for _, x := range file.Tensors {
			size += 2*len(x.Data) + len(x.Bytes)
		}
		if size > len(b) {
			t.Errorf("%d bytes became %d numbers", len(b), size)
		}
		var again bytes.Buffer
		if err := checkpoint.Write(&again, file); err != nil {
			t.Errorf("what was read cannot be written: %v", err)
		}
	})
}
