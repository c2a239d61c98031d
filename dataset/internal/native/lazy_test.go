//go:build linux

package native

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/dygmamba/dygmamba/event"
)

// Opening reads no column, no history and no name: it works where their pages cannot be read at all.
func TestOpeningReadsNoColumns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.dgm")
	if err := os.WriteFile(path, saved(t, long(t)), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, _ := f.Stat()
	raw, release, err := mapFile(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	d, err := readTable(path, raw)
	if err != nil {
		t.Fatal(err)
	}
	page := int64(os.Getpagesize())
	hidden := 0
	for _, kind := range []uint32{Source, Destination, Time, Label, starts, histories, NameText, NameEnds} {
		s := d.sections[kind]
		lo, hi := (s.offset+page-1)/page*page, (s.offset+s.length)/page*page
		if lo >= hi {
			t.Fatalf("section %s has no page of its own", sectionName(kind))
		}
		if err := unix.Mprotect(raw[lo:hi], unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
		hidden++
	}
	s, d, err := decode(path, raw)
	if err != nil {
		t.Fatal(err)
	}
	if s.Log.Len() != 100_000 || s.NumNodes() != 6001 || s.Hash() == "" || s.Names.Len() != 6000 || !s.Log.Sorted() {
		t.Errorf("%d events, %d nodes", s.Log.Len(), s.NumNodes())
	}
	for kind, b := range d.blocks {
		for i := range b.fine {
			small := kind == about || kind == facts
			if b.fine[i].Load() != small {
				t.Errorf("section %s, block %d: read %v, want %v", sectionName(kind), i, b.fine[i].Load(), small)
			}
		}
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() == nil {
			t.Error("the columns could be read: this test shows nothing")
		}
	}()
	var sum event.Node
	for _, u := range columnOf[event.Node](raw[d.sections[Source].offset:][:d.sections[Source].length]) {
		sum += u
	}
	t.Log(sum, hidden)
}
