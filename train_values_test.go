package dygmamba_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// drifting is a stream in which the value of an event is the last value of the pair, drawn a little towards 100, and
// noise of deviation 5: nobody can tell values better than with an RMSE of 5, and the mean of all is off by about 25.
// Each source has one destination.
func drifting(t testing.TB, events int) *dataset.Set {
	r := rand.New(rand.NewPCG(3, 4))
	last := map[int]float64{}
	text := []string{"user,item,time,price"}
	for i := range events {
		u := r.IntN(12)
		before, known := last[u]
		if !known {
			before = 100 + 25*r.NormFloat64()
		}
		last[u] = 100 + 0.98*(before-100) + 5*r.NormFloat64()
		text = append(text, fmt.Sprintf("u%d,i%d,%d,%.3f", u, u, i, last[u]))
	}
	dir := t.TempDir()
	in, out := filepath.Join(dir, "drift.csv"), filepath.Join(dir, "drift.dgm")
	if err := os.WriteFile(in, []byte(strings.Join(text, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := dataset.Import(t.Context(), []string{in}, out, dataset.ImportOptions{Value: "price"}); err != nil {
		t.Fatal(err)
	}
	set, err := dataset.OpenNative(out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	return set
}

// TestRegression: values are told almost as well as possible, and what was kept gives the same, measured and asked
// event by event.
func TestRegression(t *testing.T) {
	set, dir := drifting(t, 3000), t.TempDir()
	sum, err := dygmamba.Train(t.Context(), dygmamba.TrainOptions{
		Set: set, Device: newCPU(t), Task: protocol.Regression, Dir: dir,
		Settings: append(slices.Clone(narrow), "num_epochs=15", "learning_rate=0.003", "dropout=0"),
	})
	if err != nil {
		t.Fatal(err)
	}
	r := sum.Runs[0].Results[0]
	t.Logf("MAE %.3f, RMSE %.3f, best epoch %d", *r.MAE, *r.RMSE, sum.Runs[0].BestEpoch)
	for _, rule := range r.Rules {
		t.Logf("%s: MAE %.3f, RMSE %.3f", rule.Rule, *rule.MAE, *rule.RMSE)
	}
	if *r.RMSE > 5.5 || r.Events != 450 || sum.Runs[0].Task != protocol.Regression || sum.Runs[0].ChosenBy != "RMSE" {
		t.Errorf("RMSE %v of %d events, chosen by %s; want about 5", *r.RMSE, r.Events, sum.Runs[0].ChosenBy)
	}
	if last, mean := r.Rules[0], r.Rules[1]; *last.RMSE < 4.5 || *last.RMSE > 5.5 || *mean.RMSE < 15 {
		t.Errorf("the last value has RMSE %v, the mean %v", *last.RMSE, *mean.RMSE)
	}
	file := filepath.Join(dir, "seed-0", run.CheckpointFile)
	again, err := dygmamba.Evaluate(t.Context(), file, dygmamba.EvaluateOptions{LoadOptions: predict.Options{Set: set}})
	if err != nil || *again[0].RMSE != *r.RMSE || *again[0].MAE != *r.MAE {
		t.Errorf("measured again: %+v, %v", again, err)
	}
	p := load(t, file, predict.Options{Set: set})
	all, square := set.Log.All(), 0.0
	var qs []predict.Query
	for i := 2550; i < 3000; i++ {
		qs = append(qs, predict.Query{Src: all.Src[i], Dst: all.Dst[i], Time: all.Time[i]})
	}
	for i, x := range score(t, p, qs) {
		off := p.Target().Value(x) - set.Values[all.Edge(2550+i)]
		square += off * off
	}
	if rmse := math.Sqrt(square / 450); math.Abs(rmse-*r.RMSE) > 1e-9 {
		t.Errorf("asked event by event RMSE is %v, want %v", rmse, *r.RMSE)
	}
	if target := p.Target(); target.Column != "price" || math.Abs(target.Mean-100) > 30 || target.Deviation < 10 {
		t.Errorf("the target is %+v", target)
	}
}

// TestRegressionIsBlind: what the model says of an event does not depend on its own value, nor on later ones.
func TestRegressionIsBlind(t *testing.T) {
	set := drifting(t, 600)
	dir := t.TempDir()
	_, err := dygmamba.Train(t.Context(), dygmamba.TrainOptions{
		Set: set, Device: newCPU(t), Task: protocol.Regression, Dir: dir,
		Settings: append(slices.Clone(narrow), "num_epochs=1"),
	})
	if err != nil {
		t.Fatal(err)
	}
	e := set.Log.At(500)
	ask := []predict.Query{{Src: e.Src, Dst: e.Dst, Time: e.Time}}
	before := score(t, load(t, dir, predict.Options{Set: set}), ask)
	other := *set
	other.Edge.Data = slices.Clone(set.Edge.Data)
	other.Values = slices.Clone(set.Values)
	for i := 501; i < other.Edge.Rows; i++ { // event 500, whose edge is 501, and all after it
		other.Edge.Row(i)[0], other.Values[i] = 7, -1e6
	}
	if after := score(t, load(t, dir, predict.Options{Set: &other}), ask); after[0] != before[0] {
		t.Errorf("the answer was %v and is %v with other values from then on", before[0], after[0])
	}
	for i := range 500 {
		other.Edge.Row(i + 1)[0] = 7
	}
	if after := score(t, load(t, dir, predict.Options{Set: &other}), ask); after[0] == before[0] {
		t.Error("the answer does not depend on the values before it")
	}
}
