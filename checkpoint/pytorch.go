package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"

	"github.com/nlpodyssey/gopickle/types"
)

// ErrForeignCode says that a PyTorch file asks for Python code to be run. It never is.
var ErrForeignCode = errors.New("asks for Python code")

// stateDictOnly is the advice to whoever saved something else.
const stateDictOnly = "want the tensors alone, as torch.save(model.state_dict(), path) writes them"

// LoadPyTorch reads the tensors that torch.save(model.state_dict(), path) wrote, in either of its two file formats and
// under their names. Tensors of 16 and 64-bit floats become float32. Nothing of the file is executed: whatever is not a
// dictionary of float tensors is an error, which wraps ErrForeignCode if the file refers to any Python code but that
// which PyTorch itself needs to put tensors together. Other damage wraps ErrCorrupt.
func LoadPyTorch(path string) (File, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return File{}, fmt.Errorf("load checkpoint: %w", err)
	}
	f, err := readPyTorch(raw)
	if err != nil {
		return File{}, fmt.Errorf("load %s: %w", path, err)
	}
	return f, nil
}

// IsPyTorch looks at the beginning of a file: is it one that LoadPyTorch should be asked to read?
func IsPyTorch(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, fmt.Errorf("load checkpoint: %w", err)
	}
	defer f.Close()
	head := make([]byte, 9)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return false, fmt.Errorf("load checkpoint: %w", err)
	}
	return isZip(head[:n]) || isPickle(head[:n]), nil
}

func isZip(head []byte) bool { return bytes.HasPrefix(head, []byte("PK\x03\x04")) }

// isPickle knows a pickle by its protocol; a safetensors file may begin alike, with the length of its header, but then
// has a brace.
func isPickle(head []byte) bool {
	return len(head) > 1 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5 && !(len(head) > 8 && head[8] == '{')
}

func readPyTorch(raw []byte) (File, error) {
	read := readLegacy
	switch {
	case isZip(raw):
		read = readArchive
	case !isPickle(raw):
		return File{}, corrupt("it begins with %q, want a zip archive or a pickle, as PyTorch writes them",
			raw[:min(len(raw), 8)])
	}
	object, err := read(raw)
	if err != nil {
		return File{}, err
	}
	entries, ok := dictionary(object)
	if !ok {
		return File{}, fmt.Errorf("it holds %s, not a dictionary of tensors; %s", describe(object), stateDictOnly)
	}
	f := File{Meta: map[string]string{"converted": "from PyTorch"}}
	left := 4 * len(raw) // numbers; tensors may share storage, but not without end
	for _, e := range entries {
		t, err := e.tensor(&left)
		if err != nil {
			return File{}, err
		}
		f.Tensors = append(f.Tensors, t)
	}
	if len(f.Tensors) == 0 {
		return File{}, fmt.Errorf("its dictionary is empty; %s", stateDictOnly)
	}
	return f, f.check()
}

// item is a key of a Python dictionary and its value.
type item struct{ key, value any }

// tensor copies the numbers out of their storage.
func (e item) tensor(left *int) (Tensor, error) {
	name, ok := e.key.(string)
	if !ok {
		return Tensor{}, fmt.Errorf("a key of its dictionary is %s, not a name; %s", describe(e.key), stateDictOnly)
	}
	view, ok := e.value.(*tensorView)
	if !ok {
		return Tensor{}, fmt.Errorf("entry %q is %s, not a tensor; %s", name, describe(e.value), stateDictOnly)
	}
	data, err := view.read(left)
	if err != nil {
		return Tensor{}, fmt.Errorf("tensor %q: %w", name, err)
	}
	return Tensor{Name: name, Shape: view.size, Data: data}, nil
}

// dictionary lists the entries of a Python dictionary in its order.
func dictionary(object any) ([]item, bool) {
	var entries []item
	switch d := object.(type) {
	case *types.OrderedDict:
		for at := d.List.Front(); at != nil; at = at.Next() {
			e := at.Value.(*types.OrderedDictEntry)
			entries = append(entries, item{e.Key, e.Value})
		}
	case *types.Dict:
		for _, e := range *d {
			entries = append(entries, item{e.Key, e.Value})
		}
	default:
		return nil, false
	}
	return entries, true
}

// describe names a Python value in a word or two.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return "a truth value"
	case int, *big.Int, float64:
		return fmt.Sprintf("the number %.40s", fmt.Sprint(v))
	case string:
		return fmt.Sprintf("the text %.40q", v)
	case *tensorView:
		return "one tensor"
	case *types.List, *types.Tuple:
		return "a list"
	}
	if entries, ok := dictionary(v); ok {
		return fmt.Sprintf("a dictionary of %d entries", len(entries))
	}
	return "a Python object"
}
