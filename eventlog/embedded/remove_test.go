package embedded

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/internal/eventlogtest"
)

// secret is what is erased: a name that must not be anywhere in the file.
const secret = "erika.mustermann"

func secrets(t *testing.T, dir string) int {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, File))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(raw, []byte(secret))
}

// TestErasedIsGone: not a byte of an erased event is left in the file, in no page, whatever was copied when others were
// written; not even after a crash right after the removal.
func TestErasedIsGone(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	var gone []uint64
	for i := range 60 {
		events := eventlogtest.Events(fmt.Sprint("other", i), 1+i%7)
		if i%3 == 0 {
			events[0] = eventlog.Event{Src: secret, Dst: strings.Repeat(secret, 1+i*10), Time: 5, ID: secret}
		}
		r, err := l.Append(context.Background(), fmt.Sprint("key", i), events)
		if err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 {
			gone = append(gone, r.Last-uint64(r.Accepted)+1)
		}
	}
	if secrets(t, dir) == 0 {
		t.Fatal("the test finds nothing")
	}
	backup, err := l.Copy()
	if err != nil {
		t.Fatal(err)
	}
	wait := make(chan struct{})
	go func() { // a copy goes on while the removal waits
		defer close(wait)
		if _, err := backup.WriteTo(&bytes.Buffer{}); err != nil {
			t.Error(err)
		}
		backup.Close()
		backup.Close()
	}()
	if _, err := l.Remove(context.Background(), eventlog.Removal{Sequences: gone[:10]}); err != nil {
		t.Fatal(err)
	}
	<-wait
	eventlogtest.Read(t, l, 0)
	rest := eventlog.Removal{Sequences: gone[10:]}
	if err := l.db.Update(func(tx *bolt.Tx) error { return l.remove(tx, &rest) }); err != nil { // and a crash
		t.Fatal(err)
	}
	l.Close()
	if secrets(t, dir) == 0 {
		t.Log("nothing was left before the log was opened")
	}
	l = open(t, dir, Options{})
	if n := secrets(t, dir); n > 0 {
		t.Errorf("the erased name is %d times in the file", n)
	}
	if l.Removals() != 2 || l.dirty && l.scrub() != nil {
		t.Errorf("%d removals", l.Removals())
	}
	for i := range 20 {
		appendTo(t, l, fmt.Sprint("more", i), 3)
	}
	l.Close()
	l = open(t, dir, Options{})
	if l.dirty || len(eventlogtest.Read(t, l, 0)) != 80 {
		t.Error("the log is not as it was")
	}
}
