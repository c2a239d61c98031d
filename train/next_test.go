package train_test

import (
	"math"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/streamtest"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/train"
)

// The gradients of the task next are those of its loss, for a model that describes pairs and one that describes each
// node alone. Counts learn nothing from the lists: the gradient of theirs is that of a loss without lists.
func TestNextGradients(t *testing.T) {
	for name, settings := range map[string][]string{
		"dygmamba": {"channel_embedding_dim=4", "time_feat_dim=4", "max_input_sequence_length=4",
			"max_interaction_times=2"},
		"graphmixer": {"time_feat_dim=4", "num_neighbors=3"},
	} {
		t.Run(name, func(t *testing.T) {
			set := &dataset.Set{Name: "some", Sampling: protocol.Native, Log: streamtest.Generate(
				streamtest.Shape{Events: 400, Sources: 12, Dests: 9, Instants: 300, Repeat: 0.6}, 2)}
			settings = append(settings, "node_feat_dim=4", "edge_feat_dim=4", "dropout=0", "shortlist=4",
				"counts_dim=8", "num_candidates=5", "batch_size=60")
			spec, err := models.Get(name).SpecFor(protocol.Next, "", model.DataOf(set), settings...)
			if err != nil {
				t.Fatal(err)
			}
			proto, err := eval.Open(set, eval.Options{Task: protocol.Next, BatchSize: 60})
			if err != nil {
				t.Fatal(err)
			}
			dev := cpu.New(cpu.Options{Threads: 2})
			defer dev.Close()
			env := model.Env{Device: dev, NumNodes: set.NumNodes(), Seed: 3}
			var losses []float64
			for _, sided := range []bool{true, false} {
				l, err := train.NewLearner(models.Get(name), env, spec, protocol.Next)
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				lists := l.Chooser().Feed().Lists()
				lists.SetSided(sided && name == "graphmixer")
				nextBatch(t, l, proto, func(loss func() float64) {
					losses = append(losses, loss())
					holdsSlopes(t, l, loss)
				})
			}
			if math.Abs(losses[0]-losses[1]) > 1e-5 {
				t.Errorf("a loss of %v where each source is described once, %v otherwise", losses[0], losses[1])
			}
		})
	}
}

// nextBatch lets a learner find the loss of a batch of the task next, as often as it is asked for.
func nextBatch(t *testing.T, l *train.Learner, proto *eval.Protocol, do func(loss func() float64)) {
	pass, feed := proto.TrainPairs(), l.Chooser().Feed()
	pass.Negatives, pass.PerPositive = feed.Lists(), feed.Lists().Rounds()
	feed.Begin(0, proto.TrainEvents())
	for step, err := range pass.Batches(t.Context(), l.Model, proto.TrainEvents()) {
		if err != nil {
			t.Fatal(err)
		}
		if step.Number == 3 {
			do(func() float64 {
				l.Reset(step.Batch, 0)
				l.Forward()
				loss := []float32{0}
				l.Params().Device().Read(loss, l.Loss.Data)
				return float64(loss[0])
			})
		}
	}
}

// holdsSlopes compares the gradient of each tensor with how the loss changes along it.
func holdsSlopes(t *testing.T, l *train.Learner, loss func() float64) {
	params := l.Model.Params()
	loss()
	l.Backward()
	tested := map[string]int{}
	for _, p := range params.All() {
		if p.Frozen || !p.Touched || strings.HasPrefix(p.Name, "3.who") || strings.Contains(p.Name, "time_encoder") {
			continue
		}
		g, before := params.ReadGrad(p), params.Read(p)
		slope, size := norm(g), norm(before)
		h := min(0.03*(1+size), max(2e-3*(1+size), 1e-4/slope))
		if slope*h < 5e-5 { // nothing to see in 32 bits
			continue
		}
		along := func(step float64) float64 {
			moved := make([]float32, len(before))
			for i := range moved {
				moved[i] = before[i] + float32(step*float64(g[i])/slope)
			}
			if err := params.Write(p, moved); err != nil {
				t.Fatal(err)
			}
			return loss()
		}
		got := (along(h) - along(-h)) / (2 * h)
		if math.Abs(got-slope) > 0.05*slope+1e-6/h {
			t.Errorf("%s: the loss rises by %v along the gradient, which is %v", p.Name, got, slope)
		}
		if err := params.Write(p, before); err != nil {
			t.Fatal(err)
		}
		tested[p.Name[:2]]++
	}
	for _, part := range []string{"0.", "1.", "3."} { // the model, its head, and counts
		if tested[part] == 0 {
			t.Errorf("no tensor of %s has a gradient that can be tested: %v", part, tested)
		}
	}
}

func norm(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum)
}
