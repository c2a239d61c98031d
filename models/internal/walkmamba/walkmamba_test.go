package walkmamba

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/sample"
)

// small makes everything small; lengths are no multiple of the patch.
var small = []string{
	"time_feat_dim=6", "channel_embedding_dim=4", "patch_size=2", "max_input_sequence_length=7",
	"max_interaction_times=4", "node_feat_dim=9", "edge_feat_dim=8", "walk_dim=10", "time_span=60", "dropout=0",
}

// forms are the whole model, and the model with each part left out.
var forms = []struct {
	name     string
	settings []string
}{
	{"whole", nil},
	{"single steps", []string{"patch_size=1"}},
	{"plain time", []string{"log_time=false"}},
	{"no direction", []string{"direction=false"}},
	{"no walks of neighbours", []string{"walk_neighbors=false"}},
	{"no walks of the pair", []string{"walk_pair=false"}},
	{"no walks", []string{"walk_neighbors=false", "walk_pair=false"}},
	{"no roles", []string{"roles=false"}},
	{"no node-level block", []string{"node_block=false"}},
	{"no time-level block", []string{"time_block=false"}},
	{"next item", []string{"next_item=true"}},
	{"next item alone", []string{
		"next_item=true", "time_block=false", "roles=false", "walk_pair=false", "walk_neighbors=false",
		"direction=false",
	}},
	{"periodicity", []string{"periodicity=true"}},
	{"periodicity alone", []string{
		"periodicity=true", "time_block=false", "roles=false", "walk_pair=false",
	}},
	{"nothing to gate with", []string{"time_block=false", "roles=false"}},
	{"nothing of the pair", []string{"time_block=false", "roles=false", "walk_pair=false"}},
	{"base", []string{"log_time=false", "direction=false", "walk_neighbors=false", "walk_pair=false", "roles=false"}},
}

// newToy is the model on the toy graph with weights that let every part say something.
func newToy(t *testing.T, settings ...string) *modeltest.Toy {
	t.Helper()
	y := modeltest.NewToy(t, Factory, append(slices.Clip(small), settings...)...)
	rng := rand.New(rand.NewPCG(1, 7))
	for _, p := range y.Params().All() {
		values := make([]float32, p.Len())
		for i := range values {
			values[i] = float32(0.3 * rng.NormFloat64())
		}
		if err := y.Params().Write(p, values); err != nil {
			t.Fatal(err)
		}
	}
	return y
}

// TestGradients compares the gradients of all parameters with central differences of the twin along them.
func TestGradients(t *testing.T) {
	for _, c := range forms {
		t.Run(c.name, func(t *testing.T) {
			y := newToy(t, c.settings...)
			params := y.Params()
			if slow := params.Get("0.time_encoder.w.weight"); !y.Model.(*Model).cfg.LogTime {
				values := make([]float32, slow.Len()) // that turn little even in 1e10
				for i := range values {
					values[i] = float32(i+1) * 1e-10
				}
				if err := params.Write(slow, values); err != nil {
					t.Fatal(err)
				}
			}
			qs := y.Queries()[:4]
			signs := make([]float32, len(qs))
			for i := range signs {
				signs[i] = float32(math.Cos(float64(i * i)))
			}
			tp := grad.NewTape(y.Device, true)
			defer tp.Close()
			tp.Reset(0)
			logits, _ := model.Logits(tp, y.Model, y.Head(), y.Batch(qs))
			params.ZeroGrad()
			tp.Backward(grad.Sum(tp, grad.Mul(tp, logits, tp.Floats(signs, len(signs), 1))))
			m := newTwin(y)
			m.smooth = true
			for _, p := range params.All() {
				g, before := params.ReadGrad(p), m.w[p.Name]
				length := 0.0
				for _, x := range g {
					length += float64(x) * float64(x)
				}
				if length = math.Sqrt(length); length == 0 {
					t.Errorf("%s: no gradient", p.Name)
					continue
				}
				along := func(step float64) (sum float64) {
					moved := slices.Clone(before)
					for i := range moved {
						moved[i] += step * float64(g[i]) / length
					}
					m.w[p.Name] = moved
					for i, q := range qs {
						sum += float64(signs[i]) * m.logit(q)
					}
					m.w[p.Name] = before
					return sum
				}
				h := 1e-5
				if p.Name == "0.time_encoder.w.weight" {
					h = 1e-13
					if m.c.LogTime {
						h = 1e-6
					}
				}
				if slope := (along(h) - along(-h)) / (2 * h); math.Abs(slope-length) > 2e-3*length+1e-6 {
					t.Errorf("%s: the answers rise by %v along the gradient, which is %v", p.Name, slope, length)
				}
			}
		})
	}
}

