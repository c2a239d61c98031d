//go:build linux && !nogpu

package cuda

import "testing"

// walk takes a step of each key and counts those that ran as they are.
func walk(d *Device, keys int, first int) (plain int) {
	for key := first; key < first+keys; key++ {
		d.Replay(key, func() {
			if d.mode == eager {
				plain++
			}
		})
	}
	return plain
}

// TestReplayOfFewShapes: the first step runs as it is, the second is recorded, and all others replay it.
func TestReplayOfFewShapes(t *testing.T) {
	gpu := &fakeGPU{last: 1 << 30}
	d := gpu.device()
	defer d.Close()
	for round := range 3000 { // far longer than counts are kept
		want := 0
		if round == 0 {
			want = mostGraphs - 1
		}
		if plain := walk(d, mostGraphs-1, 0); plain != want {
			t.Fatalf("round %d: %d steps ran as they are, want %d", round, plain, want)
		}
	}
	if gpu.made != mostGraphs-1 || gpu.gone != 0 {
		t.Errorf("%d graphs were made and %d dropped", gpu.made, gpu.gone)
	}
}

// TestReplayOfManyShapes: of steps that come equally often some are recorded and stay so; one that comes more often
// takes the place of another, and when all of them have gone out of use, so do others.
func TestReplayOfManyShapes(t *testing.T) {
	gpu := &fakeGPU{last: 1 << 30}
	d := gpu.device()
	defer d.Close()
	const many = 5 * mostGraphs
	for round := range 100 {
		want := many - mostGraphs
		if round == 0 {
			want = many
		}
		if plain := walk(d, many, 0); plain != want {
			t.Fatalf("round %d: %d steps of %d ran as they are, want %d", round, plain, many, want)
		}
	}
	if gpu.made != mostGraphs || gpu.gone != 0 || len(d.recorded) != mostGraphs {
		t.Fatalf("%d graphs were made, %d dropped, %d kept; want %d, 0, %d",
			gpu.made, gpu.gone, len(d.recorded), mostGraphs, mostGraphs)
	}
	plain := 0
	for range 1000 {
		plain += walk(d, 1, many) // a favourite
	}
	if plain > 500 || gpu.made != mostGraphs+1 || gpu.gone != 1 {
		t.Errorf("a favourite ran as it is %d of 1000 times; %d graphs were made, %d dropped",
			plain, gpu.made, gpu.gone)
	}
	for range 1000 {
		plain = walk(d, mostGraphs, 2*many)
	}
	if plain != 0 {
		t.Errorf("%d of %d steps of today run as they are: yesterday's have the graphs", plain, mostGraphs)
	}
	if len(d.recorded) > mostGraphs || gpu.made-gpu.gone > mostGraphs {
		t.Errorf("%d graphs are kept", gpu.made-gpu.gone)
	}
	d.Forget()
	if gpu.made != gpu.gone || len(d.graphs) != 0 {
		t.Errorf("%d graphs and %d steps are left", gpu.made-gpu.gone, len(d.graphs))
	}
}

// TestReplayForgets: steps that never come again are not remembered for ever.
func TestReplayForgets(t *testing.T) {
	gpu := &fakeGPU{last: 1 << 30}
	d := gpu.device()
	defer d.Close()
	for day := range 20 {
		walk(d, 1000, day*1000)
	}
	if len(d.graphs) > mostKnown+agingSteps || gpu.made != 0 {
		t.Errorf("%d steps are remembered, %d recorded", len(d.graphs), gpu.made)
	}
}
