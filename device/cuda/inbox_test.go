//go:build linux && !nogpu

package cuda

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dygmamba/dygmamba/device"
)

// TestInbox packs writes as a step makes them and unpacks them as the GPU would.
func TestInbox(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	memory, want := make([]byte, 1<<16), make([]byte, 1<<16) // addresses are offsets into it
	b := inbox{host: make([]byte, 1<<18)}
	for range 100 {
		b.used, b.parts = 0, b.parts[:0]
		promised, writes := 0, 0
		for dst := 0; ; writes++ {
			if rng.IntN(2) == 0 {
				dst += 4 * rng.IntN(500)
			}
			n := 4 * (1 + rng.IntN(700))
			if dst+n > len(memory) {
				break
			}
			src := make([]byte, n)
			for i := range src {
				src[i] = byte(rng.Uint32())
			}
			if !b.put(uintptr(dst), src) {
				t.Fatalf("no room for %d bytes after %d of %d", n, b.used, len(b.host))
			}
			copy(want[dst:], src)
			promised += inboxBytes(n)
			dst += n
		}
		for _, p := range b.parts {
			if p.at%inboxAlign != 0 || p.at+p.bytes > b.used {
				t.Fatalf("part of %d bytes at %d, used %d", p.bytes, p.at, b.used)
			}
			copy(memory[p.dst:], b.host[p.at:p.at+p.bytes])
		}
		if !bytes.Equal(memory, want) {
			t.Fatal("unpacked is not what was packed")
		}
		if b.used > promised {
			t.Fatalf("writes took %d bytes, %d were foretold", b.used, promised)
		}
		if len(b.parts) != writes {
			t.Fatalf("%d parts of %d writes: neighbours may lie in two allocations", len(b.parts), writes)
		}
	}
	full := inbox{host: make([]byte, 300)}
	for i, c := range []struct {
		dst, n int
		fits   bool
	}{{1000, 100, true}, {5000, 60, false}, {1100, 44, true}, {1144, 1, false}} {
		if got := full.put(uintptr(c.dst), make([]byte, c.n)); got != c.fits {
			t.Errorf("write %d of %d bytes fits: %v, want %v", i, c.n, got, c.fits)
		}
	}
}

// TestReplayNeighbours writes to many small allocations, some of which follow each other, in replayed steps.
func TestReplayNeighbours(t *testing.T) {
	d := open(t)
	const n = 1 << 19 // numbers; large enough to be an allocation of its own
	var bufs [6]device.Buffer
	for i := range bufs {
		bufs[i] = d.Alloc(n)
	}
	src, got := make([]float32, n), make([]float32, n)
	for step := range 5 {
		d.Replay(1, func() {
			for i, b := range bufs {
				for j := range src {
					src[j] = float32(step*100 + i)
				}
				d.Write(b, src)
			}
		})
		for i, b := range bufs {
			if d.Read(got, b); got[0] != float32(step*100+i) || got[n-1] != got[0] {
				t.Fatalf("step %d: buffer %d holds %v … %v", step, i, got[0], got[n-1])
			}
		}
	}
}

// TestReplayAhead launches steps of two sizes without waiting for them, while large products keep the GPU busy, and
// reads results late.
func TestReplayAhead(t *testing.T) {
	d := open(t)
	const side, steps = 2048, 40
	busy := d.Alloc(side * side)
	out := d.Alloc(side * side)
	sizes := [2]int{1000, 700_000}
	var x, y [2]device.Buffer
	for k, n := range sizes {
		x[k], y[k] = d.Alloc(2*n), d.Alloc(2*n)
	}
	type result struct {
		got, want []float32
		reading   device.Reading
	}
	var results [steps]result
	host := make([]float32, 2*sizes[1])
	for i := range steps {
		k := i / 3 % 2
		n := sizes[k]
		for j := range host[:2*n] {
			host[j] = float32(i*1000 + j%997)
		}
		d.Replay(k, func() {
			d.Write(x[k].Slice(0, n), host[:n])
			d.Write(x[k].Slice(n, 2*n), host[n:2*n])
			m := busy.Mat(side, side)
			for range 5 {
				d.MatMul(out.Mat(side, side), m, m, device.Gemm{})
			}
			d.Scale(y[k].Mat(1, 2*n), x[k].Mat(1, 2*n), 2)
		})
		r := &results[i]
		r.got, r.want = make([]float32, 2*n), make([]float32, 2*n)
		for j, v := range host[:2*n] {
			r.want[j] = 2 * v
		}
		clear(host) // the caller's again
		r.reading = device.ReadLater(d, r.got, y[k])
		if i >= 2 {
			results[i-2].reading.Wait()
		}
	}
	for i, r := range results {
		r.reading.Wait()
		for j := range r.want {
			if r.got[j] != r.want[j] {
				t.Fatalf("step %d: y[%d] = %v, want %v", i, j, r.got[j], r.want[j])
			}
		}
	}
}

// TestReadingsOverrun enqueues more readings than can be under way.
func TestReadingsOverrun(t *testing.T) {
	d := open(t)
	const n = 3 * maxReadings
	x := d.Alloc(1)
	var got [n]float32
	var tickets [n]int
	for i := range got {
		d.Write(x, []float32{float32(i)})
		tickets[i] = d.ReadLater(got[i:i+1], x)
	}
	for i := range got {
		d.Await(tickets[i])
		if got[i] != float32(i) {
			t.Errorf("reading %d is %v", i, got[i])
		}
	}
	d.Await(d.ReadLater(nil, x))
}

// TestReplayedStepWritesMore: a step that writes more than its first run did fails by name, and the device works on.
func TestReplayedStepWritesMore(t *testing.T) {
	d := open(t)
	x := d.Alloc(10_000)
	host := make([]float32, 10_000)
	n := 100
	step := func() { d.Replay(7, func() { d.Write(x.Slice(0, n), host[:n]) }) }
	step()
	for name, writes := range map[string]int{"captured": 9000, "replayed": 10_000} {
		n = writes
		func() {
			defer func() {
				if f, ok := recover().(*device.Failure); !ok || f.Call != fmt.Sprintf("write of %d bytes", 4*n) {
					t.Errorf("%s: no failure that names the write", name)
				}
			}()
			step()
		}()
		n = 100
		host[0]++
		step()
		var got [1]float32
		d.Read(got[:], x)
		if got[0] != host[0] {
			t.Errorf("%s: %v was written after the failure, %v read", name, host[0], got[0])
		}
	}
}
