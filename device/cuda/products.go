//go:build linux && !nogpu

package cuda

import "github.com/dygmamba/dygmamba/device"

// DecayedProducts takes inner products of vectors, a warp for each row of Y and scale.
func (d *Device) DecayedProducts(w device.DecayedProducts) {
	scales := w.Rates.Len
	d.with().mat(w.Y).mat(w.Table).buf(w.Rates).ints(w.Src).ints(w.Dst).buf(w.SrcAge).buf(w.DstAge)
	if w.Pairs {
		d.args.size(w.Y.Rows).num(scales).num(w.Dim)
		d.warps("decayed_pairs", w.Y.Rows*scales, w.Y.Rows, scales, w.Dim)
		return
	}
	d.args.ints(w.Of).buf(w.Age).size(w.Y.Rows).size(w.Src.Len).size(w.Each).num(scales).num(w.Dim)
	d.warps("decayed_products", w.Y.Rows*scales, w.Y.Rows, scales, w.Dim)
}
