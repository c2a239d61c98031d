//go:build linux && !nogpu

package cuda

import "github.com/dygmamba/dygmamba/device"

// Walks takes inner products of walk vectors, a warp for each row of Y and scale.
func (d *Device) Walks(w device.Walks) {
	scales := w.Rates.Len
	d.with().mat(w.Y).mat(w.Table).buf(w.Rates).ints(w.Src).ints(w.Dst).buf(w.SrcAge).buf(w.DstAge)
	if w.Pairs {
		d.args.size(w.Y.Rows).num(scales).num(w.Dim)
		d.warps(kWalkPairs, w.Y.Rows*scales, w.Y.Rows, scales, w.Dim)
		return
	}
	d.args.ints(w.Of).buf(w.Age).size(w.Y.Rows).size(w.Src.Len).size(w.Each).num(scales).num(w.Dim)
	d.warps(kWalks, w.Y.Rows*scales, w.Y.Rows, scales, w.Dim)
}
