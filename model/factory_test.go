package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type toyConfig struct {
	Size  int     `json:"size"`
	Rate  float64 `json:"dropout"`
	Deep  bool    `json:"deep" was:"profound"`
	Label string  `json:"label"`
}

func (c toyConfig) Check() error {
	if c.Size < 1 {
		return fmt.Errorf("size is %d, must be at least 1", c.Size)
	}
	return nil
}

var toy = Make(Kind[toyConfig]{
	Summary: "a toy",
	Default: toyConfig{Size: 3, Rate: 0.1, Label: "plain"},
	Presets: []Preset[toyConfig]{
		{"small", "small everywhere", func(string, *toyConfig, *Training) {}},
		{"large", "large on uci", func(data string, c *toyConfig, t *Training) {
			t.Epochs = 200
			if data == "uci" {
				c.Size = 30
			}
		}},
	},
	Prefer: func(data Data) string {
		if data.Name == "reddit" {
			return "large"
		}
		return "small"
	},
	Shapes: func(c *toyConfig, d *Dims) { c.Size, _ = d.Matrix("w") },
	Table:  func(c toyConfig) []Shape { return []Shape{{"w", []int{c.Size, 2}}} },
})

func TestSpec(t *testing.T) {
	s, err := toy.Spec("large", Data{Name: "uci"}, "dropout=0.25", " deep = true", "batch_size=7", "label=a=b")
	if err != nil {
		t.Fatal(err)
	}
	want := Standard
	want.Epochs, want.BatchSize, want.Calibrate = 200, 7, true
	large := Spec{Preset: "large", Config: &toyConfig{30, 0.25, true, "a=b"}, Training: want}
	if diff := cmp.Diff(large, s); diff != "" {
		t.Error(diff)
	}
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	again, err := toy.Decode(raw)
	if diff := cmp.Diff(s, again); diff != "" || err != nil {
		t.Error(diff, err)
	}
	s, err = toy.Decode(raw, "size=5")
	if err != nil || s.Config.(*toyConfig).Size != 5 || !cmp.Equal(s.Training, again.Training) {
		t.Errorf("changed after decoding: %+v, %v", s, err)
	}
	s, err = toy.Spec("", Data{Name: "enron"})
	if err != nil || s.Preset != "small" || s.Config.(*toyConfig).Size != 3 {
		t.Errorf("default preset: %+v, %v", s, err)
	}
	if s, err = toy.Spec("", Data{Name: "reddit"}); err != nil || s.Preset != "large" {
		t.Errorf("preferred preset: %+v, %v", s, err)
	}
	s, err = toy.Decode([]byte("{}"))
	if err != nil || !cmp.Equal(s.Training, Standard) || s.Config.(*toyConfig).Size != 3 {
		t.Errorf("empty configuration: %+v, %v", s, err)
	}
}

// TestWeightDecay sees that it is a setting, and that configurations without it are written as they were before.
func TestWeightDecay(t *testing.T) {
	for setting, want := range map[string]bool{"weight_decay=0": false, "weight_decay=1e-6": true} {
		s, err := toy.Spec("", Data{}, setting)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(raw), "weight_decay"); got != want {
			t.Errorf("%s: written as %s", setting, raw)
		}
		if again, err := toy.Decode(raw); err != nil || !cmp.Equal(again.Training, s.Training) {
			t.Errorf("%s: read back as %+v, %v", setting, again.Training, err)
		}
	}
}

// TestFit sees that what the data are like comes before presets and settings.
func TestFit(t *testing.T) {
	f := Make(Kind[toyConfig]{
		Default:  toyConfig{Size: 3},
		Imported: func(c *toyConfig) { c.Deep = true },
		Fit:      func(c *toyConfig, d Data) { c.Size = d.EdgeDim },
	})
	for want, data := range map[toyConfig]Data{
		{Size: 7}:             {EdgeDim: 7},
		{Size: 4, Deep: true}: {EdgeDim: 4, Imported: true},
	} {
		if s, err := f.Spec("", data); err != nil || *s.Config.(*toyConfig) != want {
			t.Errorf("%+v: %+v, %v, want %+v", data, s.Config, err, want)
		}
	}
	if s, err := f.Spec("", Data{EdgeDim: 7}, "size=2"); err != nil || s.Config.(*toyConfig).Size != 2 {
		t.Errorf("with a setting: %+v, %v", s.Config, err)
	}
}

