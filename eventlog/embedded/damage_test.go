package embedded

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/internal/eventlogtest"
)

// written is a log of some batches, closed, and what it has.
func written(t *testing.T) (dir string, batches []eventlog.Batch) {
	dir = t.TempDir()
	l := open(t, dir, Options{})
	for i := range 60 {
		appendTo(t, l, fmt.Sprint("key", i), 1+i%40)
	}
	batches = eventlogtest.Read(t, l, 0)
	l.Close()
	return dir, batches
}

func content(t *testing.T, dir string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, File))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func replace(t *testing.T, dir string, b []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, File), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// readAll is what a log hands out until it ends or complains.
func readAll(dir string) (all []eventlog.Batch, err error) {
	l, err := Open(dir, Options{})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	last, done := l.Last(), errors.New("done")
	if last == 0 {
		return nil, nil
	}
	err = l.Follow(context.Background(), 0, func(b eventlog.Batch) error {
		if all = append(all, b); b.Last >= last {
			return done
		}
		return nil
	})
	if err == done {
		err = nil
	}
	return all, err
}

// A damaged record in the middle ends the reading with its sequence, after all before it were handed out.
func TestDamagedRecord(t *testing.T) {
	dir, batches := written(t)
	file := content(t, dir)
	victim := batches[30]
	record, err := eventlog.Encode(nil, victim)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.LastIndex(file, record)
	if at < 0 {
		t.Fatal("the record is not in the file as it was encoded")
	}
	for at >= 0 { // older copies are in pages that are free by now
		file[at+20] ^= 1
		at = bytes.LastIndex(file, record)
	}
	replace(t, dir, file)
	got, err := readAll(dir)
	if !errors.Is(err, eventlog.ErrDamaged) || !strings.Contains(err.Error(), fmt.Sprint("sequence ", victim.Last)) {
		t.Errorf("%v, want ErrDamaged with sequence %d", err, victim.Last)
	}
	if !reflect.DeepEqual(got, batches[:30]) {
		t.Errorf("%d batches came before it, want 30", len(got))
	}
}

// Wherever bytes are damaged: no crash, no wrong event, no gap. Batches are missing only with a complaint, or where a
// commit mark was hit, which looks like a commit that was never finished.
func TestDamagedAnywhere(t *testing.T) {
	dir, batches := written(t)
	whole := content(t, dir)
	rnd := rand.New(rand.NewPCG(1, 2))
	complaints := 0
	rounds := 400
	if testing.Short() {
		rounds = 60
	}
	for round := range rounds {
		file := bytes.Clone(whole)
		at := rnd.IntN(len(file))
		if round%2 == 0 { // where pages keep their structure
			at = at/pageSize*pageSize + rnd.IntN(64)
		}
		for i := range 1 + rnd.IntN(8) {
			file[min(at+i, len(file)-1)] = byte(rnd.Int())
		}
		replace(t, dir, file)
		got, err := readAll(dir)
		if err != nil {
			if complaints++; !errors.Is(err, eventlog.ErrDamaged) {
				t.Fatalf("bytes at %d: %v is not ErrDamaged", at, err)
			}
		}
		if len(got) > len(batches) || len(got) > 0 && !reflect.DeepEqual(got, batches[:len(got)]) {
			t.Fatalf("bytes at %d: other batches than were written", at)
		}
		if err == nil && len(got) < len(batches) && !(at < 2*pageSize && len(got) == len(batches)-1) {
			t.Fatalf("bytes at %d: %d of %d batches without a complaint", at, len(got), len(batches))
		}
	}
	t.Logf("%d of %d were noticed, the others hit free pages", complaints, rounds)
	if complaints < rounds/20 {
		t.Errorf("only %d were noticed", complaints)
	}
}

func TestCutFile(t *testing.T) {
	dir, batches := written(t)
	whole := content(t, dir)
	for _, n := range []int{0, 1, pageSize, 2 * pageSize, 4 * pageSize, 10*pageSize + 100} {
		replace(t, dir, whole[:n])
		if got, err := readAll(dir); !errors.Is(err, eventlog.ErrDamaged) {
			t.Errorf("%d bytes: %d batches, %v", n, len(got), err)
		}
		if left := content(t, dir); !bytes.Equal(left, whole[:n]) {
			t.Errorf("%d bytes: the file was changed", n)
		}
	}
	replace(t, dir, append(whole, "what a crash left behind the end"...))
	if got, err := readAll(dir); err != nil || !reflect.DeepEqual(got, batches) {
		t.Errorf("%d batches, %v", len(got), err)
	}
}

// A commit whose mark was torn is cut off, and said to be.
func TestTornCommit(t *testing.T) {
	dir, batches := written(t)
	file := content(t, dir)
	newest := 0
	if bytes.Compare(file[pageSize+64:pageSize+72], file[64:72]) > 0 { // low byte of the transaction's number first
		newest = pageSize
	}
	for i := range 30 {
		file[newest+50+i] ^= 0x55
	}
	replace(t, dir, file)
	var said []string
	l, err := Open(dir, Options{Cut: func(what string) { said = append(said, what) }})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if len(said) != 1 || !strings.Contains(said[0], "interrupted") {
		t.Errorf("said %q", said)
	}
	if want := batches[len(batches)-2].Last; l.Last() != want {
		t.Errorf("ends with %d, want %d", l.Last(), want)
	}
	last := batches[len(batches)-1]
	r, err := l.Append(context.Background(), last.Key, last.Events)
	if err != nil || r.Again || r.Last != last.Last {
		t.Errorf("sent again: %+v, %v", r, err)
	}
	if got := eventlogtest.Read(t, l, 0); !reflect.DeepEqual(got, batches) {
		t.Error("the log has other batches")
	}
}

func TestSomethingElse(t *testing.T) {
	for _, text := range []string{"", "hello", strings.Repeat("no log ", 10_000)} {
		dir := t.TempDir()
		replace(t, dir, []byte(text))
		if _, err := Open(dir, Options{}); !errors.Is(err, eventlog.ErrDamaged) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%.10q: %v", text, err)
		}
		if string(content(t, dir)) != text {
			t.Errorf("%.10q was changed", text)
		}
	}
}

// A page that refers to one above it would be followed for ever.
func TestPagesInACircle(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	for range 10 {
		appendTo(t, l, "", 20_000) // a page of its own for each record, and a branch above them
	}
	l.Close()
	file := content(t, dir)
	circles := 0
	for at := 0; at < len(file); at += pageSize {
		id, kind := binary.NativeEndian.Uint64(file[at:]), binary.NativeEndian.Uint16(file[at+8:])
		if id != uint64(at/pageSize) || kind != branchPage {
			continue
		}
		circles++
		for i := range int(binary.NativeEndian.Uint16(file[at+10:])) {
			binary.NativeEndian.PutUint64(file[at+headerSize*(i+1)+8:], id)
		}
	}
	if circles == 0 {
		t.Fatal("the log has no branches")
	}
	replace(t, dir, file)
	if got, err := readAll(dir); !errors.Is(err, eventlog.ErrDamaged) {
		t.Errorf("%d batches, %v", len(got), err)
	}
}
