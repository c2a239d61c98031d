package embedded

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/internal/eventlogtest"
)

type store string

func (s store) Open(t *testing.T) eventlog.Log { return open(t, string(s), Options{}) }

func open(t testing.TB, dir string, o Options) *Log {
	t.Helper()
	l, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func appendTo(t testing.TB, l *Log, key string, n int) eventlog.Receipt {
	t.Helper()
	r, err := l.Append(context.Background(), key, eventlogtest.Events(key, n))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEmbedded(t *testing.T) {
	eventlogtest.Run(t, func(t *testing.T) eventlogtest.Store {
		return store(filepath.Join(t.TempDir(), "deep", "dir"))
	})
}

func TestOnlyItsFileIsLeft(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, Options{})
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != File {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestInUse(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	appendTo(t, l, "k", 3)
	if _, err := Open(dir, Options{}); !errors.Is(err, eventlog.ErrInUse) || !strings.Contains(err.Error(), dir) {
		t.Errorf("the second one was told %v", err)
	}
	l.Close()
	if again := open(t, dir, Options{}); again.Last() != 3 {
		t.Errorf("ends with %d", again.Last())
	}
}

// Of many that make the same log at once one gets it, and what it acknowledged stays.
func TestMadeAtOnce(t *testing.T) {
	for range 5 {
		dir := filepath.Join(t.TempDir(), "d")
		var wg sync.WaitGroup
		won := make(chan *Log, 8)
		for range 8 {
			wg.Go(func() {
				l, err := Open(dir, Options{})
				if err == nil {
					appendTo(t, l, "k", 1)
					won <- l
				} else if !errors.Is(err, eventlog.ErrInUse) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		l := <-won
		l.Close()
		if last := open(t, dir, Options{}).Last(); len(won) > 0 || last != 1 {
			t.Errorf("%d more have it, it ends with %d", len(won), last)
		}
	}
}

// The latest keys are remembered, on disk too, and no more than that.
func TestKeysAreBounded(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{keep: 10})
	for i := range 25 {
		appendTo(t, l, fmt.Sprint(i), 1)
	}
	for range 2 {
		if l.sent.Len() != 10 {
			t.Errorf("%d keys", l.sent.Len())
		}
		for i := 24; i >= 15; i-- {
			if r := appendTo(t, l, fmt.Sprint(i), 1); r.Last != uint64(i+1) || !r.Again {
				t.Errorf("key %d: %+v", i, r)
			}
		}
		l.Close()
		l = open(t, dir, Options{keep: 10})
	}
	if r := appendTo(t, l, "14", 1); r.Again || r.Last != 26 {
		t.Errorf("a forgotten key: %+v", r)
	}
}

func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	appendTo(t, l, "k", 2)
	l.Close()
	readOnly(t, dir)
	for _, dir := range []string{dir, filepath.Join(dir, "new")} {
		if l, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), dir) ||
			!strings.Contains(err.Error(), "may write") {
			t.Errorf("%s: %v, %v", dir, l, err)
		}
	}
}

// readOnly makes a directory one: root needs another mount for that.
func readOnly(t *testing.T, dir string) {
	if os.Getuid() != 0 {
		if err := errors.Join(os.Chmod(filepath.Join(dir, File), 0o400), os.Chmod(dir, 0o500)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(dir, 0o700) })
		return
	}
	mount(t, "--bind", dir, dir)
	if out, err := exec.Command("mount", "-o", "remount,bind,ro", dir).CombinedOutput(); err != nil {
		t.Skipf("cannot remount: %s", out)
	}
}

func mount(t *testing.T, args ...string) {
	t.Helper()
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("needs root on Linux, to mount")
	}
	if out, err := exec.Command("mount", args...).CombinedOutput(); err != nil {
		t.Skipf("cannot mount: %s", out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", args[len(args)-1]).CombinedOutput(); err != nil {
			t.Errorf("umount: %s", out)
		}
	})
}

