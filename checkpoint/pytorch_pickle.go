package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/nlpodyssey/gopickle/pickle"
	"github.com/nlpodyssey/gopickle/types"
)

// unpickler turns pickles into values. It knows the names that PyTorch uses for tensors and refuses all others.
type unpickler struct {
	storages map[string]*storage // by key
	found    func(key string, s *storage) error
}

// newUnpickler makes one that calls found with every storage when it is first mentioned.
func newUnpickler(found func(key string, s *storage) error) *unpickler {
	return &unpickler{map[string]*storage{}, found}
}

// largestPickle bounds what a pickle may be: it describes tensors, a few hundred bytes each, and does not hold them.
const largestPickle = 4 << 20

// load reads the pickle at the beginning of raw and returns what follows it.
func (u *unpickler) load(raw []byte) (object any, rest []byte, err error) {
	n, err := pickleLen(raw)
	if err != nil {
		return nil, nil, err
	}
	if n > largestPickle {
		return nil, nil, corrupt("a pickle of %d bytes; %s", n, stateDictOnly)
	}
	defer func() {
		if p := recover(); p != nil { // gopickle indexes what it has not counted
			object, err = nil, corrupt("a pickle that makes no sense: %v", p)
		}
	}()
	p := pickle.NewUnpickler(bytes.NewReader(raw[:n]))
	p.FindClass = findClass
	p.PersistentLoad = u.persistent
	object, err = p.Load()
	if err != nil {
		return nil, nil, wrapCorrupt(err)
	}
	return object, raw[n:], nil
}

// wrapCorrupt marks gopickle's own complaints; ours are marked.
func wrapCorrupt(err error) error {
	for _, known := range []error{ErrCorrupt, ErrForeignCode} {
		if errors.Is(err, known) {
			return err
		}
	}
	return corrupt("%v", err)
}

// findClass is asked for every Python name in the file.
func findClass(module, name string) (any, error) {
	switch full := module + "." + name; {
	case full == "torch._utils._rebuild_tensor_v2", full == "torch._utils._rebuild_tensor":
		return rebuildTensor{}, nil
	case full == "torch._utils._rebuild_parameter":
		return rebuildParameter{}, nil
	case module == "torch" && strings.HasSuffix(name, "Storage"):
		return storageClass{name, storageTypes[name]}, nil
	default:
		return nil, fmt.Errorf("%w: %.100q, which is not run; %s", ErrForeignCode, full, stateDictOnly)
	}
}

// persistent answers ("storage", class, key, device, elements, …).
func (u *unpickler) persistent(id any) (any, error) {
	tuple, ok := id.(*types.Tuple)
	if !ok || tuple.Len() < 5 || tuple.Get(0) != "storage" {
		return nil, corrupt("a reference to %s, want a storage", describe(id))
	}
	class, isClass := tuple.Get(1).(storageClass)
	key, isKey := tuple.Get(2).(string)
	size, isSize := tuple.Get(4).(int)
	if !isClass || !isKey || !isSize || size < 0 || size > 1<<40 {
		return nil, corrupt("a storage of class %s, key %s and size %s",
			describe(tuple.Get(1)), describe(tuple.Get(2)), describe(tuple.Get(4)))
	}
	if tuple.Len() > 5 && tuple.Get(5) != nil {
		return nil, fmt.Errorf("storage %s is part of another one, as only PyTorch before 0.4 wrote it; "+
			"load and save it with a newer one", key)
	}
	if s, ok := u.storages[key]; ok {
		if s.class != class || s.size != size {
			return nil, corrupt("storage %s is described in two ways", key)
		}
		return s, nil
	}
	s := &storage{class: class, size: size}
	u.storages[key] = s
	return s, u.found(key, s)
}

// How many bytes follow an opcode of the pickle format.
const (
	oneLine  = -1 // up to a newline
	twoLines = -2 // up to the second newline
	length1  = -3 // a length of 1, 4 or 8 bytes, and as many bytes
	length4  = -4
	length8  = -5
)

// opcodes are those of pickle protocols 0 to 5, by their argument.
var opcodes = func() (table [256]struct {
	known    bool
	argument int
}) {
	for argument, codes := range map[int]string{
		0:        "(.012NRtl]d}aesub)oQ\x81\x85\x86\x87\x88\x89\x8f\x90\x91\x92\x93\x94\x97\x98",
		1:        "Kqh\x80\x82",
		2:        "M\x83",
		4:        "Jjr\x84",
		8:        "G\x95",
		oneLine:  "ILFSVPgp",
		twoLines: "ci",
		length1:  "UC\x8a\x8c",
		length4:  "TBX\x8b",
		length8:  "\x8d\x8e\x96",
	} {
		for i := range len(codes) {
			table[codes[i]].known, table[codes[i]].argument = true, argument
		}
	}
	return table
}()

// pickleLen is the length of the pickle at the beginning of raw. It makes sure that everything the pickle says is that
// long is there, so that no one allocates memory for it in vain.
func pickleLen(raw []byte) (int, error) {
	cut := corrupt("a pickle that does not end; the file may be cut off")
	for at := 0; at < len(raw); {
		code := raw[at]
		at++
		if code == '.' {
			return at, nil
		}
		op := opcodes[code]
		if !op.known {
			return 0, corrupt("byte %#x is no instruction of a pickle", code)
		}
		n, ok := argumentLen(op.argument, raw[at:])
		if code == 0x95 && ok && binary.LittleEndian.Uint64(raw[at:]) > uint64(len(raw)-at) {
			ok = false // a frame, whose length comes before it
		}
		if !ok {
			return 0, cut
		}
		at += n
	}
	return 0, cut
}

// argumentLen is the length of an argument at the beginning of raw, false if that is not all there.
func argumentLen(argument int, raw []byte) (int, bool) {
	size := uint64(0)
	switch argument {
	case oneLine, twoLines:
		n := 0
		for range -argument {
			i := bytes.IndexByte(raw[n:], '\n')
			if i < 0 {
				return 0, false
			}
			n += i + 1
		}
		return n, true
	case length1, length4, length8:
		head := [...]int{1, 4, 8}[length1-argument]
		if len(raw) < head {
			return 0, false
		}
		for i := head - 1; i >= 0; i-- {
			size = size<<8 | uint64(raw[i])
		}
		return head + int(size), size <= uint64(len(raw)-head)
	}
	return argument, argument <= len(raw)
}
