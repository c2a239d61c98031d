package dygmamba

import (
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/models/internal/sequence"
	"github.com/dygmamba/dygmamba/sample"
)

func TestRows(t *testing.T) {
	// Always 33 patches for the paper's settings of the released program, 32 in its equations.
	for _, tt := range []struct{ length, patch, rowLen int }{
		{32, 1, 33}, {64, 2, 66}, {128, 4, 132}, {256, 8, 264}, {512, 16, 528}, {2048, 64, 2112},
	} {
		c := with(Default, func(c *Config) { c.Length, c.Patch = tt.length, tt.patch })
		if c.RowLen() != tt.rowLen || c.Patches() != 33 {
			t.Errorf("%d&%d: rows of %d, %d patches, want %d and 33",
				tt.length, tt.patch, c.RowLen(), c.Patches(), tt.rowLen)
		}
		c.Arch = Paper
		if c.RowLen() != tt.length || c.Patches() != 32 {
			t.Errorf("paper %d&%d: rows of %d, %d patches, want %d and 32",
				tt.length, tt.patch, c.RowLen(), c.Patches(), tt.length)
		}
	}
}

func TestPlan(t *testing.T) {
	rows := sample.Both(sample.Draw{Neighbors: 31, RowLen: 33, Target: sample.TargetLast})
	whole := sample.Plan{Draws: rows, Counts: sample.PairCounts, PairGaps: 10}
	for variant, want := range map[string]sample.Plan{
		"": whole, "b": whole, "e": whole,
		"a": {Draws: rows, Counts: sample.PairCounts},
		"d": {Draws: rows, Counts: sample.PairCounts},
		"f": {Draws: rows, PairGaps: 10},
	} {
		if diff := cmp.Diff(want, with(Default, func(c *Config) { c.Variant = variant }).Plan()); diff != "" {
			t.Errorf("variant %q: %s", variant, diff)
		}
	}
	whole.ByCall, whole.Draws = true, sample.Both(sample.Draw{Neighbors: 31, RowMultiple: 1, Target: sample.TargetLast})
	if diff := cmp.Diff(whole, with(Default, func(c *Config) { c.Padding = model.PadCall }).Plan()); diff != "" {
		t.Errorf("by call: %s", diff)
	}
}

