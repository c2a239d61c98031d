package dygformer

import (
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/sample"
)

// with is the default changed.
func with(change func(*Config)) Config {
	c := Default
	change(&c)
	return c
}

func TestPlan(t *testing.T) {
	row := sample.Draw{Neighbors: 255, RowMultiple: 8, Target: sample.TargetFirst, PadRight: true}
	c := with(func(c *Config) { c.Length, c.Patch = 256, 8 })
	want := sample.Plan{Draws: sample.Both(row), Counts: sample.PlainCounts, ByCall: true}
	if diff := cmp.Diff(want, c.Plan()); diff != "" {
		t.Error(diff)
	}
	// As long as configured: rounded up where patches do not fill it.
	for patch, length := range map[int]int{8: 256, 7: 259} {
		c.Padding, c.Patch, c.ExactTimes = model.PadFixed, patch, true
		row.RowMultiple, row.RowLen = 0, length
		want := sample.Plan{Draws: sample.Both(row), Counts: sample.PlainCounts, ExactTimes: true}
		if diff := cmp.Diff(want, c.Plan()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestPresets(t *testing.T) {
	type row struct {
		length, patch int
		dropout       float64
		epochs        int
	}
	for _, tt := range []struct {
		preset, data string
		want         row
	}{
		{"released", "wikipedia", row{32, 1, 0.1, 100}},
		{"released", "reddit", row{64, 2, 0.2, 100}},
		{"released", "mooc", row{256, 4, 0.1, 100}},
		{"released", "lastfm", row{512, 16, 0.1, 100}},
		{"released", "enron", row{256, 4, 0, 100}},
		{"released", "SocialEvo", row{32, 1, 0.1, 100}},
		{"released", "uci", row{32, 1, 0.1, 100}},
		{"released", "my own data", row{32, 1, 0.1, 100}},
		{"paper", "mooc", row{256, 8, 0.1, 200}},
		{"paper", "enron", row{256, 8, 0, 200}},
		{"paper", "Flights", row{256, 8, 0.1, 200}},
		{"paper", "CanParl", row{2048, 64, 0.1, 200}},
		{"paper", "USLegis", row{256, 8, 0, 200}},
		{"paper", "UNtrade", row{256, 8, 0, 200}},
		{"paper", "UNvote", row{128, 4, 0.2, 200}},
		{"paper", "Contacts", row{32, 1, 0, 200}},
		{"paper", "s1", row{64, 2, 0.1, 200}},
		{"paper", "s2", row{512, 16, 0.1, 200}},
		{"paper", "s3", row{32, 1, 0.1, 200}},
		{"paper", "my own data", row{32, 1, 0.1, 200}},
	} {
		s, err := Factory.Spec(tt.preset, model.Data{Name: tt.data})
		if err != nil {
			t.Fatal(err)
		}
		c := s.Config.(*Config)
		if got := (row{c.Length, c.Patch, c.Dropout, s.Training.Epochs}); got != tt.want {
			t.Errorf("%s on %s: %+v, want %+v", tt.preset, tt.data, got, tt.want)
		}
	}
	for _, tt := range []struct {
		data   model.Data
		preset string
		exact  bool
	}{
		{model.Data{Name: "enron"}, "paper", false}, {model.Data{Name: "CanParl"}, "paper", false},
		{model.Data{Name: "enron", Imported: true}, "released", true}, {model.Data{}, "released", false},
	} {
		s, err := Factory.Spec("", tt.data)
		if err != nil || s.Preset != tt.preset || s.Config.(*Config).ExactTimes != tt.exact {
			t.Errorf("%v is trained as %+v, %v; want %s", tt.data, s, err, tt.preset)
		}
	}
}

// TestTold: padding by call is told before training and with every result.
func TestTold(t *testing.T) {
	for setting, want := range map[string]int{"padding=call": 1, "padding=fixed": 0} {
		s, err := Factory.Spec("", model.Data{Name: "uci"}, setting)
		if err != nil || len(s.Notes()) != want || len(s.Conditions()) != want {
			t.Errorf("%s: notes %q, conditions %q, %v", setting, s.Notes(), s.Conditions(), err)
		}
	}
	s, err := Factory.Spec("paper", model.Data{Name: "enron"}, "freeze_time_encoder=true")
	want := "L & p 256 & 8, dropout 0, padding call, time encoder frozen"
	if err != nil || s.Brief() != want {
		t.Errorf("in brief %q, %v, want %q", s.Brief(), err, want)
	}
	for setting, want := range map[string]string{
		"padding=call":       "L & p 256 & 8, padding call, feed-forward, dropout 0", // as every preset has it
		"feed_forward=true":  "L & p 256 & 8, padding call, feed-forward, dropout 0",
		"feed_forward=false": "L & p 256 & 8, padding call", // it drops nothing
	} {
		s, err = FactoryMamba.Spec("", model.Data{Name: "enron"}, setting)
		if err != nil || s.Brief() != want {
			t.Errorf("%s: in brief %q, %v, want %q", setting, s.Brief(), err, want)
		}
	}
}

func TestBadConfigurations(t *testing.T) {
	modeltest.Refuses(t, Factory, map[string]string{
		"patch_size=0":                        "patch_size is 0, must be at least 1",
		"max_input_sequence_length=100000000": "must be at least 1 and at most 1048576",
		"channel_embedding_dim=1000000":       "channel_embedding_dim is 1000000, must be at least 1 and at most 65536",
		"num_heads=3":                         "num_heads is 3, must divide 4·channel_embedding_dim = 200",
		"dropout=1":                           "must be at least 0 and below 1",
		"dropout=NaN":                         "dropout is NaN",
		"time_feat_dim=1":                     "must be at least 2",
		"layer=lstm":                          `layer is "lstm", must be "transformer" or "mamba"`,
		"padding=none":                        `padding is "none", must be "fixed" or "call"`,
		"max_interaction_times=5":             `no key "max_interaction_times"`,
	})
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	if runtime.GOOS == "linux" { // elsewhere nobody tells how much memory is left
		huge := with(func(c *Config) { c.Patch, c.NodeDim, c.Channel = 1<<20, 1<<16, 1<<12 })
		_, err := Factory.Build(model.Env{Device: dev}, model.Spec{Config: &huge})
		if err == nil || !strings.Contains(err.Error(), "the weights take") {
			t.Errorf("weights larger than the memory: %v", err)
		}
	}
	modeltest.RefusesWide(t, Factory)
}

func count(c Config) int { return declare(c, 0).Params().Count() }

func TestParameterCounts(t *testing.T) {
	const predictor = 59513
	for patch, want := range map[int]int{1: 1027522, 2: 1052222, 8: 1200422, 16: 1398022} {
		if got := count(with(func(c *Config) { c.Patch = patch })); got != want+predictor {
			t.Errorf("patches of %d: %d parameters, want %d", patch, got, want+predictor)
		}
	}
}

// TestConfigFromTensors: weights are recognised by their shapes, those of the released program among them.
func TestConfigFromTensors(t *testing.T) {
	for layer, f := range factories {
		t.Run(layer, func(t *testing.T) { testShapes(t, layer, f) })
	}
}

func testShapes(t *testing.T, layer string, f model.Factory) {
	want := with(func(c *Config) {
		c.Patch, c.Channel, c.TimeDim, c.Layers, c.NodeDim, c.EdgeDim, c.Length = 3, 8, 10, 4, 11, 5, 64
		c.Layer = layer
	})
	base, err := f.Spec("released", model.Data{Name: "uci"})
	if err != nil {
		t.Fatal(err)
	}
	shapes := func() map[string][]int { return modeltest.Shapes(declare(want, 0)) }
	s, err := f.FromTensors(base, shapes(), "max_input_sequence_length=64")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, s.Config); diff != "" {
		t.Error(diff)
	}
	if layer == "mamba" {
		fed := want
		fed.FeedForward = true
		s, err := f.FromTensors(base, modeltest.Shapes(declare(fed, 0)), "max_input_sequence_length=64")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&fed, s.Config); diff != "" {
			t.Errorf("with a feed-forward: %s", diff)
		}
	}
	refused := func(what, complaint string, shapes map[string][]int, settings ...string) {
		t.Helper()
		_, err := f.FromTensors(base, shapes, settings...)
		if err == nil || !strings.Contains(err.Error(), complaint) {
			t.Errorf("%s: %v, want %q", what, err, complaint)
		}
	}
	refused("another patch size", "the configuration makes it", shapes(), "patch_size=16")
	names := []string{"1.fc2.bias", "0.output_layer.weight"}
	if layer == "transformer" {
		refused("heads that do not fit", "must divide", shapes(), "num_heads=5")
		names = append(names, "0.transformers.3.norm_layers.1.bias")
	}
	for _, missing := range names {
		m := shapes()
		delete(m, missing)
		refused("without "+missing, missing+" is missing", m)
	}
}