// On a full disk appends are refused, nothing of them is there, and with room again the log goes on.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	mount(t, "-t", "tmpfs", "-o", "size=3m", "tmpfs", dir)
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := Open(filepath.Join(dir, "log"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { l.Close() }()
	var mu sync.Mutex
	want := map[string]uint64{}
	fill := func(round string) (refused int) {
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := range 60 {
					key := fmt.Sprint(round, "-", w, "-", i)
					r, err := l.Append(context.Background(), key, eventlogtest.Events(key, 1000))
					mu.Lock()
					switch {
					case err == nil:
						want[key] = r.Last
					case errors.Is(err, eventlog.ErrFull):
						refused++
					default:
						t.Errorf("%s: %v, want ErrFull", key, err)
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		return refused
	}
	check := func() {
		t.Helper()
		batches := eventlogtest.Read(t, l, 0)
		for _, b := range batches {
			if want[b.Key] != b.Last {
				t.Fatalf("%s is there with %d, its receipt says %d", b.Key, b.Last, want[b.Key])
			}
		}
		if len(batches) != len(want) {
			t.Fatalf("%d batches are there, %d were acknowledged", len(batches), len(want))
		}
	}
	if refused := fill("small"); refused == 0 || len(want) == 0 {
		t.Fatalf("%d were taken, %d refused", len(want), refused)
	}
	check()
	before := len(want)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	fill("large")
	if len(want) == before {
		t.Error("with room again nothing was taken")
	}
	check()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if l, err = Open(filepath.Join(dir, "log"), Options{}); err != nil {
		t.Fatal(err)
	}
	check()
	t.Logf("%d batches before the disk was full, %d in the end", before, len(want))
}

// After a commit that may or may not be on disk nothing is taken or handed out until the log was opened again.
func TestUncertainCommit(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	appendTo(t, l, "k", 1)
	l.failed(errors.New("sync: input/output error"))
	if _, err := l.Append(context.Background(), "", eventlogtest.Events("x", 1)); err == nil ||
		!strings.Contains(err.Error(), "input/output") || !strings.Contains(err.Error(), "opened again") {
		t.Errorf("append: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if r := appendTo(t, open(t, dir, Options{}), "l", 1); r.Last != 2 {
		t.Errorf("then %+v", r)
	}
}

// A log says whether it would take events: not on a full disk, and not when it has ended.
func TestCheck(t *testing.T) {
	l := open(t, t.TempDir(), Options{})
	if err := l.check(reserve); err != nil {
		t.Error(err)
	}
	if err := l.check(reserve - 1); !errors.Is(err, eventlog.ErrFull) || !strings.Contains(err.Error(), "free") {
		t.Errorf("a full disk: %v", err)
	}
	l.Close()
	if err := l.Check(t.Context()); !errors.Is(err, eventlog.ErrClosed) {
		t.Errorf("a closed log: %v", err)
	}
}

// A trimmed log begins later; sequences and keys stay, also when it is opened again and when nothing is left.
func TestTrim(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	for i := range 10 {
		events := []eventlog.Event{{Src: "a", Dst: "b", Time: float64(i)}, {Src: "a", Dst: "c", Time: float64(i)}}
		if _, err := l.Append(t.Context(), fmt.Sprint("k", i), events); err != nil {
			t.Fatal(err)
		}
	}
	check := func(after uint64, cut float64) {
		t.Helper()
		if a, c := l.Begin(); a != after || c != cut {
			t.Errorf("it begins after %d, cut %v; want %d, %v", a, c, after, cut)
		}
		r, err := l.Append(t.Context(), "k0", []eventlog.Event{{Src: "a", Dst: "b"}})
		if err != nil || !r.Again || r.Last != 2 {
			t.Errorf("a key of an event that is gone: %+v, %v", r, err)
		}
		if after > 0 {
			err := l.Follow(t.Context(), after-1, func(eventlog.Batch) error { return nil })
			if !errors.Is(err, eventlog.ErrForgotten) {
				t.Errorf("events that are gone: %v", err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		next := after
		if last := l.Last(); after < last {
			l.Follow(ctx, after, func(b eventlog.Batch) error {
				if next += uint64(len(b.Events)); b.Last != next {
					t.Errorf("batch %d, want %d", b.Last, next)
				}
				if b.Last == last {
					cancel()
				}
				return nil
			})
		}
		cancel()
	}
	check(0, math.Inf(-1))
	for _, step := range []struct {
		cut   float64
		upTo  uint64
		after uint64
	}{{4, 100, 8}, {6, 10, 10}, {100, 100, 20}} {
		if err := l.Trim(t.Context(), step.cut, step.upTo); err != nil {
			t.Fatal(err)
		}
		check(step.after, step.cut)
		if l.Last() != 20 {
			t.Errorf("it ends with %d", l.Last())
		}
		l.Close()
		l = open(t, dir, Options{})
		check(step.after, step.cut)
	}
	r, err := l.Append(t.Context(), "new", []eventlog.Event{{Src: "a", Dst: "b", Time: 200}})
	if err != nil || r.Last != 21 {
		t.Errorf("%+v, %v", r, err)
	}
}
