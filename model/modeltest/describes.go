package modeltest

import (
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/dry"
	"github.com/dygmamba/dygmamba/model"
)

// described: everything that a catalogue prints is there, and every preset can be built for every data set that has a
// name.
func described(t testing.TB, e *entry) {
	f := e.factory
	if f.Summary == "" || len(f.Presets) == 0 || len(f.Keys()) == 0 || f.Trains && f.Lighter == "" {
		t.Errorf("summary %q, presets %v, settings %v, lighter %q: none may be empty",
			f.Summary, f.Presets, f.Keys(), f.Lighter)
	}
	built := map[string]bool{}
	for _, preset := range f.Presets {
		if f.About(preset) == "" {
			t.Errorf("nobody knows what preset %s is", preset)
		}
		for _, name := range append(dataset.CatalogNames(), "", "my own") {
			spec, err := f.Spec(preset, e.world.data(name, name == "my own"))
			if err != nil {
				t.Errorf("preset %s for %q: %v", preset, name, err)
				continue
			}
			if spec.Brief() == "" {
				t.Errorf("preset %s for %q has nothing to say in brief", preset, name)
			}
			if key := jsonOf(t, spec.Config); !built[key] {
				built[key] = true
				e.buildDry(t, spec)
			}
		}
	}
	p := e.build(t, e.specs[0])
	if plan := p.Plan(); f.Trains && p.memory() == nil && !plan.LooksBack() {
		t.Error("it neither looks anything up nor remembers anything")
	}
	for _, s := range f.Settings(e.specs[0]) {
		if s.About == "" {
			t.Errorf("nobody knows what %s is", s.Key)
		}
	}
}

// buildDry builds something of any size without computing anything.
func (e *entry) buildDry(t testing.TB, spec model.Spec) {
	t.Helper()
	if !e.factory.Trains {
		if _, err := e.factory.Rule(spec); err != nil {
			t.Error(err)
		}
		return
	}
	if _, err := e.factory.Build(e.world.environment(dry.New(0), 1), spec); err != nil {
		t.Errorf("%s: %v", jsonOf(t, spec.Config), err)
	}
}
