package dygmamba_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/audit"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/rng"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/train"
)

// regulars is a stream of sources with two favourites each, a few whims, and new destinations now and then. Several
// events happen at once.
func regulars(t testing.TB) *dataset.Set {
	gen, log := rng.New(1, "regulars"), event.NewLog(0)
	for i := range 1500 {
		u := event.Node(100 + gen.Below(20))
		v := event.Node(1 + (int(u)*7+gen.Below(2))%40)
		switch gen.Below(8) {
		case 0:
			v = event.Node(1 + gen.Below(40))
		case 1:
			v = event.Node(200 + i/10)
		}
		if _, err := log.Append(event.Event{Src: u, Dst: v, Time: float64(i / 3)}); err != nil {
			t.Fatal(err)
		}
	}
	return &dataset.Set{Name: "regulars", Log: log, Sampling: protocol.Native}
}

// nextOptions train a model of the task next for a moment.
func nextOptions(t *testing.T, name string, set *dataset.Set, threads int) dygmamba.TrainOptions {
	dev := cpu.New(cpu.Options{Threads: threads})
	t.Cleanup(func() { dev.Close() })
	return dygmamba.TrainOptions{Set: set, Device: dev, Model: name, Task: protocol.Next, Dir: t.TempDir(),
		Threads: threads, Settings: smallNext(t, name)}
}

// smallNext are the settings of a model that trains in a moment.
func smallNext(t testing.TB, name string) []string {
	f, err := model.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	list := []string{"num_epochs=4", "batch_size=100", "num_candidates=10", "learning_rate=0.01",
		"counts_learning_rate=0.01", "counts_dim=16", "shortlist=5", "channel_embedding_dim=8", "time_feat_dim=8",
		"max_input_sequence_length=8", "max_interaction_times=4", "num_neighbors=3", "node_feat_dim=8",
		"edge_feat_dim=8", "position_feat_dim=8", "walk_dim=8"}
	if f.Task == protocol.Next {
		list = append(list, "hidden_dim=16")
	} else if name != "graphmixer" && name != "tgn" { // which stand for all in what concerns times
		list = append(list, "rate_trees=0")
	}
	return slices.DeleteFunc(list, func(s string) bool {
		key, _, _ := strings.Cut(s, "=")
		return !slices.Contains(f.KeysFor(protocol.Next), key)
	})
}

// TestNext holds what every model of the task next promises.
func TestNext(t *testing.T) {
	for _, name := range model.Learning(protocol.Next) {
		t.Run(name, func(t *testing.T) {
			some := []string{"countnet", "dygmamba", "dygformer", "graphmixer", "tgn"}
			if testing.Short() && !slices.Contains(some, name) {
				t.Skip("every model is trained without -short")
			}
			set := regulars(t)
			o := nextOptions(t, name, set, 1)
			sum, err := dygmamba.Train(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			t.Run("learns", func(t *testing.T) { learnsNext(t, sum.Runs[0], o.Dir) })
			t.Run("same bytes on more threads", func(t *testing.T) {
				more := nextOptions(t, name, set, 3)
				if _, err := dygmamba.Train(t.Context(), more); err != nil {
					t.Fatal(err)
				}
				sameWeights(t, o.Dir, more.Dir)
			})
			t.Run("answers", func(t *testing.T) { answersNext(t, set, o.Dir, sum.Runs[0]) })
			t.Run("embeds, or says that it does not", func(t *testing.T) { embedsNext(t, set, o.Dir, name) })
			t.Run("sees nothing at or after t", func(t *testing.T) { blindNext(t, set, o.Dir) })
			if !slices.Contains([]string{"countnet", "graphmixer", "tgn"}, name) {
				return // these stand for all in what the loop does
			}
			t.Run("goes on where it was interrupted", func(t *testing.T) { resumesNext(t, name, set, o.Dir) })
			t.Run("passes an audit", func(t *testing.T) {
				r, err := audit.Run(t.Context(), audit.Options{Dir: filepath.Join(o.Dir, "seed-0"), Set: set})
				if err != nil || r.Verdict != audit.Pass {
					t.Errorf("%+v, %v", r, err)
				}
			})
		})
	}
}

func learnsNext(t *testing.T, r run.Result, dir string) {
	n := r.Next
	if r.Task != protocol.Next || n == nil || n.Events != 225 || n.WhoBits > 4 || n.Returning >= n.First ||
		r.NextVal == nil || r.ChosenBy != run.BitsMeasure || *n.MRR < 0.3 || *n.Hits10 < *n.MRR {
		t.Errorf("result %+v, test %+v, validation %+v", r, n, r.NextVal)
	}
	for _, file := range []string{run.LogFile, run.ResultFile} {
		raw, err := os.ReadFile(filepath.Join(dir, "seed-0", file))
		if err != nil || !strings.Contains(string(raw), `"who_bits"`) {
			t.Errorf("%s has no bits: %v", file, err)
		}
	}
	sum, err := run.ReadSummary(dir)
	if err != nil || sum.Next == nil || sum.Next.WhoBits.Mean != n.WhoBits {
		t.Errorf("summary %+v, %v", sum.Next, err)
	}
}

func sameWeights(t *testing.T, dir, other string) {
	t.Helper()
	for _, file := range []string{run.CheckpointFile} {
		a, err := os.ReadFile(filepath.Join(dir, "seed-0", file))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(other, "seed-0", file))
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs (%v)", file, err)
		}
	}
}

