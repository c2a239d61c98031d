package serve

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/run"
)

// overTime is a set whose node features change over time, in many of the instants of its events.
func overTime(set *dataset.Set) *dataset.Set {
	timed, rng, width := *set, rand.New(rand.NewPCG(29, 1)), set.Node.Cols
	line := &dataset.Timeline{Features: dataset.Features{Cols: width}}
	for i, all := 0, set.Log.All(); i < all.Len(); i++ {
		if rng.IntN(3) > 0 {
			continue
		}
		line.Node = append(line.Node, 1+event.Node(rng.IntN(set.NumNodes()-1)))
		line.Time = append(line.Time, all.Time[i])
		for range width {
			line.Features.Data = append(line.Features.Data, float32(rng.NormFloat64()))
		}
		line.Features.Rows++
	}
	timed.Node.Data, timed.Timeline = nil, line
	return &timed
}

// TestTimelineOnlineIsOffline: with node features that change over time a server that was sent events answers as the
// library does of a file that has them, bit for bit, whatever the time that is asked about.
func TestTimelineOnlineIsOffline(t *testing.T) {
	for _, name := range []string{dygmamba.DefaultModel, "tgat", "tgn", "walkmamba"} {
		spec, set := modeltest.Small(t, name, models.Get(name))
		whole := overTime(set)
		spec.Training.Epochs = 1
		dir := t.TempDir()
		if _, err := dygmamba.Train(t.Context(), dygmamba.TrainOptions{Set: whole, Model: name, Spec: &spec, Dir: dir,
			Threads: 1}); err != nil {
			t.Fatal(err)
		}
		w := &world{whole: whole, early: whole.First(whole.Log.Len() / 2), run: run.SeedDir(dir, 0)}
		s := w.server(t, nil)
		for lo := w.early.Log.Len(); lo < whole.Log.Len(); lo += 30 {
			ask[receiptDoc](t, s, "POST", "/v1/events", w.body(lo, min(lo+30, whole.Log.Len())))
		}
		var asked []string
		var qs []predict.Query
		for i := 0; i < whole.Log.Len(); i += 9 {
			e := whole.Log.At(i)
			for _, at := range []float64{e.Time, e.Time + 0.5} {
				qs = append(qs, predict.Query{Src: e.Src, Dst: e.Dst, Time: at})
				asked = append(asked, fmt.Sprintf(`{"src": %d, "dst": %d, "time": %s}`, e.Src, e.Dst,
					strconv.FormatFloat(at, 'g', -1, 64)))
			}
		}
		offline, err := predict.Load(w.run, predict.Options{Set: whole, Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		want, err := offline.Score(context.Background(), qs)
		offline.Close()
		if err != nil {
			t.Fatal(err)
		}
		got := ask[scoresDoc](t, s, "POST", "/v1/score", `{"queries": [`+strings.Join(asked, ", ")+`]}`)
		for i, score := range got.Scores {
			if math.Float32bits(float32(score.Logit)) != math.Float32bits(want[i]) {
				t.Fatalf("%s: %s is %v online, %v offline", name, asked[i], score.Logit, want[i])
			}
		}
	}
}