func TestPresets(t *testing.T) {
	type row struct {
		length, patch, meetings int
		dropout, gamma          float64
		divisor, epochs         int
		arch                    string
	}
	for _, tt := range []struct {
		preset, data string
		want         row
	}{
		{"released", "enron", row{256, 1, 30, 0, 0.5, 2, 100, Released}},
		{"released", "lastfm", row{128, 4, 10, 0.1, 0.5, 2, 100, Released}},
		{"released", "mooc", row{256, 1, 10, 0.1, 0.5, 2, 100, Released}},
		{"released", "reddit", row{64, 1, 5, 0.2, 0.5, 2, 100, Released}},
		{"released", "wikipedia", row{32, 1, 5, 0.1, 0.5, 2, 100, Released}},
		{"released", "SocialEvo", row{32, 1, 5, 0.1, 0.5, 2, 100, Released}},
		{"released", "USLegis", row{32, 1, 10, 0.1, 0.5, 2, 100, Released}},
		{"released", "my own data", row{32, 1, 10, 0.1, 0.5, 2, 100, Released}},
		{"paper", "enron", row{256, 8, 30, 0, 0.5, 2, 200, Released}},
		{"paper", "reddit", row{64, 2, 5, 0.2, 0.5, 2, 200, Released}},
		{"paper", "CanParl", row{2048, 64, 100, 0.1, 0.5, 2, 200, Released}},
		{"paper", "UNvote", row{128, 4, 10, 0.1, 0.5, 2, 200, Released}},
		{"paper", "lastfm", row{512, 16, 10, 0.1, 0.5, 2, 200, Released}},
		{"paper", "wikipedia", row{32, 1, 5, 0.1, 0.5, 2, 200, Released}},
		{"paper", "Flights", row{256, 8, 30, 0.1, 0.5, 2, 200, Released}},
		{"paper", "USLegis", row{256, 8, 30, 0.1, 0.5, 2, 200, Released}},
		{"paper", "UNtrade", row{256, 8, 30, 0.1, 0.5, 2, 200, Released}},
		{"paper", "Contacts", row{32, 1, 5, 0.1, 0.5, 2, 200, Released}},
		{"paper", "s1", row{256, 8, 10, 0.1, 0.5, 2, 200, Released}},
		{"paper", "s2", row{512, 16, 30, 0.1, 0.5, 2, 200, Released}},
		{"paper", "s3", row{512, 16, 10, 0.1, 0.5, 2, 200, Released}},
		{"paper-size-a", "uci", row{32, 1, 5, 0.1, 1, 2, 200, Released}},
		{"paper-size-b", "SocialEvo", row{32, 1, 5, 0.1, 0.5, 1, 200, Released}},
		{"paper-equations", "mooc", row{128, 4, 10, 0.1, 0.5, 2, 200, Paper}},
		{"steady-equations", "CanParl", row{2048, 64, 100, 0.1, 0.5, 2, 200, Paper}},
		{"steady", "mooc", row{128, 4, 10, 0.1, 0.5, 2, 200, Released}},
		{"quick", "my own data", row{16, 1, 10, 0.1, 0.5, 2, 10, Released}},
	} {
		s, err := Factory.Spec(tt.preset, model.Data{Name: tt.data})
		if err != nil {
			t.Fatal(err)
		}
		c := s.Config.(*Config)
		got := row{c.Length, c.Patch, c.Meetings, c.Dropout, c.Gamma, c.Divisor, s.Training.Epochs, c.Arch}
		if got != tt.want {
			t.Errorf("%s on %s: %+v, want %+v", tt.preset, tt.data, got, tt.want)
		}
		if want := strings.HasPrefix(tt.preset, "steady") || tt.preset == "quick"; c.FreezeTime != want {
			t.Errorf("%s on %s: the time encoder is frozen: %v, want %v", tt.preset, tt.data, c.FreezeTime, want)
		}
	}
}

func TestExactTimes(t *testing.T) {
	for _, exact := range []bool{false, true} {
		if c := with(Default, func(c *Config) { c.ExactTimes = exact }); c.Plan().ExactTimes != exact {
			t.Errorf("exact_times=%v is not what the plan asks for", exact)
		}
	}
}

func TestPreferred(t *testing.T) {
	for data, want := range map[string]string{
		"enron": "paper", "uci": "steady", "CanParl": "steady-equations", "my own data": "steady", "": "steady",
	} {
		if s, err := Factory.Spec("", model.Data{Name: data}); err != nil || s.Preset != want {
			t.Errorf("%s is trained with preset %s, %v, want %s", data, s.Preset, err, want)
		}
	}
	many := model.Data{Name: "my own data", Imported: true, Events: sequence.QuickAbove + 1, OnCPU: true}
	for _, tt := range []struct {
		change func(*model.Data)
		want   string
	}{
		{func(*model.Data) {}, "quick"},
		{func(d *model.Data) { d.Events = sequence.QuickAbove }, "steady"},
		{func(d *model.Data) { d.OnCPU = false }, "steady"},
		{func(d *model.Data) { d.Imported = false }, "steady"},
		{func(d *model.Data) { d.Name = "uci" }, "steady"},
		{func(d *model.Data) { d.Name = "enron" }, "paper"},
	} {
		d := many
		tt.change(&d)
		if s, err := Factory.Spec("", d); err != nil || s.Preset != tt.want {
			t.Errorf("%+v is trained with preset %s, %v, want %s", d, s.Preset, err, tt.want)
		}
	}
}

func TestNotes(t *testing.T) {
	for _, tt := range []struct {
		preset, setting   string
		notes, conditions int
	}{
		{"released", "padding=fixed", 0, 0}, {"paper-equations", "padding=fixed", 1, 0},
		{"released", "padding=call", 1, 1}, {"paper-equations", "padding=call", 1, 0}, // no padding is seen there
	} {
		s, err := Factory.Spec(tt.preset, model.Data{Name: "uci"}, tt.setting)
		if err != nil || len(s.Notes()) != tt.notes || len(s.Conditions()) != tt.conditions {
			t.Errorf("%s, %s: notes %q, conditions %q, %v", tt.preset, tt.setting, s.Notes(), s.Conditions(), err)
		}
	}
	s, err := Factory.Spec("released", model.Data{Name: "uci"}, "padding=call")
	if err != nil || !strings.HasSuffix(s.Brief(), ", padding call") {
		t.Errorf("in brief %q, %v", s.Brief(), err)
	}
}

