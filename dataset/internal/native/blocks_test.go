package native

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
)

// long is a set of some blocks, with ties, labels, names and a node that most histories have.
func long(t testing.TB) *data.Set {
	t.Helper()
	log, names := event.NewLog(0), make([]string, 6000)
	for i := range 100_000 {
		e := event.Event{Src: event.Node(1 + i%3000), Dst: event.Node(3001 + i*i%2999), Time: float64(i / 5)}
		if i%2 == 0 {
			e.Dst = 3000
		}
		if i == 70_000 {
			e.Label = 1
		}
		if _, err := log.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	for i := range names {
		names[i] = fmt.Sprintf("node number %d", i+1)
	}
	s := data.Featureless("long", log)
	var err error
	s.Node.Rows = 6001
	if s.Names, err = data.NewNames(names, 0); err != nil {
		t.Fatal(err)
	}
	return s
}

// What is stored of a set is what would be derived of it, for every node and any part of the log.
func TestStoredEqualsDerived(t *testing.T) {
	one, none := event.NewLog(1), event.NewLog(0)
	one.Append(event.Event{Src: 2, Dst: 2, Time: 7})
	for _, s := range []*data.Set{everything(t), long(t), data.Featureless("one", one),
		data.Featureless("none", none)} {
		got, d, err := decode("x.dgm", aligned(saved(t, s)))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(d.checkAll(got)...); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		if _, ok := got.Log.Index().(*index.File); ok != (s.Log.Len() > 0) {
			t.Errorf("%s: no histories", s.Name)
		}
		if got.Hash() != s.Hash() || got.NumNodes() != max(1, s.NumNodes()) || got.Log.NumNodes() != s.Log.NumNodes() {
			t.Errorf("%s: hash %s of %d nodes, want %s of %d", s.Name, got.Hash(), got.NumNodes(), s.Hash(),
				s.NumNodes())
		}
		sub := *got
		if sub.Log = got.Log.Part(0, got.Log.Len()/2); sub.Log.Len() > 0 && sub.Hash() == got.Hash() {
			t.Errorf("%s: half of it has the same hash", s.Name)
		}
	}
}

// A damaged block is named with file, section and number: when it is read, and not before.
func TestDamagedBlock(t *testing.T) {
	good := saved(t, long(t))
	d, err := readTable("x.dgm", aligned(good))
	if err != nil {
		t.Fatal(err)
	}
	type read func(s *data.Set)
	all := func(s *data.Set) { s.Log.All() }
	whole := func(s *data.Set) {
		past := index.Freeze(s.Log)
		for n := range event.Node(past.NumNodes()) {
			past.Before(n, 1e9)
		}
	}
	for _, c := range []struct {
		kind uint32
		at   int64
		read read
		want string
	}{
		{Source, 300_000, all, "section source, block 0 (bytes 0 to 400000 of the section)"},
		{Label, 7, all, "section label, block 0"},
		{starts, 40, whole, "section starts, block 0"},
		{histories, 2_500_000, whole, "section histories, block 2 (bytes 2097152 to 3145728 of the section)"},
		{NameText, 77, func(s *data.Set) { s.Names.Name(3) }, "section name text, block 0"},
		{NameEnds, 77, func(s *data.Set) { s.Names.Source("node number 9") }, "section name ends, block 0"},
	} {
		b := aligned(good)
		b[d.sections[c.kind].offset+c.at] ^= 1
		s, _, err := decode("x.dgm", b)
		if err != nil {
			t.Errorf("%s: opening found %v", c.want, err)
			continue
		}
		func() {
			defer func() {
				e, ok := recover().(*event.DamageError)
				var in *input.Error
				if !ok || !errors.As(e, &in) || in.File != "x.dgm" || !strings.Contains(e.Error(), c.want) {
					t.Errorf("%s: %v", c.want, e)
				}
			}()
			c.read(s)
		}()
		if err := checked(b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: check found %v", c.want, err)
		}
	}
}

// Histories are checked block by block: those in other blocks can be read.
func TestOtherBlocksAreRead(t *testing.T) {
	good := saved(t, long(t))
	d, err := readTable("x.dgm", aligned(good))
	if err != nil {
		t.Fatal(err)
	}
	b := aligned(good)
	b[d.sections[histories].offset+d.sections[histories].length-1] ^= 1
	s, d, err := decode("x.dgm", b)
	if err != nil {
		t.Fatal(err)
	}
	if got := index.Freeze(s.Log).Before(5, 1e9).Len(); got == 0 {
		t.Error("no history")
	}
	read := 0
	for i := range d.blocks[histories].fine {
		if d.blocks[histories].fine[i].Load() {
			read++
		}
	}
	if n := len(d.blocks[histories].sums); read == 0 || read >= n {
		t.Errorf("%d of %d blocks were read for one history", read, n)
	}
}

// All damaged blocks are reported by a check, not just the first.
func TestCheckReportsAll(t *testing.T) {
	good := saved(t, long(t))
	d, err := readTable("x.dgm", aligned(good))
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int64{10, 1_200_000, 3_100_000} {
		good[d.sections[histories].offset+at] ^= 1
	}
	good[d.sections[Time].offset] ^= 1
	path := filepath.Join(t.TempDir(), "x.dgm")
	if err := os.WriteFile(path, good, 0o644); err != nil {
		t.Fatal(err)
	}
	set, found, err := Check(path)
	if set != nil || err != nil || found.Total != 4 || len(found.List) != 4 {
		t.Errorf("%v, %v", found, err)
	}
	if err := os.Truncate(path, int64(len(good)/2)); err != nil {
		t.Fatal(err)
	}
	_, found, err = Check(path)
	if err != nil || found.Total != 1 || !strings.Contains(found.List[0].Error(), "cut off") {
		t.Errorf("%v, %v", found, err)
	}
}

// Files that earlier versions wrote still open, and hold the same data.
func TestOldVersions(t *testing.T) {
	one := event.NewLog(1)
	one.Append(event.Event{Src: 1, Dst: 2, Time: 0.5})
	for name, want := range map[string]*data.Set{"version1": data.Featureless("tiny", one), "version2": everything(t)} {
		path := filepath.Join("testdata", name+".dgm")
		got, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if got.Hash() != want.Hash() || got.Name != want.Name || got.Names.Len() != want.Names.Len() {
			t.Errorf("%s: %+v", name, got)
		}
		if !bytes.Equal(saved(t, got), saved(t, want)) {
			t.Errorf("%s: saved again, not the bytes of a new file", name)
		}
		got.Close()
		old, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range old {
			b := aligned(old)
			b[i] ^= 0x40
			d, err := readTable("x.dgm", aligned(old))
			if err != nil {
				t.Fatal(err)
			}
			if err := checked(b); err == nil && !inPadding(d.sections, old, i) {
				t.Errorf("%s: byte %d can change without notice", name, i)
			}
		}
	}
}
