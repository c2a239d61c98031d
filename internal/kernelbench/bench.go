// Package kernelbench answers: how near do kernels come to what the machine can do?
//
// Every kernel is timed beside the two limits it can meet, the peak of fused multiply-adds and the bandwidth of a copy,
// in the same run and on the same threads. All of them take turns, round after round, and each keeps its shortest time:
// what else happens on the machine only ever adds to it.
package kernelbench

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/dygmamba/dygmamba/device"
)

// Options says how much to measure; the zero value is the full size.
type Options struct {
	Rounds   int                   // 0: 7
	Rows     int                   // rows of the products; 0: 25600
	Floats   int                   // numbers in an array of the pointwise kernels; 0: 16 Mi, that is 64 MiB
	Batch    int                   // sequences of the scan; 0: 100
	Progress func(done, total int) // called after every measurement; may be nil
}

// Report is what was measured, device by device.
type Report struct {
	Devices []string `json:"devices"` // one column each
	Kernels []Kernel `json:"kernels"`
}

// Kernel is one line of a report.
type Kernel struct {
	Name    string   `json:"name"`
	Size    string   `json:"size"`
	Unit    string   `json:"unit"`         // of Rate: GFLOP/s, GB/s (read and written), or empty
	Of      string   `json:"of,omitempty"` // the line that Share compares with
	Results []Result `json:"results"`      // one for each device
}

// Result is a kernel's shortest time on one device.
type Result struct {
	Millis float64 `json:"ms"`
	Rate   float64 `json:"rate,omitempty"`
	Share  float64 `json:"share,omitempty"`
}

// Names of the lines that others are compared with.
const (
	Peak = "multiply-add peak"
	Copy = "copy"
)

// SpeedUp is how much faster the last device is than the first.
func (k Kernel) SpeedUp() float64 { return k.Results[0].Millis / k.Results[len(k.Results)-1].Millis }

// probe is a kernel on one device: what to call, and how much work a call is.
type probe struct {
	Kernel
	work float64 // floating-point operations or bytes in a call, in the unit's 1e9
	call func()
	peak func() float64 // instead of call: a rate
	best time.Duration
	rate float64
}

// Kernels measures every kernel on every device, which may differ in the number of threads. The devices stay open.
func Kernels(ctx context.Context, o Options, devices ...device.Device) (Report, error) {
	o.Rounds, o.Rows = cmp.Or(o.Rounds, 7), cmp.Or(o.Rows, 25600)
	o.Floats, o.Batch = cmp.Or(o.Floats, 16<<20), cmp.Or(o.Batch, 100)
	columns := make([][]*probe, len(devices))
	var report Report
	total := 0
	for i, dev := range devices {
		columns[i] = probes(dev, o)
		total += o.Rounds * len(columns[i])
		report.Devices = append(report.Devices, describe(dev))
	}
	done := 0
	for range o.Rounds {
		for line := range columns[0] {
			for i, dev := range devices {
				if err := ctx.Err(); err != nil {
					return Report{}, fmt.Errorf("measure kernels: %w", err)
				}
				columns[i][line].measure(dev)
				if done++; o.Progress != nil {
					o.Progress(done, total)
				}
			}
		}
	}
	for line, p := range columns[0] {
		k := p.Kernel
		for i := range devices {
			k.Results = append(k.Results, columns[i][line].result(columns[i]))
		}
		report.Kernels = append(report.Kernels, k)
	}
	return report, nil
}

func describe(dev device.Device) string {
	if t, ok := dev.(device.Threaded); ok {
		return fmt.Sprintf("%s, %d threads", dev.Name(), t.Threads())
	}
	return dev.Name()
}

// least is how long a measurement goes on.
const least = 15 * time.Millisecond

// measure calls until least has passed and keeps the shortest time of a call; the first one only warms up.
func (p *probe) measure(dev device.Device) {
	if p.peak != nil {
		for start := time.Now(); time.Since(start) < least; {
			p.rate = max(p.rate, p.peak()/1e9)
		}
		return
	}
	p.call()
	dev.Sync()
	for start := time.Now(); ; {
		before := time.Now()
		p.call()
		dev.Sync()
		if d := time.Since(before); p.best == 0 || d < p.best {
			p.best = d
		}
		if time.Since(start) >= least {
			return
		}
	}
}

func (p *probe) result(column []*probe) Result {
	r := Result{Millis: p.best.Seconds() * 1e3, Rate: p.rate}
	if p.peak == nil && p.Unit != "" {
		r.Rate = p.work / p.best.Seconds()
	}
	for _, q := range column {
		if p.Of != "" && q.Name == p.Of {
			if limit := q.result(nil).Rate; limit > 0 {
				r.Share = r.Rate / limit
			}
		}
	}
	return r
}
