package dygmamba

import (
	"encoding/json"
	"testing"

	"github.com/dygmamba/dygmamba/internal/golden"
	"github.com/dygmamba/dygmamba/model/modeltest"
)

// toyConfig is the golden model's configuration.
func toyConfig(t testing.TB, m golden.Model) Config {
	c := Default
	c.NodeDim, c.EdgeDim = 8, 8
	if err := json.Unmarshal(m.Config, &c); err != nil {
		t.Fatal(err)
	}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	return c
}

// toyTwin is the twin looking at the toy graph; parameters are added to it.
func toyTwin(toy golden.Toy, c Config, params ...map[string][]float32) *twin {
	m := &twin{c: c, w: modeltest.Plain{}, node: rows64(toy.NodeFeatures), edge: rows64(toy.EdgeFeatures)}
	for i := range toy.Src {
		m.events = append(m.events, twinEvent{int(toy.Src[i]), int(toy.Dst[i]), toy.Time[i], int(toy.Edge[i])})
	}
	for _, p := range params {
		for name, w := range p {
			for _, x := range w {
				m.w[bare(name)] = append(m.w[bare(name)], float64(x))
			}
		}
	}
	return m
}

func rows64(m golden.Matrix) [][]float64 {
	rows := make([][]float64, m.Rows)
	for i, x := range m.Data { // nil: all zero
		rows[i/m.Cols] = append(rows[i/m.Cols], float64(x))
	}
	return rows
}

func TestTwinIsTheReleasedProgram(t *testing.T) {
	toy, models := golden.Models(t)
	backbone, predictor := models["DyGMamba"], models["DyGMamba_link_predictor_logit"]
	m := toyTwin(toy, toyConfig(t, backbone), golden.Fill(backbone.Params), golden.Fill(predictor.Params))
	var zu, zv, zt, logit []float64
	for i := range toy.QuerySrc {
		a := m.answer(int(toy.QuerySrc[i]), int(toy.QueryDst[i]), toy.QueryTime[i])
		zu, zv, zt, logit = append(zu, a.zu...), append(zv, a.zv...), append(zt, a.zt...), append(logit, a.logit)
	}
	modeltest.Near(t, "z_u", zu, backbone.Outputs[0], 2e-5)
	modeltest.Near(t, "z_v", zv, backbone.Outputs[1], 2e-5)
	modeltest.Near(t, "z_t", zt, backbone.Outputs[2], 2e-5)
	modeltest.Near(t, "logit", logit, predictor.Outputs[0], 2e-5)
}
