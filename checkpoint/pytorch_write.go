package checkpoint

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"strconv"
	"strings"
)

// PyTorch's own names within an archive: all entries lie in a folder, numbers at multiples of 64 bytes so that they can
// be mapped into memory.
const (
	torchFolder = "archive/"
	torchAlign  = 64
)

// WritePyTorch writes the tensors as torch.save(model.state_dict(), path) does since PyTorch 1.6, so that
// torch.load(path, weights_only=True) reads them: a dictionary of float tensors in their order. A tensor that shares
// its numbers with an earlier one is stored once. Metadata have no place there. The same content gives the same
// bytes.
func WritePyTorch(w io.Writer, f File) error {
	if err := f.check(); err != nil {
		return err
	}
	if len(f.Tensors) == 0 {
		return fmt.Errorf("there are no tensors to write")
	}
	p := torchPickle{keys: map[*float32]int{}}
	p.WriteString("\x80\x02" + orderedDict + "(") // an empty OrderedDict, and the beginning of its items
	for _, t := range f.Tensors {
		if err := p.tensor(t); err != nil {
			return err
		}
	}
	p.WriteString("u.") // puts the items into it
	z := torchArchive{to: &counted{w: w}}
	z.zip = zip.NewWriter(z.to)
	z.add("data.pkl", p.Bytes())
	z.add("byteorder", []byte("little"))
	for i, data := range p.stored {
		var b bytes.Buffer
		encode(&b, Tensor{Data: data})
		z.add("data/"+strconv.Itoa(i), b.Bytes())
	}
	z.add("version", []byte("3\n"))
	if z.err != nil {
		return z.err
	}
	return z.zip.Close()
}

// torchPickle is the dictionary as a pickle of protocol 2, of which it needs a dozen opcodes.
type torchPickle struct {
	bytes.Buffer
	stored [][]float32
	keys   map[*float32]int // of what is stored, by the first number
}

const orderedDict = "ccollections\nOrderedDict\n)R"

// tensor is an item: its name, and the call that puts it together again from its storage, offset, size and strides.
func (p *torchPickle) tensor(t Tensor) error {
	if t.Bytes != nil {
		return fmt.Errorf("tensor %q holds bytes, a state dict floats", t.Name)
	}
	if len(t.Data) > math.MaxInt32 {
		return fmt.Errorf("tensor %q has %d elements, at most %d can be written", t.Name, len(t.Data), math.MaxInt32)
	}
	p.text(t.Name)
	p.WriteString("ctorch._utils\n_rebuild_tensor_v2\n((")
	p.text("storage")
	p.WriteString("ctorch\nFloatStorage\n")
	p.text(strconv.Itoa(p.store(t.Data)))
	p.text("cpu")
	p.number(len(t.Data))
	p.WriteString("tQ")
	p.number(0)
	p.numbers(t.Shape)
	p.numbers(strides(t.Shape))
	p.WriteString("\x89" + orderedDict + "tR") // no gradient is wanted, no hooks
	return nil
}

// store is the number of a storage.
func (p *torchPickle) store(data []float32) int {
	if len(data) > 0 {
		if k, known := p.keys[&data[0]]; known && len(p.stored[k]) == len(data) {
			return k
		}
		p.keys[&data[0]] = len(p.stored)
	}
	p.stored = append(p.stored, data)
	return len(p.stored) - 1
}

func (p *torchPickle) text(s string) {
	p.WriteByte('X')
	p.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(s))))
	p.WriteString(s)
}

func (p *torchPickle) number(n int) {
	p.WriteByte('J')
	p.Write(binary.LittleEndian.AppendUint32(nil, uint32(int32(n))))
}

func (p *torchPickle) numbers(list []int) {
	p.WriteByte('(')
	for _, n := range list {
		p.number(n)
	}
	p.WriteByte('t')
}

// strides are those of a tensor whose numbers lie in row-major order.
func strides(shape []int) []int {
	list, step := make([]int, len(shape)), 1
	for i := len(shape) - 1; i >= 0; i-- {
		list[i] = step
		step *= max(1, shape[i])
	}
	return list
}

// torchArchive is a zip archive whose entries are not compressed. Its first error stays.
type torchArchive struct {
	to  *counted
	zip *zip.Writer
	err error
}

func (a *torchArchive) add(name string, content []byte) {
	if a.err != nil {
		return
	}
	if len(content) > math.MaxUint32-1 {
		a.err = fmt.Errorf("entry %s has %d bytes, at most %d can be written", name, len(content), math.MaxUint32-1)
		return
	}
	size := uint64(len(content))
	h := &zip.FileHeader{
		Name: torchFolder + name, Method: zip.Store, CRC32: crc32.ChecksumIEEE(content),
		CompressedSize64: size, UncompressedSize64: size,
	}
	if a.err = a.zip.Flush(); a.err != nil {
		return
	}
	const header, field = 30, 4 // bytes of a local header before the name, and of an extra field before its content
	at := a.to.n + header + len(h.Name) + field
	pad := (torchAlign - at%torchAlign) % torchAlign
	h.Extra = binary.LittleEndian.AppendUint16([]byte("FB"), uint16(pad)) // as PyTorch calls it
	h.Extra = append(h.Extra, strings.Repeat("Z", pad)...)
	var entry io.Writer
	if entry, a.err = a.zip.CreateRaw(h); a.err == nil {
		_, a.err = entry.Write(content)
	}
}

// counted knows how much was written.
type counted struct {
	w io.Writer
	n int
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += n
	return n, err
}
