package modeltest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/model"
)

// Count holds parameters to how many numbers the released program has, in all and without the predictor.
func Count(t *testing.T, m model.Declared, total, backbone int) {
	t.Helper()
	own := 0
	for _, p := range m.Params().All() {
		if strings.HasPrefix(p.Name, "0.") {
			own += p.Hi - p.Lo
		}
	}
	if all := m.Params().Count(); all != total || own != backbone {
		t.Errorf("%d parameters, %d of the backbone, want %d and %d", all, own, total, backbone)
	}
}

// Presets holds a model to what its presets are: by "PRESET on DATA" some of the settings, with spaces between them,
// and the order that it remembers in.
func Presets(t *testing.T, f model.Factory, want map[string]string) {
	t.Helper()
	for of, settings := range want {
		preset, data, _ := strings.Cut(of, " on ")
		s, err := f.Spec(preset, model.Data{Name: data})
		must(t, err)
		has := map[string]string{"order": string(s.Order)}
		for _, x := range f.Settings(s) {
			has[x.Key] = fmt.Sprint(x.Value)
		}
		for _, setting := range strings.Fields(settings) {
			if key, want, _ := strings.Cut(setting, "="); has[key] != want {
				t.Errorf("%s: %s is %q, want %q", of, key, has[key], want)
			}
		}
	}
}

// Prefers holds a model to the presets that it takes for published data and for others, of which it takes exact times.
func Prefers(t *testing.T, f model.Factory, published, imported string) {
	t.Helper()
	for _, d := range []model.Data{{Name: "enron"}, {}, {Name: "mine", Imported: true}} {
		want := published
		if d.Imported {
			want = imported
		}
		s, err := f.Spec("", d)
		if err != nil || s.Preset != want {
			t.Errorf("%+v: preset %s, %v, want %s", d, s.Preset, err, want)
		}
		exact := model.Setting{Key: "exact_times", Value: d.Imported}
		if !slices.ContainsFunc(f.Settings(s), func(x model.Setting) bool { x.About = ""; return x == exact }) {
			t.Errorf("%+v: exact times are not %v", d, d.Imported)
		}
	}
}

// Refuses tries settings, several with spaces between them, that must be complained of in certain words.
func Refuses(t *testing.T, f model.Factory, wrong map[string]string) {
	t.Helper()
	for settings, want := range wrong {
		_, err := f.Spec("", model.Data{Name: "uci"}, strings.Fields(settings)...)
		complains(t, settings, err, want)
	}
}

// RefusesWide gives a model event features that are wider than its own, of the default width.
func RefusesWide(t *testing.T, f model.Factory) {
	t.Helper()
	spec, err := f.Spec("", model.Data{})
	must(t, err)
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	wide := dataset.Features{Rows: 1, Cols: 173, Data: make([]float32, 173)}
	_, err = f.Build(model.Env{Device: dev, Edge: wide}, spec)
	complains(t, "event features wider than the model", err, "173 columns, edge_feat_dim is 172")
}

// Recognised is weights that must be told by their shapes.
type Recognised struct {
	Config     any              // a pointer to what is to be found
	Shapes     map[string][]int // of its tensors
	Told       []string         // settings that shapes do not tell
	Contradict string           // one that shapes do
	Without    string           // a tensor that must be there
	Name       string           // of the model, in complaints
}

// Recognises holds a model to a configuration that only the shapes of tensors, and a few settings, tell.
func Recognises(t *testing.T, f model.Factory, r Recognised) {
	t.Helper()
	base, err := f.Spec("released", model.Data{})
	must(t, err)
	s, err := f.FromTensors(base, r.Shapes, r.Told...)
	must(t, err)
	if !reflect.DeepEqual(s.Config, r.Config) {
		t.Errorf("shapes tell %+v, want %+v", s.Config, r.Config)
	}
	_, err = f.FromTensors(base, r.Shapes, append(slices.Clone(r.Told), r.Contradict)...)
	complains(t, r.Contradict, err, "the configuration makes it")
	fewer := map[string][]int{}
	for name, dims := range r.Shapes {
		if name != r.Without {
			fewer[name] = dims
		}
	}
	_, err = f.FromTensors(base, fewer, r.Told...)
	complains(t, "a missing tensor", err, r.Without+" is missing")
	_, err = f.FromTensors(base, map[string][]int{"x": {1}})
	complains(t, "a file without any of the model's tensors", err, "not the weights of "+r.Name)
}

func complains(t *testing.T, of string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %q", of, err, want)
	}
}
