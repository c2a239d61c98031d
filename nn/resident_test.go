package nn_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/recorded"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/tensor"
)

// TestResident asks for rows in steps of all sizes, recorded ones among them: each gets what is its own, and what the
// last step had is not uploaded again, unless keys share their homes.
func TestResident(t *testing.T) {
	testResident(t, 1)
	testResident(t, 3)
}

func testResident(t *testing.T, sharing int) {
	host := cpu.New(cpu.Options{Threads: 1})
	defer host.Close()
	dev := recorded.New(host)
	const cols = 3
	r := nn.NewResident(dev, cols, 50, func(k int) int { return k / sharing })
	defer r.Close()
	tapes := [2]*grad.Tape{grad.NewTape(dev, false), grad.NewTape(dev, false)}
	rng := rand.New(rand.NewPCG(1, 2))
	for step := range 400 {
		size := 1 + rng.IntN(30+10*(step/100))
		around := step * 3 // what is asked for moves on
		keys := rng.Perm(2 * size)[:size]
		var rows []float32
		for i := range keys {
			keys[i] += around
			rows = append(rows, float32(keys[i]), 0.5, float32(-keys[i]))
		}
		for again := range 2 {
			tp := tapes[(step+again)%2]
			tp.Reset(0)
			var got *tensor.Tensor
			tp.Replay(grad.Key(uint64(size), r.Foresee(keys)), func() {
				given := rows
				if again == 1 && sharing == 1 { // nothing is looked at
					given = make([]float32, len(rows))
				}
				table, numbers := r.Load(tp, keys, given)
				got = grad.Gather(tp, table, tp.Ints(numbers), 1)
			})
			if values := read(dev, got); !slices.Equal(values, rows) {
				t.Fatalf("step %d, asked %d times: %v, want %v", step, again+1, values, rows)
			}
		}
	}
}

// TestResidentUploads: a table that has room uploads a row once.
func TestResidentUploads(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	r := nn.NewResident(dev, 1, 0, func(k int) int { return k })
	defer r.Close()
	tp := grad.NewTape(dev, false)
	all := make([]int, 400)
	for i := range all {
		all[i] = i
	}
	some := r.Foresee(all)
	r.Load(tp, all, make([]float32, 400))
	if r.Foresee(all) == some || r.Foresee(all) != r.Foresee(all[:7]) {
		t.Error("rows that are there are to be uploaded")
	}
	for k := range 3 * len(all) { // three others at a time push out what was not asked for
		r.Load(tp, append(slices.Clone(all[:7]), 1000+3*k, 1001+3*k, 1002+3*k), make([]float32, 10))
	}
	if r.Foresee(all[:7]) == some || r.Foresee(all[7:]) == r.Foresee(all[:7]) {
		t.Error("what was asked for all the time is gone, or what was not is there")
	}
}
