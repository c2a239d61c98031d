//go:build linux && !nogpu

package cuda

import "fmt"

// mode says what becomes of kernels and writes.
type mode uint8

const (
	eager     mode = iota // both are enqueued
	capturing             // kernels are recorded, writes go to an inbox
	replaying             // kernels are already in the recording, writes go to an inbox
)

// recording is a captured step.
type recording struct {
	runs   int
	inputs int // bytes of an inbox that its writes take
	exec   uintptr
}

// Replay runs the first step of a key as it is, records the second, and replays the recording from then on: the step's Go
// code still runs and its inputs are copied, but one launch stands for all of its kernels. It does not wait for them, nor for those of the
// step before: the next step is prepared while they run.
func (d *Device) Replay(key int, step func()) {
	g := d.graphs[key]
	if g == nil {
		g = &recording{}
		d.graphs[key] = g
	}
	g.runs++
	if g.runs == 1 {
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
	} else {
		d.mode = replaying
		step()
	}
	d.deliver(d.inbox)
	d.check("cuGraphLaunch", call(d.drv.graphLaunch, g.exec, d.compute))
}

func (d *Device) record(g *recording, step func()) {
	const relaxed = 2 // copies on the other stream go on meanwhile
	d.check("cuStreamBeginCapture", call(d.drv.captureBegin, d.compute, relaxed))
	d.mode = capturing
	var graph uintptr
	defer func() { call(d.drv.graphDestroy, graph) }()
	ended := 0
	func() {
		defer func() { ended = call(d.drv.captureEnd, d.compute, ptr(&graph)) }() // also of a step that fails: the stream is still needed
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
	for key, g := range d.graphs {
		if g.exec != 0 {
			call(d.drv.graphExecDestroy, g.exec)
		}
		delete(d.graphs, key)
	}
}