func TestBadConfigurations(t *testing.T) {
	modeltest.Refuses(t, Factory, map[string]string{
		"patch_size=0":                        "patch_size is 0, must be at least 1",
		"gamma=0":                             "gamma is 0",
		"max_input_sequence_length=100000000": "must be at least 1 and at most 1048576",
		"channel_embedding_dim=1000000":       "channel_embedding_dim is 1000000, must be at least 1 and at most 65536",
		"num_layers=65536":                    "num_layers is 65536, must be at least 1 and at most 100",
		"gamma=NaN":                           "gamma is NaN",
		"gamma=0.01":                          "must make gamma·channel_embedding_dim at least 1",
		"gamma=1e300":                         "be at most 100",
		"width_divisor=3":                     "must divide 4·channel_embedding_dim = 200",
		"padding=none":                        `padding is "none", must be "fixed" or "call"`,
		"arch=transformer":                    `arch is "transformer", must be "released" or "paper"`,
		"variant=ab":                          "must be one of a to f",
		"dropout=1":                           "must be at least 0 and below 1",
		"time_feat_dim=1":                     "must be at least 2",
		"num_heads=2":                         `no key "num_heads"`,
		"max_interaction_time=5":              "did you mean max_interaction_times?",
	})
	if runtime.GOOS == "linux" { // elsewhere nobody tells how much memory is left
		huge := with(Default, func(c *Config) { c.Patch, c.NodeDim, c.Channel = 1<<20, 1<<16, 1<<12 })
		_, err := Factory.Build(model.Env{}, model.Spec{Config: &huge})
		if err == nil || !strings.Contains(err.Error(), "the weights take") {
			t.Errorf("weights larger than the memory: %v", err)
		}
	}
	_, err := FactoryD.Spec("", model.Data{Name: "uci"}, "padding=call")
	if err == nil || !strings.Contains(err.Error(), "variant d") {
		t.Errorf("variant d with sides of different lengths: %v", err)
	}
	if _, err := FactoryA.Spec("paper-equations", model.Data{Name: "uci"}); err == nil {
		t.Error("the paper's equations have a variant a")
	}
	modeltest.RefusesWide(t, Factory)
}

func TestConfigFromTensors(t *testing.T) {
	factories := map[string]model.Factory{
		"": Factory, "a": FactoryA, "b": FactoryB, "c": FactoryC, "d": FactoryD, "e": FactoryE, "f": FactoryF,
	}
	for name, c := range every(t) {
		factory := factories[c.Variant]
		base, err := factory.Spec("released", model.Data{Name: "uci"})
		if err != nil {
			t.Fatal(err)
		}
		shapes := modeltest.Shapes(declare(c, 0))
		s, err := factory.FromTensors(base, shapes,
			"max_input_sequence_length=8", "max_interaction_times=3", "dropout=0", "padding="+string(c.Padding))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := c
		want.Length = 8
		if !c.pattern() {
			want.Gamma = 0.5
		}
		if c.Arch == Paper {
			want.Divisor = 2
		}
		if diff := cmp.Diff(&want, s.Config); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		_, err = factory.FromTensors(base, shapes, "patch_size=16")
		if err == nil || !strings.Contains(err.Error(), "the configuration makes it") {
			t.Errorf("%s: a patch size that contradicts the shapes: %v", name, err)
		}
		delete(shapes, "1.fc2.bias")
		_, err = factory.FromTensors(base, shapes)
		if err == nil || !strings.Contains(err.Error(), "1.fc2.bias is missing") {
			t.Errorf("%s: a missing tensor: %v", name, err)
		}
	}
	if _, err := Factory.FromTensors(model.Spec{Config: &Default}, map[string][]int{"x": {1}}); err == nil {
		t.Error("a file without any of the model's tensors is recognised")
	}
}
