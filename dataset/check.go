package dataset

import (
	"context"
	"errors"
)

// CheckReport is the result of a check.
type CheckReport struct {
	Kind     string // what was checked: "ml_* layout", "native file", "generated"
	Path     string
	Events   int // 0 if there are problems
	Nodes    int
	Warnings []string
	Problems Problems // none: all is well
}

// Check finds a data set as Open does and reads it to the end, collecting problems instead of stopping at the first.
// The error is for what kept it from reading, such as a missing file. Tables not yet imported are checked by Import
// with no output.
func Check(ctx context.Context, name string, o Options) (*CheckReport, error) {
	src, err := find(name, o)
	if err != nil {
		return nil, err
	}
	r := &CheckReport{}
	var set *Set
	switch {
	case src.native != "":
		r.Kind, r.Path = "native file", src.native
		set, err = OpenNative(src.native)
		var bad *InputError
		if errors.As(err, &bad) {
			r.Problems = Problems{List: []*InputError{bad}, Total: 1}
			return r, nil
		}
	case src.synth != "":
		r.Kind, r.Path = "generated", src.synth
		set, err = Synth(src.synth, SynthOptions{Seed: o.Seed})
	default:
		const most = 20
		r.Kind, r.Path = "ml_* layout", src.layout.CSV
		set, r.Problems, err = src.layout.Check(ctx, most)
	}
	if err != nil || set == nil {
		return r, err
	}
	defer set.Close()
	r.Events, r.Nodes, r.Warnings = set.Log.Len(), set.NumNodes()-1, set.Warnings
	return r, nil
}
