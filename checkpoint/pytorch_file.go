package checkpoint

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/big"
	"path"
	"strings"

	"github.com/nlpodyssey/gopickle/types"
)

// readArchive reads the format of PyTorch 1.6 and later: a zip archive with the pickle NAME/data.pkl and one entry
// NAME/data/KEY for every storage.
func readArchive(raw []byte) (any, error) {
	z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return nil, corrupt("%v", err)
	}
	entries := map[string]*zip.File{}
	root := ""
	for _, f := range z.File {
		entries[f.Name] = f
		switch path.Base(f.Name) {
		case "data.pkl":
			root = path.Dir(f.Name)
		case "constants.pkl":
			return nil, fmt.Errorf("it is a TorchScript program; %s", stateDictOnly)
		}
	}
	if root == "" {
		return nil, corrupt("a zip archive without data.pkl, which PyTorch's have")
	}
	left := uint64(len(raw)) // to be read: an archive may say that all its entries lie in the same place
	content := func(name string, size int64) ([]byte, error) {
		f, ok := entries[path.Join(root, name)]
		switch {
		case !ok:
			return nil, corrupt("the archive has no entry %s", name)
		case f.Method != zip.Store:
			return nil, corrupt("entry %s is compressed, which PyTorch's are not", name)
		case f.UncompressedSize64 > left:
			return nil, corrupt("entry %s and those before it are larger than the archive", name)
		case size >= 0 && f.UncompressedSize64 != uint64(size):
			return nil, corrupt("entry %s has %d bytes, want %d", name, f.UncompressedSize64, size)
		}
		left -= f.UncompressedSize64
		return readEntry(f)
	}
	if order, err := content("byteorder", -1); err == nil && strings.TrimSpace(string(order)) == "big" {
		return nil, fmt.Errorf("its numbers are big-endian, want little-endian")
	}
	script, err := content("data.pkl", -1)
	if err != nil {
		return nil, err
	}
	u := newUnpickler(func(key string, s *storage) (err error) {
		width, known := widths[s.class.dtype]
		if !known {
			return nil // complained about when a tensor turns out to use it
		}
		s.raw, err = content("data/"+key, int64(s.size)*width)
		return err
	})
	object, _, err := u.load(script)
	return object, err
}

func readEntry(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, corrupt("entry %s: %v", f.Name, err)
	}
	defer r.Close()
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, corrupt("entry %s: %v", f.Name, err)
	}
	return raw, nil
}

// torchMagic and torchVersion are the first two objects of the format before that.
var (
	torchMagic, _ = new(big.Int).SetString("1950a86a20f9469cfc6c", 16)
	torchVersion  = 1001
)

// readLegacy reads the older format: five pickles one after another (magic, version, the machine, the object, the keys
// of its storages), then for each of these keys the number of elements and the elements.
func readLegacy(raw []byte) (any, error) {
	u := newUnpickler(func(string, *storage) error { return nil })
	next := func() (object any, err error) {
		object, raw, err = u.load(raw)
		return object, err
	}
	magic, err := next()
	if err != nil {
		return nil, err
	}
	if n, ok := magic.(*big.Int); !ok || n.Cmp(torchMagic) != 0 {
		return nil, fmt.Errorf("it is a pickle that PyTorch did not write; %s", stateDictOnly)
	}
	if got, err := next(); err != nil || got != torchVersion {
		return nil, corrupt("version %v, want %d", got, torchVersion)
	}
	machine, err := next()
	if err != nil {
		return nil, err
	}
	if d, ok := machine.(*types.Dict); ok {
		if little, ok := d.Get("little_endian"); ok && little != true {
			return nil, fmt.Errorf("its numbers are big-endian, want little-endian")
		}
	}
	object, err := next()
	if err != nil {
		return nil, err
	}
	keys, err := next()
	if err != nil {
		return nil, err
	}
	list, ok := keys.(*types.List)
	if !ok {
		return nil, corrupt("the keys of its storages are %s, want a list", describe(keys))
	}
	return object, u.fill(*list, raw)
}

// fill hands the bytes that follow the pickles to the storages.
func (u *unpickler) fill(keys []any, raw []byte) error {
	for _, k := range keys {
		key, ok := k.(string)
		s := u.storages[key]
		if !ok || s == nil {
			return corrupt("numbers of an unknown storage %s", describe(k))
		}
		width, known := widths[s.class.dtype]
		if !known {
			return fmt.Errorf("a tensor has elements of torch.%s, want floats", s.class.name)
		}
		if len(raw) < 8 || binary.LittleEndian.Uint64(raw) != uint64(s.size) ||
			int64(len(raw)-8)/width < int64(s.size) {
			return corrupt("the %d numbers of storage %s are not there; the file may be cut off", s.size, key)
		}
		n := int(int64(s.size) * width)
		s.raw, raw = raw[8:8+n], raw[8+n:]
	}
	for key, s := range u.storages {
		if s.raw == nil && s.size > 0 {
			return corrupt("storage %s has no numbers", key)
		}
	}
	if len(raw) > 0 {
		return corrupt("%d bytes follow the last tensor", len(raw))
	}
	return nil
}
