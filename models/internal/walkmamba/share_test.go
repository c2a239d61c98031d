package walkmamba

import (
	"math"
	"testing"

	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// TestShareIsEmbed: what is computed once for several queries is what each would get, to the last digit, in every form
// of the model; where nothing of the candidates is seen in it a source's history is read once.
func TestShareIsEmbed(t *testing.T) {
	for _, c := range forms {
		t.Run(c.name, func(t *testing.T) {
			y := newToy(t, c.settings...)
			m := y.Model.(*Model)
			at := y.Queries()[0].Time
			var qs []sample.Query
			for _, q := range y.Queries() {
				at = max(at, q.Time)
			}
			for dst := range int32(30) { // most of them strangers
				qs = append(qs, sample.Query{Src: 1, Dst: dst + 1, Time: at + 1})
			}
			qs = append(qs, y.Queries()...)
			b := y.Batch(qs)
			said := func(share bool) (all []float32) {
				tp := grad.NewTape(y.Device, false)
				defer tp.Close()
				embed := m.Embed
				if share {
					embed = m.Share
				}
				e := embed(tp, b)
				for _, x := range []*tensor.Tensor{e.Src, e.Dst, e.Pair} {
					if x != nil {
						host := make([]float32, x.Len())
						y.Device.Read(host, x.Data)
						all = append(all, host...)
					}
				}
				return all
			}
			want, got := said(false), said(true)
			if read := m.input.Rows; !m.cfg.Neighbors && read > 3*len(qs)/2 {
				t.Errorf("%d histories of %d were read, many are alike", read, 2*len(qs))
			}
			if m.cfg.TimeBlock && m.input.gaps.Rows() >= len(qs) {
				t.Errorf("all %d rows of gaps were read, many are alike", len(qs))
			}
			for pass, list := range [][]float32{got, said(false)} {
				for i := range want {
					if math.Float32bits(list[i]) != math.Float32bits(want[i]) {
						t.Fatalf("pass %d: number %d of %d is %v, alone %v", pass, i, len(want), list[i], want[i])
					}
				}
			}
		})
	}
}
