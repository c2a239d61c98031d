package dygmamba_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/run"
)

func embed(t *testing.T, p *predict.Predictor, qs []predict.Query) ([]float32, int) {
	t.Helper()
	rows, width, err := p.Embed(t.Context(), qs)
	if err != nil || len(rows) != width*len(qs) {
		t.Fatalf("%d numbers in rows of %d for %d queries, %v", len(rows), width, len(qs), err)
	}
	return rows, width
}

// TestEmbed: neither the size of batches nor the order of queries makes a difference, and nothing from the future is
// seen.
func TestEmbed(t *testing.T) {
	r := launch(t)
	qs := questions(r.set)
	p := load(t, r.dir, predict.Options{Set: r.set})
	want, width := embed(t, p, qs)
	row := func(rows []float32, i int) []float32 { return rows[i*width : (i+1)*width] }
	few := load(t, r.dir, predict.Options{Set: r.set, Settings: []string{"batch_size=7"}})
	turned := slices.Clone(qs)
	slices.Reverse(turned)
	got, _ := embed(t, few, turned)
	for i := range qs {
		if !slices.Equal(row(got, len(qs)-1-i), row(want, i)) {
			t.Errorf("query %d has another embedding in other company", i)
		}
	}
	if slices.Equal(row(want, 0), row(want, 1)) {
		t.Error("two nodes at two times have the same embedding")
	}
	// A past that ends before the query says the same; one that ends sooner does not.
	q := qs[30:31]
	for before, same := range map[float64]bool{q[0].Time: true, q[0].Time / 2: false} {
		past := r.set.Log.Select(func(i int) bool { return r.set.Log.At(i).Time < before })
		got, _ := embed(t, load(t, r.dir, predict.Options{Set: r.set, Past: index.Freeze(past)}), q)
		if slices.Equal(got, row(want, 30)) != same {
			t.Errorf("with the events before %v the embedding at %v is the same: %v", before, q[0].Time, !same)
		}
	}
	if rows, width, err := p.Embed(t.Context(), nil); len(rows) != 0 || width != 0 || err != nil {
		t.Errorf("nothing gives %v, %d, %v", rows, width, err)
	}
	if _, _, err := p.Embed(t.Context(), []predict.Query{{Src: 1, Dst: 2, Time: math.NaN()}}); err == nil {
		t.Error("embedded at no time")
	}
}

// Every model of the catalogue has embeddings, of finite numbers that tell nodes apart.
func TestEmbedEveryModel(t *testing.T) {
	set := launch(t).set
	end := set.Log.At(set.Log.Len()-1).Time + 1
	for _, name := range models.Names(true) {
		var settings []string
		for _, s := range append(slices.Clone(narrow), "num_neighbors=4", "num_layers=1", "num_epochs=1") {
			if key, _, _ := strings.Cut(s, "="); slices.Contains(models.Get(name).Keys(), key) {
				settings = append(settings, s)
			}
		}
		dir := t.TempDir()
		if _, err := dygmamba.Train(t.Context(), dygmamba.TrainOptions{Set: set, Model: name, Settings: settings,
			Dir: dir}); err != nil {
			t.Fatal(name, err)
		}
		p := load(t, run.SeedDir(dir, 0), predict.Options{Set: set})
		var qs []predict.Query
		for n := event.Node(1); n <= 6; n++ {
			last, _ := p.LastMet(n, end)
			qs = append(qs, predict.Query{Src: n, Dst: last, Time: end})
		}
		rows, width := embed(t, p, qs)
		if width < 4 || slices.Equal(rows[:width], rows[width:2*width]) && slices.Equal(rows[:width],
			rows[2*width:3*width]) {
			t.Errorf("%s: embeddings of %d numbers, all the same: %v", name, width, rows[:width])
		}
	}
}
