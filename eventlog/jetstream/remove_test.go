package jetstream

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/internal/brokertest"
	"github.com/dygmamba/dygmamba/internal/eventlogtest"
)

const secret = "erika.mustermann"

// TestErasedIsGone: not a byte of an erased event is left in the files of the server, and another server that follows
// hears of it. A removal whose server ended before it was carried out is carried out by the next.
func TestErasedIsGone(t *testing.T) {
	dir := t.TempDir()
	s := brokertest.Run(t, brokertest.Settings(dir))
	l, other := open(t, s.ClientURL(), Options{}), open(t, s.ClientURL(), Options{})
	var gone []uint64
	for i := range 30 {
		events := eventlogtest.Events(fmt.Sprint("other", i), 1+i%4)
		if i%3 == 0 {
			events[0] = eventlog.Event{Src: secret, Dst: strings.Repeat(secret, 1+i), ID: secret}
			events = append(events, events[0])
		}
		r, err := l.Append(t.Context(), fmt.Sprint("k", i), events)
		if err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 {
			gone = append(gone, r.Last-uint64(r.Accepted)+1, r.Last)
		}
	}
	found := func() (n int) {
		t.Helper()
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			raw, err := os.ReadFile(path)
			n += bytes.Count(raw, []byte(secret))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if found() == 0 {
		t.Fatal("the test finds nothing")
	}
	for _, part := range [][]uint64{{gone[0]}, gone[1:7]} { // the second replaces what the first left
		if _, err := l.Remove(t.Context(), eventlog.Removal{Sequences: part}); err != nil {
			t.Fatal(err)
		}
	}
	record, _ := eventlog.EncodeRemoval(nil, eventlog.Removal{Sequences: gone[7:]})
	if _, err := l.correct(t.Context(), record, map[string]string{headerRemoval: "events"}); err != nil { // and a crash
		t.Fatal(err)
	}
	l.Close()
	if found() == 0 {
		t.Error("the third removal was carried out already")
	}
	for _, l := range []*Log{other, open(t, s.ClientURL(), Options{}), open(t, s.ClientURL(), Options{})} {
		erased, text := 0, ""
		for _, b := range eventlogtest.Read(t, l, 0) {
			for _, e := range b.Events {
				if text += e.Src + e.Dst; e.Erased {
					erased++
				}
			}
		}
		removals := eventlogtest.Removed(t, l, 0)
		if erased != len(gone) || strings.Contains(text, secret) || len(removals) != 3 || l.Last() != removals[2].Last {
			t.Errorf("%d events are erased, want %d, by %d removals", erased, len(gone), len(removals))
		}
	}
	if n := found(); n > 0 {
		t.Errorf("the erased name is %d times in the files of the server", n)
	}
}

// Streams of earlier versions still open, and say why nothing can be removed from them.
func TestOldStreamsKeepTheirMessages(t *testing.T) {
	s := brokertest.Run(t, brokertest.Settings(t.TempDir()))
	first := open(t, s.ClientURL(), Options{Stream: "other"})
	old := first.wanted()
	old.Name, old.Subjects, old.DenyDelete = "dygmamba", []string{"dygmamba.events"}, true
	if _, err := first.js.CreateStream(context.Background(), old); err != nil {
		t.Fatal(err)
	}
	l := open(t, s.ClientURL(), Options{})
	appendTo(t, l, "k", 2)
	_, err := l.Remove(t.Context(), eventlog.Removal{Sequences: []uint64{1}})
	if err == nil || !strings.Contains(err.Error(), "deny_delete") || l.Removals() != 0 {
		t.Errorf("%v, %d removals", err, l.Removals())
	}
}
