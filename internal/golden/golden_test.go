package golden

import (
	"math"
	"testing"
)

func TestFiles(t *testing.T) {
	toy, models := Models(t)
	if len(toy.Src) != 80 || len(toy.QueryTime) != 6 || toy.NodeFeatures.Rows != 10 || toy.EdgeFeatures.Rows != 81 {
		t.Errorf("toy graph: %d events, %d queries, %d and %d feature rows",
			len(toy.Src), len(toy.QueryTime), toy.NodeFeatures.Rows, toy.EdgeFeatures.Rows)
	}
	for name, m := range models {
		for i, out := range m.Outputs {
			if s := m.OutputShapes[i]; len(out) != s[0]*s[1] {
				t.Errorf("%s: output %d has %d numbers, shape %v", name, i, len(out), s)
			}
		}
		for _, p := range m.Params {
			if p.Name == "" || p.Len() == 0 {
				t.Errorf("%s: parameter %+v", name, p)
			}
		}
	}
	for name, l := range Gradients(t) {
		if len(l.Losses) != 4 || len(l.Gradients) == 0 {
			t.Errorf("%s: losses %v, %d gradients", name, l.Losses, len(l.Gradients))
		}
	}
}

func TestFill(t *testing.T) {
	w := Fill([]Param{{"a.time_encoder.w.weight", []int{4, 1}}, {"m.A_log", []int{2, 3}}, {"m.D", []int{2}},
		{"x", []int{2, 2}}})
	for name, want := range map[string][]float64{
		"a.time_encoder.w.weight": {1, 1e-3, 1e-6, 1e-9},
		"m.A_log":                 {0, math.Ln2, math.Log(3), 0, math.Ln2, math.Log(3)},
		"m.D":                     {1, 1},
		"x":                       {0.2 * math.Sin(2.5), 0.2 * math.Sin(3.2), 0.2 * math.Sin(3.9), 0.2 * math.Sin(4.6)},
	} {
		for i := range want {
			if math.Abs(float64(w[name][i])-want[i]) > 1e-7*math.Abs(want[i]) {
				t.Errorf("%s[%d] = %v, want %v", name, i, w[name][i], want[i])
			}
		}
	}
}
