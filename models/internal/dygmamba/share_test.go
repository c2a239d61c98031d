package dygmamba

import (
	"math"
	"testing"

	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// TestShareIsEmbed: what is computed once for several queries is what each would get, to the last digit, in every
// form of the model and with every kind of features.
func TestShareIsEmbed(t *testing.T) {
	onlyCPU(t)
	for name, c := range every(t) {
		for features, toy := range toys(t) {
			t.Run(name+", "+features, func(t *testing.T) {
				b := newBench(t, c, 2, toy)
				b.lively(t, 0.4)
				at := toy.Time[len(toy.Time)-1] + 1
				var qs []sample.Query
				for dst := range int32(30) { // most of them strangers
					qs = append(qs, sample.Query{Src: 1, Dst: dst + 1, Time: at})
				}
				for dst := range int32(4) { // before anything happened only features tell nodes apart
					qs = append(qs, sample.Query{Src: 1, Dst: dst + 6, Time: toy.Time[0]})
				}
				qs = append(qs, random(toy, 20)...)
				b.gather(t, qs)
				for i := range 4 { // histories that differ in their events' features alone
					b.batch.Rows[1].Edge[(20+i)*b.batch.Rows[1].Len] = int32(1 + i/2)
				}
				want := b.said(b.Embed(grad.NewTape(b.dev, false), &b.batch))
				got := b.said(b.Share(grad.NewTape(b.dev, false), &b.batch))
				read := 0
				for _, s := range b.input.sides {
					read += s.Rows
				}
				if read > 3*len(qs)/2 {
					t.Errorf("%d histories of %d were read, many are alike", read, 2*len(qs))
				}
				for i := range want {
					if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
						t.Fatalf("number %d of %d is %v, alone %v", i, len(want), got[i], want[i])
					}
				}
				want = b.said(b.Embed(grad.NewTape(b.dev, false), &b.batch))
				for i := range want {
					if got[i] != want[i] {
						t.Fatal("sharing has changed what comes after it")
					}
				}
			})
		}
	}
}

// said is all that an embedding says.
func (b *bench) said(e model.Embedding) []float32 {
	var all []float32
	for _, x := range []*tensor.Tensor{e.Src, e.Dst, e.Pair} {
		if x != nil {
			host := make([]float32, x.Len())
			b.dev.Read(host, x.Data)
			all = append(all, host...)
		}
	}
	return all
}