func TestSteps(t *testing.T) { modeltest.Steps(t, Factory, small...) }

func TestCheck(t *testing.T) {
	modeltest.Refuses(t, Factory, map[string]string{
		"walk_dim=0":                "walk_dim is 0",
		"time_span=-1":              "time_span is -1",
		"width_divisor=3":           "must divide 4·channel_embedding_dim",
		"gamma=0":                   "gamma is 0",
		"dropout=1":                 "dropout is 1",
		"time_feat_dim=1":           "time_feat_dim is 1",
		"max_interaction_times=0":   "max_interaction_times is 0",
		"walk_neighbors=perhaps":    "true or false",
		"walk_update=sometimes":     "walk_update is \"sometimes\", must be \"exact\" or \"batch\"",
		"channel_embedding_dim=1e9": "must be a whole number",
	})
}

// TestShapes: tensors tell all that they can.
func TestShapes(t *testing.T) {
	for _, c := range forms {
		settings := slices.Concat(small, c.settings, []string{"gamma=0.8", "num_layers=3"})
		want, err := Factory.Spec("", model.Data{}, settings...)
		if err != nil {
			t.Fatal(err)
		}
		told := []string{"max_input_sequence_length=7", "max_interaction_times=4", "walk_dim=10", "time_span=60",
			"dropout=0"}
		if !want.Config.(*Config).LogTime {
			told = append(told, "log_time=false")
		}
		base, err := Factory.Spec("", model.Data{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := Factory.FromTensors(base, modeltest.Shapes(declare(*want.Config.(*Config), 0)), told...)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		x, y := *got.Config.(*Config), *want.Config.(*Config)
		if x.TimeWidth() == y.TimeWidth() || !y.TimeBlock {
			x.Gamma = y.Gamma
		}
		if x != y {
			t.Errorf("%s: %+v, want %+v", c.name, x, y)
		}
	}
	shapes := modeltest.Shapes(declare(Default, 0))
	delete(shapes, "0.output_layer.weight")
	_, err := Factory.FromTensors(model.Spec{Config: &Default, Training: model.Standard}, shapes)
	if err == nil || !strings.Contains(err.Error(), "not the weights of WalkMamba") {
		t.Errorf("without its output: %v", err)
	}
}

// TestSpan: time scales come from the data, and a setting overrules them.
func TestSpan(t *testing.T) {
	for _, c := range []struct {
		settings []string
		want     float64
	}{{nil, 77}, {[]string{"time_span=5"}, 5}} {
		spec, err := Factory.Spec("", model.Data{Span: 77}, c.settings...)
		if err != nil {
			t.Fatal(err)
		}
		if got := spec.Config.(*Config).Span; got != c.want {
			t.Errorf("%v: time_span is %v, want %v", c.settings, got, c.want)
		}
	}
}

// TestUpdate: a state that goes on by batches is that of the first query, and results say so.
func TestUpdate(t *testing.T) {
	batch, exact := newToy(t, "walk_update=batch"), newToy(t)
	scores := func(y *modeltest.Toy, qs []sample.Query) []float32 {
		out := make([]float32, len(qs))
		s := model.NewScorer(y.Model)
		defer s.Close()
		if err := s.Score(y.Batch(qs), out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	qs := exact.Queries()
	first := qs[0]
	for _, q := range qs {
		if q.Time < first.Time {
			first = q
		}
	}
	for _, y := range []*modeltest.Toy{batch, exact} {
		together, differ := scores(y, qs), 0
		for i, q := range qs {
			alone := scores(y, []sample.Query{q})[0]
			other := math.Abs(float64(alone-together[i])) > 1e-5 // GPUs add up in an order that depends on the batch
			if other {
				differ++
			}
			if q == first && other {
				t.Errorf("the first query has %v alone and %v with others", alone, together[i])
			}
		}
		if (differ > 0) != (y == batch) {
			t.Errorf("%d scores of %d depend on the batch", differ, len(qs))
		}
	}
	for setting, lines := range map[string]int{"walk_update=exact": 0, "walk_update=batch": 1} {
		spec, err := Factory.Spec("", model.Data{}, setting)
		if err != nil || len(spec.Conditions()) != lines {
			t.Errorf("%s: %d conditions, want %d (%v)", setting, len(spec.Conditions()), lines, err)
		}
	}
}

func TestBrief(t *testing.T) {
	c := Default
	c.NextItem = true
	if mark := c.Mark("quick"); mark != "" {
		t.Errorf("the whole model is marked %q", mark)
	}
	c.Periodicity = true
	if quick, own := c.Mark("quick"), c.Mark(when); quick != "with periodicity" || own != "" {
		t.Errorf("periodicity is marked %q, and in its own preset %q", quick, own)
	}
	c.Periodicity = false
	c.Update = ByBatch
	if mark := c.Mark("quick"); mark != "without exactness: states as of the batch" {
		t.Errorf("states that wait for the batch are marked %q", mark)
	}
	c.Update = Exact
	c.Roles, c.TimeBlock = false, false
	s := c.Brief()
	if !strings.HasSuffix(s, ", without roles, without time-level block, with next item") ||
		strings.Contains(s, "log time") || strings.Contains(s, "periodicity") {
		t.Error(s)
	}
	for _, tt := range []struct {
		nextItem bool
		want     string
	}{
		{true, "without roles, time-level block"}, {false, "without roles, time-level block, next item"},
	} {
		c.NextItem = tt.nextItem
		if mark := c.Mark("quick"); mark != tt.want {
			t.Errorf("next item %v: marked %q, want %q", tt.nextItem, mark, tt.want)
		}
	}
	if c.Periodicity = true; !strings.HasSuffix(c.Brief(), ", with periodicity") {
		t.Error(c.Brief())
	}
}

// TestPresets: all know what usually comes next, and the one for when also whether it is time again.
func TestPresets(t *testing.T) {
	for _, p := range presets {
		spec, err := Factory.Spec(p.Name, model.Data{Name: "uci"})
		if err != nil {
			t.Fatal(err)
		}
		if c := spec.Config.(*Config); !c.NextItem || c.Periodicity != (p.Name == when) || c.without() != nil {
			t.Errorf("preset %s: %s", p.Name, c.Brief())
		}
	}
}

// TestRenamed: configurations that name next_item and periodicity as they were called before can be read.
func TestRenamed(t *testing.T) {
	s, err := Factory.Decode([]byte(`{"preset":"quick","config":{"sequels":true,"returns":true}}`))
	if err != nil {
		t.Fatal(err)
	}
	if c := s.Config.(*Config); !c.NextItem || !c.Periodicity {
		t.Errorf("%+v, want both", c)
	}
	if s, err = Factory.Spec("quick", model.Data{}, "sequels=false"); err != nil || s.Config.(*Config).NextItem {
		t.Errorf("%+v and %v, want no next item", s.Config, err)
	}
}
