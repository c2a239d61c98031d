package native

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/feature"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/dataset/internal/synth"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/protocol"
)

// aligned copies bytes to where columns may lie.
func aligned(b []byte) []byte {
	words := make([]int64, len(b)/8+1)
	out := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8)[:len(b)]
	copy(out, b)
	return out
}

// everything is a set that uses every section.
func everything(t testing.TB) *data.Set {
	t.Helper()
	log := event.NewLog(3)
	for _, e := range []event.Event{{Src: 1, Dst: 3, Time: 1.5, Label: 1, Edge: 2},
		{Src: 2, Dst: 3, Time: 1.5, Edge: 1}, {Src: 1, Dst: 4, Time: 9, Edge: 3}} {
		if _, err := log.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	names := data.NamesFrom(data.NameColumns{Text: []byte("annbobannücarl"), Ends: []int64{3, 6, 9, 11, 15},
		Later: []event.Node{5}}, 2)
	until := 1.5
	recipe := &data.Recipe{Source: "who", Target: "what", Time: "when", FittedUntil: &until,
		Edge: data.Encoding{Plain: []string{"w"}, PlainWidth: 1,
			Columns: []*feature.Column{{Name: "price", Kind: feature.Number, Mean: 2, Deviation: 3}}}}
	return &data.Set{Recipe: recipe, Name: "all", Log: log, Bipartite: true, Sampling: protocol.Native,
		TimeFormat: input.TimeDate, Names: names,
		Edge: data.Features{Rows: 4, Cols: 2, Data: []float32{0, 0, 1, 2, 3, 4, 5, 6}}, Node: data.Features{Rows: 6,
			Cols: 1, Data: []float32{0, 1, 2, 3, 4, 5}}}
}

func saved(t testing.TB, s *data.Set) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.dgm")
	if err := Save(path, s); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestNative(t *testing.T) {
	for _, s := range []*data.Set{everything(t), must(synth.Paper("s1", synth.PaperOptions{})),
		must(synth.Periodic(synth.PeriodicOptions{}))} {
		path := filepath.Join(t.TempDir(), "x.dgm")
		if err := Save(path, s); err != nil {
			t.Fatal(err)
		}
		got, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if got.Hash() != s.Hash() || got.Name != s.Name || got.Sampling != s.Sampling ||
			got.TimeFormat != s.TimeFormat || got.Bipartite != s.Bipartite {
			t.Errorf("%+v\n%+v", got, s)
		}
		if got.Names.Len() != s.Names.Len() || got.Names.Sources() != s.Names.Sources() ||
			got.Names.Name(3) != s.Names.Name(3) {
			t.Errorf("names of %s", s.Name)
		}
		if diff := cmp.Diff(s.Recipe, got.Recipe, cmpopts.IgnoreUnexported(feature.Column{})); diff != "" {
			t.Errorf("%s: recipe (-want +got):\n%s", s.Name, diff)
		}
		if again := saved(t, got); !bytes.Equal(again, saved(t, s)) {
			t.Errorf("%s: saved twice, not the same bytes", s.Name)
		}
		if err := got.Close(); err != nil {
			t.Error(err)
		}
	}
}

func must(s *data.Set, err error) *data.Set {
	if err != nil {
		panic(err)
	}
	return s
}

// checked opens the bytes of a file and looks at all of it. The error is about the first thing that is wrong.
func checked(raw []byte) error {
	s, d, err := decode("x.dgm", raw)
	if err != nil {
		return err
	}
	return errors.Join(d.checkAll(s)...)
}

// No byte of a file may change, and none may be missing, without notice.
func TestNativeDamage(t *testing.T) {
	good := saved(t, everything(t))
	check := func(what string, at int, b []byte) {
		t.Helper()
		err := checked(aligned(b))
		var in *input.Error
		if !errors.As(err, &in) {
			t.Errorf("%s %d: %v", what, at, err)
		}
	}
	d, err := readTable("x.dgm", aligned(good))
	if err != nil {
		t.Fatal(err)
	}
	secs := d.sections
	padding := 0
	for i := range good {
		b := bytes.Clone(good)
		b[i] ^= 0x40
		if inPadding(secs, good, i) {
			padding++
			continue
		}
		check("flipped byte", i, b)
		check("cut to", i, good[:i])
	}
	check("appended to", len(good), append(bytes.Clone(good), 0))
	if padding > len(good)/2 {
		t.Errorf("%d of %d bytes are padding", padding, len(good))
	}
}

// inPadding says whether byte i is between sections.
func inPadding(secs map[uint32]section, b []byte, i int) bool {
	table := int(binary.LittleEndian.Uint64(b[40:]))
	if i < headerSize || i >= table {
		return false
	}
	for _, s := range secs {
		if int64(i) >= s.offset && int64(i) < s.offset+s.length {
			return false
		}
	}
	return true
}

// reseal makes all checksums right again.
func reseal(b []byte) []byte {
	b = aligned(b)
	if len(b) < headerSize {
		return b
	}
	le := binary.LittleEndian
	at, n := le.Uint64(b[40:]), uint64(le.Uint32(b[56:]))
	le.PutUint64(b[48:], uint64(len(b)))
	if size := uint64(len(b)); n <= maxSections && at <= size && at+n*entrySize <= size {
		table := b[at : at+n*entrySize]
		within := func(s section) bool {
			return s.offset >= 0 && s.offset <= int64(size) && s.length <= int64(size)-s.offset
		}
		var sums []byte
		for e := table; len(e) > 0; e = e[entrySize:] {
			s := decodeSection(e)
			if !within(s) || s.kind == checksums {
				continue
			}
			for all := b[s.offset : s.offset+s.length]; len(all) > 0; all = all[min(blockSize, len(all)):] {
				sums = le.AppendUint32(sums, crc32.Checksum(all[:min(blockSize, len(all))], castagnoli))
			}
		}
		for e := table; len(e) > 0; e = e[entrySize:] {
			s := decodeSection(e)
			if !within(s) || le.Uint32(b[8:]) == version && s.kind != checksums {
				continue
			}
			own := b[s.offset : s.offset+s.length]
			if s.kind == checksums {
				copy(own, sums)
			}
			le.PutUint32(e[4:], crc32.Checksum(own, castagnoli))
		}
		le.PutUint32(b[60:], crc32.Checksum(table, castagnoli))
	}
	le.PutUint32(b[headerSize-4:], crc32.Checksum(b[:headerSize-4], castagnoli))
	return b
}

// Files that other programs could have made wrong, with right checksums.
func TestNativeNonsense(t *testing.T) {
	good := saved(t, everything(t))
	d, err := readTable("x.dgm", aligned(good))
	if err != nil {
		t.Fatal(err)
	}
	secs := d.sections
	le := binary.LittleEndian
	at := func(kind uint32, off int) int { return int(secs[kind].offset) + off }
	entry := func(kind uint32) int { // of the section table
		for e := int(le.Uint64(good[40:])); ; e += entrySize {
			if le.Uint32(good[e:]) == kind {
				return e
			}
		}
	}
	for _, c := range []struct {
		name string
		edit func(b []byte)
		want string
	}{
		{"node 0", func(b []byte) { le.PutUint32(b[at(Source, 0):], 0) }, "found row 0: invalid event: source 0"},
		{"node above", func(b []byte) { le.PutUint32(b[at(Destination, 4):], 6) }, "found node 6; want nodes up to 5"},
		{"infinite time", func(b []byte) { le.PutUint64(b[at(Time, 8):], math.Float64bits(math.Inf(1))) }, "time +Inf"},
		{"order", func(b []byte) { le.PutUint64(b[at(Time, 16):], math.Float64bits(1)) }, "found times that decrease"},
		{"edge twice", func(b []byte) { le.PutUint32(b[at(Edge, 0):], 1) },
			"row 2, column edge: found 1; want every edge id once, and below 4"},
		{"edge without features", func(b []byte) { le.PutUint32(b[at(Edge, 0):], 9) }, "row 1, column edge: found 9"},
		{"feature shape", func(b []byte) { le.PutUint64(b[entry(EdgeFeatures)+24:], 5) },
			"found section edge features of 32 bytes; want 5 rows of 2 values"},
		{"node feature rows", func(b []byte) { le.PutUint64(b[24:], 6) }, "found 6 rows of node features; want 7"},
		{"name ends", func(b []byte) { le.PutUint64(b[at(NameEnds, 8):], 1<<40) },
			"column name ends: found 1099511627776; want ends that ascend to 15"},
		{"events", func(b []byte) { le.PutUint64(b[16:], 1<<60) }, "found 1152921504606846976 events"},
		{"fewer events", func(b []byte) { le.PutUint64(b[16:], 2) }, "found section source of 12 bytes; want 2 values"},
		{"version", func(b []byte) { le.PutUint32(b[8:], 4) }, "found format version 4; want version 1 to 3"},
		{"starts", func(b []byte) { le.PutUint32(b[at(starts, 8):], 7) }, "found section starts that does not ascend"},
		{"starts of others", func(b []byte) { le.PutUint32(b[at(starts, 8):], 1) },
			"found section starts with numbers of other events"},
		{"history of others", func(b []byte) { le.PutUint32(b[at(histories, 16):], 4) },
			"found section histories with entries of other events, nodes 0 to 1"},
		{"facts", func(b []byte) { b[at(facts, 0)] = '[' }, "found section facts that is not JSON"},
		{"facts of others", func(b []byte) {
			text := b[at(facts, 0):][:secs[facts].length]
			copy(text[bytes.Index(text, []byte("sha256"))+9:], "0123")
		}, "found section facts with {LastNode:4 Hash:0123"},
		{"last node", func(b []byte) {
			text := b[at(facts, 0):][:secs[facts].length]
			text[bytes.Index(text, []byte("last_node"))+11] = '9'
		}, "found node 9; want nodes up to 5"},
		{"too few checksums", func(b []byte) { le.PutUint64(b[entry(checksums)+16:], 8) },
			"found section checksums of 8 bytes; want 4 for each block"},
		{"sections", func(b []byte) { le.PutUint32(b[56:], 1<<30) }, "found a table of 1073741824 sections"},
		{"section outside", func(b []byte) { le.PutUint64(b[entry(Time)+8:], 1<<50) }, "found section time at bytes"},
		{"section missing", func(b []byte) { le.PutUint32(b[entry(Time):], 99) },
			"found section time of 0 bytes; want 3 values"},
		{"about", func(b []byte) { b[at(about, 0)] = '[' }, "found section about that is not JSON"},
		{"sources", func(b []byte) { le.PutUint64(b[32:], 6) }, "6 of them sources"},
		{"later sources", func(b []byte) { le.PutUint32(b[at(LaterSources, 0):], 2) },
			"row 1, column later sources: found 2; want ids that ascend from 3 to 5"},
		{"recipe", func(b []byte) { b[at(recipe, 0)] = '[' }, "found section recipe that does not fit"},
		{"another recipe", func(b []byte) {
			text := b[at(recipe, 0):][:secs[recipe].length]
			copy(text, bytes.Replace(text, []byte(`"deviation":3`), []byte(`"deviation":0`), 1))
		}, `column "price" of kind "number": mean 2, deviation 0`},
	} {
		b := bytes.Clone(good)
		c.edit(b)
		err := checked(reseal(b))
		var in *input.Error
		if !errors.As(err, &in) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	if err := checked(reseal(good)); err != nil {
		t.Error(err)
	}
}

func TestNativeSmall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.dgm")
	for _, text := range []string{"", "hello", strings.Repeat("x", 300)} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		var in *input.Error
		if _, err := Open(path); !errors.As(err, &in) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The examples in docs/FORMATS.md rest on these bytes.
func TestNativeBytes(t *testing.T) {
	log := event.NewLog(1)
	log.Append(event.Event{Src: 1, Dst: 2, Time: 0.5})
	b := saved(t, data.Featureless("tiny", log))
	want := "\x89DGM\r\n\x1a\n\x03\x00\x00\x00\x01\x00\x00\x00" +
		"\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
		"\xc0\x02\x00\x00\x00\x00\x00\x00\xa0\x04\x00\x00\x00\x00\x00\x00\x0a\x00\x00\x00"
	if got := string(b[:60]); got != want {
		t.Errorf("header %x\nwant   %x", got, want)
	}
	for at, want := range map[int]string{0x80: "\x01\x00\x00\x00", 0xc0: "\x02\x00\x00\x00",
		0x100: "\x00\x00\x00\x00\x00\x00\xe0\x3f",
		0x180: "\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00",
		0x1c0: "\x00\x00\x00\x00\x00\x00\xe0\x3f\x02\x00\x00\x00\x01\x00\x00\x00",
		0x1d0: "\x00\x00\x00\x00\x00\x00\xe0\x3f\x01\x00\x00\x00\x01\x00\x00\x00",
		0x200: `{"last_node":2,"sha256":"978d6b2a`} {
		if got := string(b[at : at+len(want)]); got != want {
			t.Errorf("%#x: %x, want %x", at, got, want)
		}
	}
	if len(b) != 1184 {
		t.Errorf("%d bytes", len(b))
	}
}

// readHistories reads those of all nodes; what is wrong with them is a *event.DamageError about the file.
func readHistories(t *testing.T, s *data.Set) {
	defer func() {
		if p := recover(); p != nil {
			var in *input.Error
			if d, ok := p.(*event.DamageError); !ok || !errors.As(d, &in) {
				panic(p)
			}
		}
	}()
	past := index.Freeze(s.Log)
	for n := range event.Node(past.NumNodes()) {
		h := past.Before(n, math.Inf(1))
		for i, other := range h.Node {
			s.Edge.Row(int(h.Edge[i]))
			s.Node.Row(int(other))
		}
	}
}

func FuzzNative(f *testing.F) {
	f.Add(saved(f, everything(f)))
	log := event.NewLog(1)
	log.Append(event.Event{Src: 1, Dst: 2, Time: 0.5})
	f.Add(saved(f, data.Featureless("tiny", log)))
	f.Add([]byte(input.NativeMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, raw := range [][]byte{aligned(b), reseal(b)} {
			s, _, err := decode("fuzz.dgm", raw)
			if err == nil {
				err = errors.Join(s.Log.Verify(), s.Names.Verify())
			}
			if err != nil {
				var in *input.Error
				if !errors.As(err, &in) {
					t.Fatalf("%T: %v", err, err)
				}
				continue
			}
			readHistories(t, s)
			s.Know("")
			s.Hash()
			data.Stats(s)
			for i := range s.Log.Len() {
				e := s.Log.At(i)
				s.Edge.Row(int(e.Edge))
				s.Node.Row(int(e.Src))
				name := s.Names.Name(e.Dst)
				s.Names.Target(name)
			}
			if s.Recipe == nil {
				continue
			}
			for _, c := range append(s.Recipe.Edge.Columns, s.Recipe.Node.Columns...) {
				for _, cell := range []string{"", "7", "tea", "2024-05-01"} {
					c.Encode([]byte(cell), make([]float32, c.Width()))
				}
				c.About()
			}
			if titles := s.Recipe.Edge.Titles(); len(titles) != 0 && len(titles) != s.Edge.Cols {
				t.Fatalf("%d titles of %d features", len(titles), s.Edge.Cols)
			}
		}
	})
}

// TestNativeKinds: the kinds of events come back, and one without a name is named.
func TestNativeKinds(t *testing.T) {
	log := event.NewLog(3)
	for i := range 3 {
		if _, err := log.Append(event.Event{Src: 1, Dst: 2, Time: float64(i), Kind: event.Kind(i)}); err != nil {
			t.Fatal(err)
		}
	}
	s := data.Featureless("kinds", log)
	s.Kinds = []string{"viewed", "bought"}
	got, _, err := decode("f.dgm", aligned(saved(t, s)))
	if err != nil || got.Log.Verify() != nil {
		t.Fatal(err, got.Log.Verify())
	}
	if got.Hash() != s.Hash() || got.KindName(got.Log.At(2).Kind) != "bought" || got.Log.At(0).Kind != 0 {
		t.Errorf("came back with kinds %q, event 3 is %+v", got.Kinds, got.Log.At(2))
	}
	for _, bad := range [][]string{{"viewed"}, {"viewed", "viewed"}, {"viewed", ""}} {
		s.Kinds = bad
		if err := checked(saved(t, s)); err == nil || !strings.Contains(err.Error(), "kind") {
			t.Errorf("kinds %q: %v", bad, err)
		}
	}
}
