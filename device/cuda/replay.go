//go:build linux && !nogpu

package cuda

import "fmt"

// mode says what becomes of kernels and copies.
type mode uint8

const (
	eager     mode = iota // both run
	capturing             // kernels are recorded, copies run
	replaying             // kernels are already in the recording, copies run
)

// recording is a captured step.
type recording struct {
	runs        int
	graph, exec uintptr
}

// Replay runs the first step of a key as it is, records the second, and replays the recording from then on: the step's Go
// code still runs and its inputs are copied, but one launch stands for all of its kernels.
func (d *Device) Replay(key int, step func()) {
	g := d.graphs[key]
	if g == nil {
		g = &recording{}
		d.graphs[key] = g
	}
	g.runs++
	if g.runs == 1 {
		step()
		return
	}
	d.enter()
	defer d.leave()
	// A step overwrites the inputs of the one before.
	d.check("cuStreamSynchronize", call(d.drv.streamSync, d.compute))
	defer func() { d.mode = eager }()
	if g.exec == 0 {
		d.record(g, step)
	} else {
		d.mode = replaying
		step()
	}
	d.check("cuEventRecord", call(d.drv.eventRecord, d.copied, d.copies))
	d.check("cuStreamWaitEvent", call(d.drv.streamWait, d.compute, d.copied, 0))
	d.check("cuGraphLaunch", call(d.drv.graphLaunch, g.exec, d.compute))
}

func (d *Device) record(g *recording, step func()) {
	const relaxed = 2 // copies on the other stream go on meanwhile
	d.check("cuStreamBeginCapture", call(d.drv.captureBegin, d.compute, relaxed))
	d.mode = capturing
	step()
	d.check("cuStreamEndCapture", call(d.drv.captureEnd, d.compute, ptr(&g.graph)))
	d.check(fmt.Sprintf("cuGraphInstantiate of step %d", g.runs), call(d.drv.graphInstantiate, ptr(&g.exec), g.graph, 0))
}

// Forget drops all recordings; memory that they refer to may then be freed.
func (d *Device) Forget() {
	d.enter()
	defer d.leave()
	d.check("cuStreamSynchronize", call(d.drv.streamSync, d.compute))
	for key, g := range d.graphs {
		if g.exec != 0 {
			call(d.drv.graphExecDestroy, g.exec)
			call(d.drv.graphDestroy, g.graph)
		}
		delete(d.graphs, key)
	}
}
