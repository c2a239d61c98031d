package checkpoint

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"unsafe"

	"github.com/dygmamba/dygmamba/internal/atomicfile"
)

// metadataKey is the header's entry that is no tensor.
const metadataKey = "__metadata__"

// Save writes a file as a whole or not at all: under another name first, then synced, then renamed. The same content
// gives the same bytes.
func Save(path string, f File) error {
	if err := save(path, f); err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	return nil
}

func save(path string, f File) error {
	out, err := atomicfile.Own(path)
	if err != nil {
		return err
	}
	if err := writeTo(out, f); err != nil {
		out.Discard()
		return err
	}
	return out.Commit()
}

// Write writes f as a safetensors file, tensors in their order, with a checksum in the metadata.
func Write(w io.Writer, f File) error {
	if err := f.check(); err != nil {
		return err
	}
	return f.write(w, f.checksum())
}

// writeTo is Write to a file. The checksum, which stands in front, is found while the tensors are written.
func writeTo(out *atomicfile.File, f File) error {
	if err := f.check(); err != nil {
		return err
	}
	sum := make(chan string, 1)
	go func() { sum <- f.checksum() }()
	failed := f.write(out, strings.Repeat("0", 2*sha256.Size))
	head, err := f.header(<-sum)
	if err := cmp.Or(failed, err); err != nil {
		return err
	}
	_, err = out.WriteAt(head, 8)
	return err
}

func (f *File) write(w io.Writer, checksum string) error {
	head, err := f.header(checksum)
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(w, 1<<16)
	b.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(head))))
	b.Write(head)
	for _, t := range f.Tensors {
		encode(b, t)
	}
	return b.Flush()
}

// entry is a tensor's line in the header.
type entry struct {
	Dtype   string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// header is the JSON text before the data, padded with spaces so that the data starts at a multiple of 64.
func (f *File) header(checksum string) ([]byte, error) {
	meta := maps.Clone(f.Meta)
	if meta == nil {
		meta = map[string]string{}
	}
	meta[checksumKey] = checksum
	text, err := json.Marshal(meta)
	if err != nil {
		return nil, err
	}
	head := append([]byte(`{"`+metadataKey+`":`), text...)
	at := int64(0)
	for _, t := range f.Tensors {
		size := int64(4*t.Floats() + len(t.Bytes))
		name, err := json.Marshal(t.Name)
		if err != nil {
			return nil, err
		}
		line, err := json.Marshal(entry{dtype(t), append([]int{}, t.Shape...), [2]int64{at, at + size}})
		if err != nil {
			return nil, err
		}
		head = slices.Concat(head, []byte{','}, name, []byte{':'}, line)
		at += size
	}
	head = append(head, '}')
	for (8+len(head))%64 != 0 {
		head = append(head, ' ')
	}
	return head, nil
}

func dtype(t Tensor) string {
	if t.Bytes != nil {
		return "U8"
	}
	return "F32"
}

// encode writes the values, little-endian. Its writers keep their first error.
func encode(w io.Writer, t Tensor) {
	if t.Bytes != nil {
		w.Write(t.Bytes)
		return
	}
	encodeFloats(w, t.Data)
	for _, piece := range t.Pieces {
		encodeFloats(w, piece)
	}
}

// littleEndian says whether floats lie in memory as they do in the file.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

func encodeFloats(w io.Writer, list []float32) {
	if littleEndian && len(list) > 0 {
		w.Write(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), 4*len(list)))
		return
	}
	var buf [4096]byte
	for rest := list; len(rest) > 0; {
		n := min(len(rest), len(buf)/4)
		for i, v := range rest[:n] {
			binary.LittleEndian.PutUint32(buf[4*i:], math.Float32bits(v))
		}
		w.Write(buf[:4*n])
		rest = rest[n:]
	}
}
