package dygmamba_test

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// moods is a stream of chance meetings of people with places. A person has a mood that changes now and then, which is
// the first of its features from then on; labels tell at other times which mood it has. Many of all these have one
// time.
func moods(t testing.TB, classes []string, class func(mood float32) uint16) *dataset.Set {
	rng := rand.New(rand.NewPCG(29, 3))
	const people, places = 24, 8
	log, line := event.NewLog(0), &dataset.Timeline{Features: dataset.Features{Cols: 2}}
	labels := &dataset.NodeLabels{Names: classes}
	before, now := make([]float32, people+1), make([]float32, people+1) // strictly before the time, and with it
	at := 0.0
	for range 3000 {
		if rng.IntN(2) == 0 {
			at++
			copy(before, now)
		}
		e := event.Event{Src: 1 + rng.Int32N(people), Dst: people + 1 + rng.Int32N(places), Time: at}
		if _, err := log.Append(e); err != nil {
			t.Fatal(err)
		}
		if rng.IntN(3) == 0 {
			n := 1 + rng.Int32N(people)
			now[n] = float32(rng.NormFloat64())
			line.Node, line.Time = append(line.Node, n), append(line.Time, at)
			line.Features.Data = append(line.Features.Data, now[n], float32(rng.NormFloat64()))
			line.Features.Rows++
		}
		if n := 1 + rng.Int32N(people); rng.IntN(2) == 0 {
			labels.Node, labels.Time = append(labels.Node, n), append(labels.Time, at)
			labels.Class = append(labels.Class, class(before[n]))
		}
	}
	return &dataset.Set{Name: "moods", Log: log, Sampling: protocol.Native, Bipartite: true, Timeline: line,
		Node: dataset.Features{Rows: people + places + 1, Cols: 2}, NodeLabels: labels}
}

var moodSettings = []string{"num_layers=1", "num_neighbors=4", "time_feat_dim=8", "node_feat_dim=8", "edge_feat_dim=8",
	"num_epochs=60", "patience=60", "learning_rate=0.01", "dropout=0"}

// TestTimedLabels: a label that is a function of a feature that changes over time is learned with the feature, and
// cannot be without it. What was kept gives the same numbers, measured and asked one by one.
func TestTimedLabels(t *testing.T) {
	set := moods(t, []string{"bad", "good"}, func(mood float32) uint16 {
		if mood > 0 {
			return 1
		}
		return 0
	})
	// links are drawn at random: a model that learns much of them loses what it says of moods
	o := dygmamba.TrainOptions{Set: set, Device: newCPU(t), Model: "tgat", Dir: t.TempDir(),
		Settings: append(slices.Clone(moodSettings), "num_epochs=1")}
	if _, err := dygmamba.Train(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	o.Task, o.Backbone, o.Dir, o.Settings = protocol.NodeClassification, o.Dir, t.TempDir(), moodSettings
	sum, err := dygmamba.Train(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	r := sum.Runs[0].Results[0]
	split, err := dataset.NewNodeLabelSplit(set, dataset.SplitOptions{Sampling: set.Sampling})
	if err != nil {
		t.Fatal(err)
	}
	if r.AUC < 0.98 || r.Events != split.Test.Len() || len(r.Rules) != 3 {
		t.Errorf("with the feature: AUC %v of %d labels, want almost 1 of %d", r.AUC, r.Events, split.Test.Len())
	}
	file := filepath.Join(o.Dir, "seed-0", run.CheckpointFile)
	again, err := dygmamba.Evaluate(t.Context(), file, dygmamba.EvaluateOptions{LoadOptions: predict.Options{Set: set}})
	if err != nil || again[0].AUC != r.AUC {
		t.Errorf("measured again: %+v, %v", again, err)
	}
	askedAlone(t, file, set, split.Test, *r.Accuracy)

	without := *set
	without.Timeline, without.Node = nil, dataset.Features{Rows: set.Node.Rows}
	o.Set, o.Dir, o.Backbone = &without, t.TempDir(), ""
	if sum, err = dygmamba.Train(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if auc := sum.Runs[0].Results[0].AUC; auc > 0.65 {
		t.Errorf("without the feature: AUC %v, want chance", auc)
	}
	o.Model, o.Dir = "tgn", t.TempDir()
	if _, err := dygmamba.Train(t.Context(), o); err == nil || !strings.Contains(err.Error(), "has a memory") {
		t.Errorf("tgn: %v, want a refusal", err)
	}
}

// askedAlone asks about the labels of a part as a user does, and expects the same accuracy.
func askedAlone(t *testing.T, file string, set *dataset.Set, part *event.Log, want float64) {
	t.Helper()
	p := load(t, file, predict.Options{Set: set})
	classes, err := set.LabelClasses()
	if err != nil {
		t.Fatal(err)
	}
	var qs []predict.Query
	for i := range part.Len() {
		e := part.At(i)
		q := predict.Query{Src: e.Src, Dst: 1, Time: e.Time} // whoever that is
		if i%2 == 0 {
			q.Src, q.Dst = 9999, e.Src // nobody
		}
		qs = append(qs, q)
	}
	said, err := p.Said(t.Context(), qs)
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	for i, row := range said {
		if p.Answer(row).Class == classes.Names[classes.Of(part.At(i).Label)] {
			right++
		}
	}
	if got := float64(right) / float64(part.Len()); math.Abs(got-want) > 1e-12 {
		t.Errorf("asked one by one accuracy is %v, want %v", got, want)
	}
}

// TestTimedClasses: several classes, of destinations, that follow from how often each was met before.
func TestTimedClasses(t *testing.T) {
	log, rng := event.NewLog(0), rand.New(rand.NewPCG(29, 4))
	labels := &dataset.NodeLabels{Names: []string{"few", "many", "never"}}
	for i := range 1500 { // every place is visited eight times, then never again
		place, visit := event.Node(100+i/8), i%8
		e := event.Event{Src: 1 + rng.Int32N(20), Dst: place, Time: float64(i)}
		if _, err := log.Append(e); err != nil {
			t.Fatal(err)
		}
		class := uint16(1)
		switch { // strictly before: the visit of this very time does not count
		case visit == 0:
			class = 2
		case visit < 4:
			class = 0
		}
		labels.Node, labels.Time = append(labels.Node, place), append(labels.Time, float64(i))
		labels.Class = append(labels.Class, class)
	}
	set := &dataset.Set{Name: "visits", Log: log, Sampling: protocol.Native, Bipartite: true, NodeLabels: labels}
	sum, err := dygmamba.Train(t.Context(), dygmamba.TrainOptions{Set: set, Device: newCPU(t), Dir: t.TempDir(),
		Task:     protocol.NodeClassification,
		Settings: append(slices.Clone(narrow), "num_epochs=60", "patience=60", "learning_rate=0.01", "dropout=0")})
	if err != nil {
		t.Fatal(err)
	}
	if r := sum.Runs[0].Results[0]; *r.Accuracy < 0.8 || *r.MacroF1 < 0.85 || r.AUC < 0.99 {
		t.Errorf("accuracy %v, macro F1 %v, AUC %v: %+v", *r.Accuracy, *r.MacroF1, r.AUC, r.Classes)
	}
}