func TestBadSettings(t *testing.T) {
	tests := []struct{ preset, setting, want string }{
		{"", "size", `"size": must be key=value`},
		{"", "size=x", `size="x": must be a whole number`},
		{"", "size=2.5", "must be a whole number"},
		{"", "dropout=lots", "must be a number"},
		{"", "deep=perhaps", "must be true or false"},
		{"", "size=0", "size is 0, must be at least 1"},
		{"", "drop_out=0", `did you mean dropout?`},
		{"", "epochs=3", `did you mean num_epochs?`},
		{"", "colour=red", `no key "colour"; there are batch_size, calibrate, deep, dropout`},
		{"", "optimizer=magic", `optimizer is "magic", must be Adam, SGD or RMSprop`},
		{"", "learning_rate=NaN", "learning_rate is NaN, must be above 0"},
		{"", "weight_decay=-1", "weight_decay is -1, must be at least 0 and at most 1"},
		{"", "weight_decay=NaN", "weight_decay is NaN, must be at least 0"},
		{"", "negatives_time=-1", "negatives_time is -1, must be at least 0 and at most 1"},
		{"", "negatives_random=0", "are all 0, one must be above"},
		{"", "select_by=test", `select_by is "test", must be random, all, time or kind`},
		{"huge", "", `no preset "huge"; there are small, large`},
	}
	for _, tt := range tests {
		var settings []string
		if tt.setting != "" {
			settings = append(settings, tt.setting)
		}
		_, err := toy.Spec(tt.preset, Data{Name: "uci"}, settings...)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !errors.Is(err, ErrSetting) {
			t.Errorf("preset %q, setting %q: %v, want %q", tt.preset, tt.setting, err, tt.want)
		}
	}
}

func TestFromTensors(t *testing.T) {
	base, err := toy.Spec("", Data{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := toy.FromTensors(base, map[string][]int{"w": {9, 2}}, "dropout=0", "size=9")
	if err != nil || s.Config.(*toyConfig).Size != 9 {
		t.Errorf("%+v, %v", s.Config, err)
	}
	for _, tt := range []struct {
		shapes  map[string][]int
		setting string
		want    string
	}{
		{map[string][]int{"w": {9, 2}}, "size=8", "tensor w is [9 2], the configuration makes it [8 2]"},
		{map[string][]int{"w": {9, 3}}, "size=9", "tensor w is [9 3]"},
		{map[string][]int{"w": {9, 2}, "x": {1}}, "size=9", "tensor x [1] has no place"},
		{map[string][]int{"w": {9, 2}, "x": {1}}, "size=", "must be a whole number"},
	} {
		_, err := toy.FromTensors(base, tt.shapes, tt.setting)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v with %s: %v, want %q", tt.shapes, tt.setting, err, tt.want)
		}
	}
}

// Every model has its layers within bounds, whether its own check looks at them or not.
func TestTooDeep(t *testing.T) {
	deep := Make(Kind[deepConfig]{Default: deepConfig{2}})
	if _, err := deep.Spec("", Data{}, "num_layers=100"); err != nil {
		t.Error(err)
	}
	if _, err := deep.Spec("", Data{}, "num_layers=65536"); !errors.Is(err, ErrSetting) ||
		!strings.Contains(err.Error(), "num_layers is 65536, must be at most 100") {
		t.Errorf("got %v", err)
	}
}

type deepConfig struct {
	Layers int `json:"num_layers"`
}

func (deepConfig) Check() error { return nil }

// TestRenamedSettings: what configurations and commands called a setting before it was renamed is still understood,
// and the new name is written.
func TestRenamedSettings(t *testing.T) {
	for _, raw := range []string{`{"config":{"profound":true}}`, `{"config":{"deep":true,"profound":false}}`} {
		s, err := toy.Decode([]byte(raw))
		if err != nil || !s.Config.(*toyConfig).Deep {
			t.Errorf("%s: %+v and %v, want a deep one", raw, s.Config, err)
		}
		if again, _ := json.Marshal(s); strings.Contains(string(again), "profound") {
			t.Errorf("%s is written as %s", raw, again)
		}
	}
	if _, err := toy.Decode([]byte(`{"config":{"profound":3}}`)); err == nil {
		t.Error("a value of another kind is taken")
	}
	s, err := toy.Spec("", Data{}, "profound=true")
	if err != nil || !s.Config.(*toyConfig).Deep {
		t.Errorf("%+v and %v, want a deep one", s.Config, err)
	}
}
