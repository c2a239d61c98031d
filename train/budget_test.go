package train

import (
	"testing"

	"github.com/dygmamba/dygmamba/eval"
)

// What fits is all events, or samples of them, or a part of the training events too. A block is for models in order.
func TestBudget(t *testing.T) {
	base := budget{left: 100, batch: 100, train: 70000, val: [2]int{15000, 3000}, test: [2]int{15000, 3000},
		valKinds: 1, testKinds: 1, pace: Pace{Step: 1e-4, Score: 5e-5}}
	with := func(change func(*budget)) budget {
		b := base
		change(&b)
		return b
	}
	slow, onSlowDisk := Pace{Step: 0.01, Score: 0.005}, Pace{Step: 0.01, Score: 0.005, Save: 10}
	block := eval.Limits{Train: 6900, Val: 900, Test: 900, Block: true}
	for name, x := range map[string]struct {
		is   budget
		want eval.Limits
	}{
		"all fits":         {base, eval.Limits{}},
		"test alone":       {with(func(b *budget) { b.pace.Score, b.testKinds = 1e-3, 5 }), eval.Limits{Val: 6500}},
		"slow steps":       {with(func(b *budget) { b.pace.Step = 0.01 }), eval.Limits{Train: 8400}},
		"slow":             {with(func(b *budget) { b.pace = slow }), eval.Limits{Train: 6900, Val: 900}},
		"slow, with state": {with(func(b *budget) { b.pace, b.inOrder = slow, true }), block},
		"slow disk":        {with(func(b *budget) { b.pace = onSlowDisk }), eval.Limits{Train: 4000, Val: 500}},
		"no time at all":   {with(func(b *budget) { b.left, b.pace = 1, slow }), eval.Limits{Train: 100, Val: 100}},
		"no pace":          {with(func(b *budget) { b.pace = Pace{} }), eval.Limits{}},
	} {
		if l := x.is.limits(); l != x.want {
			t.Errorf("%s: %+v, want %+v", name, l, x.want)
		}
		if l := x.is.limits(); l.Any() && x.is.left > 10 {
			spent := x.is.pace.Step*float64(min(x.is.train, orAll(l.Train, x.is.train))) +
				x.is.asking(orAll(l.Val, 1<<40), x.is.val, x.is.valKinds) + x.is.saves()
			if spent > x.is.left {
				t.Errorf("%s: an epoch takes %.1f s of %.1f", name, spent, x.is.left)
			}
		}
	}
}

func orAll(limit, all int) int {
	if limit == 0 {
		return all
	}
	return limit
}
