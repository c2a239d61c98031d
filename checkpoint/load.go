package checkpoint

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
)

// largestHeader is the largest header accepted, that of the format's own library.
const largestHeader = 100 << 20

// Load reads a safetensors file. Floats of 16 and 64 bits become float32. A checksum in the metadata, if there is one,
// must hold. An error that wraps ErrCorrupt says what is wrong with the file.
func Load(path string) (File, error) {
	in, err := os.Open(path)
	if err != nil {
		return File{}, fmt.Errorf("load checkpoint: %w", err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return File{}, fmt.Errorf("load checkpoint: %w", err)
	}
	f, err := Read(in, info.Size())
	if err != nil {
		return File{}, fmt.Errorf("load %s: %w", path, err)
	}
	return f, nil
}

// Read reads a safetensors file of the given size. It never allocates more than a few times that size, whatever the
// header claims.
func Read(r io.ReaderAt, size int64) (File, error) {
	head, start, err := readHeader(r, size)
	if err != nil {
		return File{}, err
	}
	meta, claims, err := parseHeader(head)
	if err != nil {
		return File{}, err
	}
	if err := checkLayout(claims, size-start); err != nil {
		return File{}, err
	}
	f := File{Meta: meta}
	for _, c := range claims {
		raw := make([]byte, c.end-c.begin)
		if _, err := r.ReadAt(raw, start+c.begin); err != nil && !(err == io.EOF && len(raw) == 0) {
			return File{}, fmt.Errorf("tensor %q: %w", c.name, err)
		}
		f.Tensors = append(f.Tensors, c.decode(raw))
	}
	if sum, ok := f.Meta[checksumKey]; ok {
		if got := f.checksum(); got != sum {
			return File{}, corrupt("the content has checksum %s, but %s is noted", got, sum)
		}
		delete(f.Meta, checksumKey)
	}
	return f, nil
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

// readHeader returns the header's text and where the data starts.
func readHeader(r io.ReaderAt, size int64) (head []byte, start int64, err error) {
	var word [8]byte
	if size < 8 {
		return nil, 0, corrupt("%d bytes are too few for a safetensors file", size)
	}
	if _, err := r.ReadAt(word[:], 0); err != nil {
		return nil, 0, err
	}
	n := binary.LittleEndian.Uint64(word[:])
	if n > uint64(size-8) || n > largestHeader {
		return nil, 0, corrupt("a header of %d bytes is claimed in a file of %d", n, size)
	}
	head = make([]byte, n)
	if _, err := r.ReadAt(head, 8); err != nil && !(err == io.EOF && n == 0) {
		return nil, 0, err
	}
	return head, 8 + int64(n), nil
}

// checkLayout wants the tensors to cover the data without gap or overlap, each as long as its shape says.
func checkLayout(claims []claim, size int64) error {
	order := slices.Clone(claims)
	slices.SortStableFunc(order, func(a, b claim) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end))
	})
	at := int64(0)
	for _, c := range order {
		width, ok := widths[c.dtype]
		if !ok {
			return fmt.Errorf("tensor %q has type %q, want F32, F16, BF16, F64 or U8", c.name, c.dtype)
		}
		n, ok := elements(c.shape)
		switch {
		case c.begin < 0 || c.end < c.begin || c.end > size:
			return corrupt("tensor %q claims bytes %d to %d of %d", c.name, c.begin, c.end, size)
		case !ok || n > size || n*width != c.end-c.begin:
			return corrupt("tensor %q of shape %v and type %s claims %d bytes", c.name, c.shape, c.dtype, c.end-c.begin)
		case c.begin != at:
			return corrupt("tensor %q starts at byte %d, want %d", c.name, c.begin, at)
		}
		at = c.end
	}
	if at != size {
		return corrupt("tensors cover %d bytes of %d", at, size)
	}
	return nil
}

// widths are the bytes per element of the types that are read.
var widths = map[string]int64{"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "U8": 1}

// decode turns the bytes of a tensor into its values.
func (c *claim) decode(raw []byte) Tensor {
	t := Tensor{Name: c.name, Shape: c.shape}
	if c.dtype == "U8" {
		t.Bytes = raw
		return t
	}
	w := int(widths[c.dtype])
	t.Data = make([]float32, len(raw)/w)
	for i := range t.Data {
		b := raw[i*w : (i+1)*w]
		switch c.dtype {
		case "F64":
			t.Data[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(b)))
		case "F32":
			t.Data[i] = math.Float32frombits(binary.LittleEndian.Uint32(b))
		case "BF16":
			t.Data[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16)
		case "F16":
			t.Data[i] = half(binary.LittleEndian.Uint16(b))
		}
	}
	return t
}

// half is the value of an IEEE 16-bit float.
func half(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&1023
	switch exp {
	case 0:
		v := float32(frac) / (1 << 24)
		return math.Float32frombits(math.Float32bits(v) | sign)
	case 31:
		return math.Float32frombits(sign | 255<<23 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}
