package index

import (
	"runtime"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/streamtest"
)

// The promise about memory: bytes an event for the log and the index together, without features.
const (
	frozenBytes = 56
	liveBytes   = 2 * frozenBytes
)

func TestMemory(t *testing.T) {
	// most nodes occur once or twice
	sparse := streamtest.Shape{Events: 200_000, Sources: 150_000, Dests: 150_000, Instants: 1000, Shared: true}
	for name, shape := range map[string]streamtest.Shape{"mooc": streamtest.MOOC, "enron": streamtest.Enron,
		"sparse": sparse} {
		checkMemory(t, name, streamtest.Generate(shape, 1))
	}
	once := new(event.Log) // no node ever comes back, the worst case
	for i := range event.Node(100_000) {
		if _, err := once.Append(event.Event{Src: 2*i + 1, Dst: 2*i + 2, Time: 1}); err != nil {
			t.Fatal(err)
		}
	}
	checkMemory(t, "once", once)
}

func TestMemoryReal(t *testing.T) {
	for _, name := range []string{"mooc", "uci"} {
		t.Run(name, func(t *testing.T) { checkMemory(t, name, streamtest.Real(t, name)) })
	}
}

func checkMemory(t *testing.T, name string, source *event.Log) {
	events := float64(source.Len())
	const fixed = 1 << 16 // what does not grow with the events
	measure := func(kind string, most float64, build func() (bytes int, keep any)) {
		before := heap()
		bytes, keep := build()
		measured := heap() - before
		runtime.KeepAlive(keep)
		runtime.KeepAlive(source)
		t.Logf("%s, %s: %.1f bytes an event, %.1f on the heap",
			name, kind, float64(bytes)/events, float64(measured)/events)
		if limit := int(most*events) + fixed; measured > limit || bytes > limit {
			t.Errorf("%s, %s: more than %v bytes an event", name, kind, most)
		}
	}
	measure("frozen", frozenBytes, func() (int, any) {
		l := source.Select(func(int) bool { return true })
		f := Freeze(l)
		return l.Bytes() + f.Bytes(), []any{l, f}
	})
	measure("live", liveBytes, func() (int, any) {
		l, live := new(event.Log), NewLive()
		for i := range source.Len() {
			e := source.At(i)
			if _, err := l.Append(e); err != nil {
				t.Fatal(err)
			}
			live.Add(e)
		}
		return l.Bytes() + live.Bytes(), []any{l, live}
	})
}

// heap is the number of bytes in use after a full collection.
func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