func resumesNext(t *testing.T, name string, set *dataset.Set, whole string) {
	o := nextOptions(t, name, set, 2)
	o.SaveEvery = time.Nanosecond
	for _, stop := range []int{3, 17} { // in the first epoch, and in the second after it went on
		ctx, cancel := context.WithCancel(t.Context())
		steps := 0
		o.OnStep = func(uint64, train.Step) {
			if steps++; steps == stop {
				cancel()
			}
		}
		if _, err := dygmamba.Train(ctx, o); !errors.Is(err, context.Canceled) {
			t.Fatalf("not interrupted: %v", err)
		}
		o.Resume = true
	}
	o.OnStep = nil
	sum, err := dygmamba.Train(t.Context(), o)
	if err != nil || sum.Runs[0].Epochs != 4 {
		t.Fatalf("%+v, %v", sum, err)
	}
	sameWeights(t, whole, o.Dir)
}

// answersNext: shares sum to 1 and are what was measured, whoever is asked about.
func answersNext(t *testing.T, set *dataset.Set, dir string, r run.Result) {
	want, most := *r.Next, 1e-9
	if r.Order != "" { // events are remembered in units, which begin with the test here and with the data there
		most = 0.05
	}
	if _, err := dygmamba.Load(dir, predict.Options{Set: set}); !errors.Is(err, predict.ErrNext) {
		t.Errorf("loaded for links: %v", err)
	}
	c, err := predict.LoadChooser(dir, predict.Options{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, at := range []event.Time{0, 1, 250, 400.5, 1e9, 3} {
		for _, src := range []event.Node{100, 111, 1, 9999} {
			s, err := c.Next(src, at)
			if err != nil {
				t.Fatal(err)
			}
			sum := s.New
			for i, x := range s.Items {
				if sum += x.Share; i > 0 && x.Share > s.Items[i-1].Share {
					t.Fatalf("%d at %v: place %d is above the one before", src, at, i+1)
				}
			}
			if math.Abs(sum-1) > 1e-5 {
				t.Errorf("%d at %v: shares sum to %v", src, at, sum)
			}
		}
	}
	var test []predict.Query
	for i := 1275; i < 1500; i++ {
		e := set.Log.At(i)
		test = append(test, predict.Query{Src: e.Src, Dst: e.Dst, Time: e.Time})
	}
	found, err := c.Surprises(t.Context(), test, nil)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, x := range found {
		sum += x.Bits
	}
	if got := sum / float64(len(found)); math.Abs(got-want.WhoBits) > most {
		t.Errorf("event by event %v bits, the training measured %v", got, want.WhoBits)
	}
	proto, err := c.Protocol()
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Evaluate(t.Context(), proto, eval.NextOptions{})
	if err != nil || again.WhoBits != want.WhoBits || *again.MRR != *want.MRR || again.WhoBitsCI != nil {
		t.Errorf("measured again: %+v, %v", again, err)
	}
	some, err := c.Evaluate(t.Context(), proto, eval.NextOptions{Limit: 50})
	if err != nil || some.Events != 50 || some.Of != 225 || !(some.WhoBitsCI[0] < some.WhoBits) {
		t.Errorf("a draw of 50: %+v, %v", some, err)
	}
	cut, err := c.EvaluateWho(t.Context(), proto, eval.NextOptions{Limit: 100, Until: time.Now()})
	if err != nil || cut.Events != 30 || cut.Drawn != 100 {
		t.Errorf("30 of a draw of 100, for lack of time: %+v, %v", cut, err)
	}
	same, err := c.EvaluateWho(t.Context(), proto, cut.Again())
	if err != nil || same.WhoBits != cut.WhoBits || same.Events != 30 || same.Drawn != 100 || some.Drawn != 0 {
		t.Errorf("the same events again: %+v, not %+v, %v", same, cut, err)
	}
	if rules := proto.NextRules(eval.NextOptions{Limit: 50}); len(rules) != 3 || !(rules[0].All < rules[2].All) {
		t.Errorf("rules %+v", rules)
	}
}

// embedsNext: a model of pairs gives embeddings, which differ between sources and do not depend on who else is asked
// about. One of counts has none.
func embedsNext(t *testing.T, set *dataset.Set, dir, name string) {
	p, err := predict.LoadEmbedder(dir, predict.Options{Set: set})
	if slices.Contains(model.MadeFor(protocol.Next), name) {
		if !errors.Is(err, predict.ErrNoEmbeddings) {
			t.Errorf("a model of counts: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	qs := []predict.Query{{Src: 100, Dst: 5, Time: 490}, {Src: 104, Dst: 9, Time: 495}}
	both, width, err := p.Embed(t.Context(), qs)
	if err != nil || width == 0 || len(both) != 2*width || slices.Equal(both[:width], both[width:]) {
		t.Fatalf("%v, width %d, %v", both, width, err)
	}
	one, _, err := p.Embed(t.Context(), qs[1:])
	if err != nil || len(p.Spec().Conditions()) == 0 && !slices.Equal(one, both[width:]) {
		t.Errorf("%v alone, %v among others, %v", one, both[width:], err)
	}
}

// blindNext: what lies at or after the time of a question may be anything.
func blindNext(t *testing.T, set *dataset.Set, dir string) {
	const at = 300
	other := &dataset.Set{Name: set.Name, Sampling: set.Sampling, Log: event.NewLog(0)}
	for i := range set.Log.Len() {
		e := set.Log.At(i)
		if e.Time >= at {
			e.Src, e.Dst = e.Src+3, 1+e.Dst/2
		}
		if _, err := other.Log.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	var shares [2]predict.Shares
	for k, s := range []*dataset.Set{set, other} {
		c, err := predict.LoadChooser(dir, predict.Options{Set: s})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if shares[k], err = c.Next(104, at); err != nil {
			t.Fatal(err)
		}
	}
	a, b := shares[0], shares[1]
	if a.New != b.New || len(a.Items) != len(b.Items) || len(a.Items) == 0 {
		t.Fatalf("%v and %v for a new one", a.New, b.New)
	}
	for i := range a.Items {
		if a.Items[i] != b.Items[i] {
			t.Fatalf("place %d: %+v and %+v", i+1, a.Items[i], b.Items[i])
		}
	}
}

// A model learns what it was made for, and the task has a default model.
func TestTaskOf(t *testing.T) {
	chooser := dygmamba.ModelFor(protocol.Next)
	if chooser == dygmamba.DefaultModel || dygmamba.ModelFor("") != dygmamba.DefaultModel ||
		dygmamba.ModelFor(protocol.NodeClassification) != dygmamba.DefaultModel {
		t.Errorf("defaults %s", chooser)
	}
	for _, x := range []struct {
		model      string
		task, want protocol.Task
		fails      bool
	}{
		{chooser, "", protocol.Next, false}, {chooser, protocol.Next, protocol.Next, false},
		{chooser, protocol.LinkPrediction, "", true}, {dygmamba.DefaultModel, protocol.Next, protocol.Next, false},
		{dygmamba.DefaultModel, "", "", false}, {"nobody", "", "", true},
	} {
		if got, err := dygmamba.TaskOf(x.model, x.task); got != x.want || (err != nil) != x.fails {
			t.Errorf("%s, %q: %q, %v", x.model, x.task, got, err)
		}
	}
}

// A time limit that is too short for one epoch keeps training to the latest events, and the record says so.
func TestNextInLimitedTime(t *testing.T) {
	set, err := dataset.Periodic(dataset.PeriodicOptions{Events: 100_000, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	sum, err := dygmamba.Train(t.Context(), dygmamba.TrainOptions{Set: set, Task: protocol.Next,
		MaxTime: 3 * time.Second, Settings: []string{"rate_trees=0"}})
	if err != nil {
		t.Fatal(err)
	}
	s := sum.Runs[0].Sampled
	if last := set.Log.At(70_000).Time; s == nil || s.Kind != eval.SampleLatest || s.Events >= s.Of || s.Last != last {
		t.Errorf("trained on %+v, want the latest of 70,001 events until %v", s, last)
	}
	if n := sum.Runs[0].Next; n == nil || n.Events == 0 {
		t.Errorf("the test has %+v", n)
	}
	for _, name := range []string{"dygmamba", "graphmixer"} { // of pairs, and of nodes alone
		o := nextOptions(t, name, set, 1)
		o.MaxTime = 3 * time.Second
		sum, err := dygmamba.Train(t.Context(), o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if s, n := sum.Runs[0].Sampled, sum.Runs[0].Next; s == nil || s.Events >= s.Of || n == nil || n.Events == 0 {
			t.Errorf("%s trained on %+v, the test has %+v", name, s, n)
		}
	}
}
