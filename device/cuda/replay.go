//go:build linux && !nogpu

package cuda

import (
	"cmp"
	"fmt"
	"slices"
)

// mode says what becomes of kernels and writes.
type mode uint8

const (
	eager     mode = iota // both are enqueued
	capturing             // kernels are recorded, writes go to an inbox
	replaying             // kernels are already in the recording, writes go to an inbox
)

// recording is a step that comes again, and once it is captured, the graph that stands for it.
type recording struct {
	key    int
	runs   int // how often it came; halved now and then while there is not room for all
	last   int // the step that it was last
	inputs int // bytes of an inbox that its writes take
	exec   uintptr
}

// Where rows are as long as their batch asks for, there are hundreds of different steps, and a graph takes time to make
// and memory of the driver: those that come most often have one.
const (
	mostGraphs = 48   // at once
	mostKnown  = 4096 // steps that are counted, about
	agingSteps = 1024 // after this many, counts are halved where something is full
)

// Replay runs the first step of a key as it is, records the second, and replays the recording from then on: the step's
// Go code still runs and its inputs are copied, but one launch stands for all of its kernels. It does not wait for
// them, nor for those of the step before: the next step is prepared while they run. When there are as many recordings
// as are kept, a step that has none yet runs as it is until it has come more than twice as often, lately, as the rarest
// that has one.
func (d *Device) Replay(key int, step func()) {
	if d.steps++; d.steps%agingSteps == 0 {
		d.age()
	}
	g := d.graphs[key]
	if g == nil {
		g = &recording{key: key}
		d.graphs[key] = g
	}
	g.runs++
	g.last = d.steps
	if g.exec == 0 && !d.makeRoom(g) {
		d.written = 0
		step()
		g.inputs = d.written
		return
	}
	d.enter()
	defer d.leave()
	d.inbox = d.openInbox(g.inputs)
	defer func() { d.mode, d.inbox = eager, nil }()
	if g.exec == 0 {
		d.record(g, step)
		d.recorded = append(d.recorded, g)
	} else {
		d.mode = replaying
		step()
	}
	d.deliver(d.inbox)
	d.check("cuGraphLaunch", call(d.drv.graphLaunch, g.exec, d.compute))
}

// makeRoom says whether a step is to be recorded now, and sees that there is room.
func (d *Device) makeRoom(g *recording) bool {
	if g.runs < 2 || len(d.recorded) < mostGraphs {
		return g.runs >= 2
	}
	rarest := slices.MinFunc(d.recorded, func(a, b *recording) int {
		return cmp.Or(cmp.Compare(a.runs, b.runs), cmp.Compare(a.last, b.last))
	})
	if g.runs <= 2*rarest.runs {
		return false
	}
	d.enter()
	defer d.leave()
	d.check("cuStreamSynchronize", call(d.drv.streamSync, d.compute)) // it may be running
	d.drop(rarest)
	d.recorded = slices.DeleteFunc(d.recorded, func(x *recording) bool { return x == rarest })
	return true
}

// age forgets half of how often steps came, so that those that come no more make room for others.
func (d *Device) age() {
	if len(d.recorded) < mostGraphs && len(d.graphs) < mostKnown {
		return
	}
	for key, g := range d.graphs {
		if g.runs /= 2; g.runs == 0 && g.exec == 0 {
			delete(d.graphs, key)
		}
	}
}

func (d *Device) record(g *recording, step func()) {
	const relaxed = 2 // copies on the other stream go on meanwhile
	d.check("cuStreamBeginCapture", call(d.drv.captureBegin, d.compute, relaxed))
	d.mode, d.order = capturing, newOrder()
	defer func() { d.order = order{} }()
	var graph uintptr
	defer func() { call(d.drv.graphDestroy, graph) }()
	ended := 0
	func() {
		// also of a step that fails: the stream is still needed
		defer func() { ended = call(d.drv.captureEnd, d.compute, ptr(&graph)) }()
		step()
	}()
	d.check("cuStreamEndCapture", ended)
	d.check(fmt.Sprintf("cuGraphInstantiate of step %d", g.runs), call(d.drv.graphInstantiate, ptr(&g.exec), graph, 0))
}

// Forget drops all recordings; memory that they refer to may then be freed.
func (d *Device) Forget() {
	d.enter()
	defer d.leave()
	d.check("cuStreamSynchronize", call(d.drv.streamSync, d.compute))
	d.dropGraphs()
}

func (d *Device) dropGraphs() {
	for _, g := range d.recorded {
		d.drop(g)
	}
	d.recorded = d.recorded[:0]
	clear(d.graphs)
}

// drop gives the memory of a recording back, which must not be running.
func (d *Device) drop(g *recording) {
	call(d.drv.graphExecDestroy, g.exec)
	delete(d.graphs, g.key)
}
