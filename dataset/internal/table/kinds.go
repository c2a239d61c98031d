package table

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/event"
)

// kindNames numbers the kinds of events in the order in which they come.
type kindNames struct {
	list  []string
	known map[string]event.Kind
	block []event.Kind // of the rows of a block
}

// read numbers the kinds of a block. The result gives the one of each row.
func (k *kindNames) read(im *importer, b *importBlock) func(row int) event.Kind {
	if im.KindOfFile && len(b.spot) > 0 {
		of := k.number(im, b, 0, []byte(fileKind(im.reader.path)))
		return func(int) event.Kind { return of }
	}
	if im.reader.cols.Kind == "" {
		return func(int) event.Kind { return 0 }
	}
	k.block = k.block[:0]
	for i, cell := range b.kind {
		k.block = append(k.block, k.number(im, b, i, bytes.TrimSpace(cell)))
	}
	return func(row int) event.Kind { return k.block[row] }
}

// number is the number of a kind, a new one if it was not seen before. What cannot be a kind is complained about.
func (k *kindNames) number(im *importer, b *importBlock, row int, cell []byte) event.Kind {
	if of, ok := k.known[string(cell)]; ok {
		return of
	}
	bad := func(found, want string) event.Kind {
		b.place(im.reader.path, row).Bad(im.Kind, found, want)
		return 0
	}
	switch {
	case len(cell) == 0:
		return bad(`""`, "the kind of the event")
	case len(cell) > data.MaxKindName || !utf8.Valid(cell):
		return bad(input.Quote(cell), fmt.Sprintf("a kind of at most %d bytes of valid UTF-8", data.MaxKindName))
	case len(k.list) >= data.MaxKinds:
		return bad(fmt.Sprintf("more than %d different kinds", data.MaxKinds),
			"few kinds; the option Features takes columns with many values")
	}
	name := string(cell)
	k.add(name)
	return event.Kind(len(k.list))
}

func (k *kindNames) add(names ...string) {
	if k.known == nil {
		k.known = map[string]event.Kind{}
	}
	for _, name := range names {
		k.list = append(k.list, name)
		k.known[name] = event.Kind(len(k.list))
	}
}

// fileKind is the kind of all events of a file: its name without endings.
func fileKind(path string) string {
	name := filepath.Base(path)
	if cut, _, found := strings.Cut(name, "."); found && cut != "" {
		return cut
	}
	return name
}
