// Package checkpoint answers: how does a model outlive its process?
//
// A checkpoint is one safetensors file. Ours hold tensors whose names start "param/", "optim/" or "state/", the
// configuration in the metadata, and a checksum over everything. Files of other programs are read too, whatever their
// tensors are called.
package checkpoint

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dygmamba/dygmamba/tensor"
)

// ErrCorrupt says that a file is not a whole safetensors file; the wrapping error says where and why.
var ErrCorrupt = errors.New("corrupt checkpoint")

// File is the content of a checkpoint.
type File struct {
	Meta    map[string]string
	Tensors []Tensor
}

// Tensor is a named array: Data of floats, or else Bytes.
type Tensor = tensor.Named

// checksumKey is the metadata key of the checksum that Save writes and Load checks and removes.
const checksumKey = "sha256"

// Find finds a tensor by name.
func (f File) Find(name string) (Tensor, bool) { return tensor.Find(f.Tensors, name) }

// check reports what would make a file that cannot be read back.
func (f *File) check() error {
	for k, v := range f.Meta {
		if !utf8.ValidString(k) || !utf8.ValidString(v) {
			return fmt.Errorf("metadata %q is not UTF-8", k)
		}
	}
	seen := map[string]bool{}
	for _, t := range f.Tensors {
		n, ok := elements(t.Shape)
		switch {
		case !utf8.ValidString(t.Name):
			return fmt.Errorf("the name %q is not UTF-8", t.Name)
		case seen[t.Name]:
			return fmt.Errorf("two tensors are called %q", t.Name)
		case t.Name == metadataKey:
			return fmt.Errorf("a tensor is called %q, a name that the format reserves", t.Name)
		case (t.Data != nil || t.Pieces != nil) && t.Bytes != nil:
			return fmt.Errorf("tensor %q has floats and bytes, want one of them", t.Name)
		case !ok || n != int64(t.Floats()+len(t.Bytes)):
			return fmt.Errorf("tensor %q has shape %v and %d elements", t.Name, t.Shape, t.Floats()+len(t.Bytes))
		}
		seen[t.Name] = true
	}
	return nil
}

// checksum covers metadata, names, shapes and values, in an order of its own, so that it holds however a file is laid
// out.
func (f *File) checksum() string {
	h := sha256.New()
	word := func(n int) { h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n))) }
	text := func(s string) { word(len(s)); io.WriteString(h, s) }
	for _, k := range slices.Sorted(maps.Keys(f.Meta)) {
		if k != checksumKey {
			text(k)
			text(f.Meta[k])
		}
	}
	order := slices.Clone(f.Tensors)
	slices.SortFunc(order, func(a, b Tensor) int { return strings.Compare(a.Name, b.Name) })
	for _, t := range order {
		text(t.Name)
		text(dtype(t))
		word(len(t.Shape))
		for _, d := range t.Shape {
			word(d)
		}
		encode(h, t) // a hash takes every write
	}
	return hex.EncodeToString(h.Sum(nil))
}

// elements is the product of the dimensions, false when it does not fit or a dimension is negative.
func elements(shape []int) (int64, bool) {
	n := int64(1)
	for _, d := range shape {
		if d < 0 {
			return 0, false
		}
		if d == 0 {
			return 0, true
		}
		if n > (1<<62)/int64(d) {
			return 0, false
		}
		n *= int64(d)
	}
	return n, true
}
