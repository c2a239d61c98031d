// Package torchtest answers: what would torch.save have written? Tests use it to make PyTorch files, good and bad ones,
// without PyTorch.
package torchtest

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
)

// File is a PyTorch file in the making: a pickle, and storages beside it. The calls below write to the pickle in their
// order.
type File struct {
	Legacy bool     // the format of PyTorch before 1.6
	Keys   []string // of the storages so far

	pickle bytes.Buffer
	data   [][]byte
}

// Op writes opcodes as they are, pushes a number, or pushes a tuple of numbers.
func (w *File) Op(codes ...any) {
	for _, c := range codes {
		switch c := c.(type) {
		case string:
			w.pickle.WriteString(c)
		case int:
			w.pickle.WriteByte('J')
			binary.Write(&w.pickle, binary.LittleEndian, int32(c))
		case []int:
			w.Op("(")
			for _, n := range c {
				w.Op(n)
			}
			w.Op("t")
		}
	}
}

// Text pushes a text.
func (w *File) Text(s string) {
	w.pickle.WriteByte('X')
	binary.Write(&w.pickle, binary.LittleEndian, uint32(len(s)))
	w.pickle.WriteString(s)
}

// Store adds numbers and returns their key.
func (w *File) Store(numbers any) string {
	var b bytes.Buffer
	binary.Write(&b, binary.LittleEndian, numbers)
	w.Keys = append(w.Keys, fmt.Sprint(100+len(w.Keys)))
	w.data = append(w.data, b.Bytes())
	return w.Keys[len(w.Keys)-1]
}

// Tensor pushes a tensor on the pickle's stack.
func (w *File) Tensor(class, key string, elements, offset int, size, stride []int) {
	w.Op("ctorch._utils\n_rebuild_tensor_v2\n", "((")
	w.Text("storage")
	w.Op("ctorch\n" + class + "\n")
	w.Text(key)
	w.Text("cpu")
	w.Op(elements)
	if w.Legacy {
		w.Op("N")
	}
	w.Op("tQ", offset, size, stride, "\x89", "ccollections\nOrderedDict\n)R", "tR")
}

// Float pushes a dense tensor of 32-bit floats.
func (w *File) Float(size []int, numbers ...float32) {
	stride, step := make([]int, len(size)), 1
	for i := len(size) - 1; i >= 0; i-- {
		stride[i] = step
		step *= size[i]
	}
	w.Tensor("FloatStorage", w.Store(numbers), len(numbers), 0, size, stride)
}

// Dict pushes an OrderedDict of what the function adds, with the attribute that a state dict has.
func (w *File) Dict(items func()) {
	w.Op("\x80\x02", "ccollections\nOrderedDict\n)R", "(")
	items()
	w.Op("u", "}")
	w.Text("_metadata")
	w.Op("ccollections\nOrderedDict\n)R", "s", "b", ".")
}

// Bytes is the whole file.
func (w *File) Bytes() []byte {
	if w.Legacy {
		return w.legacy()
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	add := func(name string, content []byte) {
		f, err := z.CreateHeader(&zip.FileHeader{Name: "model/" + name, Method: zip.Store})
		if err != nil {
			panic(err) // a buffer takes everything
		}
		f.Write(content)
	}
	add("data.pkl", w.pickle.Bytes())
	add("byteorder", []byte("little"))
	for i, k := range w.Keys {
		add("data/"+k, w.data[i])
	}
	add("version", []byte("3\n"))
	z.Close()
	return out.Bytes()
}

// legacy is five pickles and the storages; those must be of 32-bit numbers.
func (w *File) legacy() []byte {
	var out bytes.Buffer
	out.WriteString("\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19." + "\x80\x02M\xe9\x03.")
	out.WriteString("\x80\x02}(X\x0d\x00\x00\x00little_endian\x88u.")
	out.Write(w.pickle.Bytes())
	keys := &File{}
	keys.Op("\x80\x02", "](")
	for _, k := range w.Keys {
		keys.Text(k)
	}
	keys.Op("e.")
	out.Write(keys.pickle.Bytes())
	for _, d := range w.data {
		binary.Write(&out, binary.LittleEndian, uint64(len(d)/4))
		out.Write(d)
	}
	return out.Bytes()
}
