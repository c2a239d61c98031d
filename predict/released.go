package predict

import (
	"fmt"
	"strings"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/train"
)

// ExportReleased is a checkpoint as the released program would have saved it, under its names: parameters alone, those
// that the program has under two names twice, and what a model remembers where the program keeps that among its
// weights. A classifier of labels stands in the place of the model's own head.
//
// Weights that are under those names already stay as they are. What the optimizer remembers is left out, and so are the
// metadata, which such a file does not have.
func ExportReleased(f checkpoint.File) (checkpoint.File, error) {
	var out checkpoint.File
	var state []checkpoint.Tensor
	for _, t := range f.Tensors {
		kind, name, ours := strings.Cut(t.Name, "/")
		switch {
		case !ours:
			out.Tensors = append(out.Tensors, t)
			continue
		case kind == "state":
			state = append(state, checkpoint.Tensor{Name: name, Shape: t.Shape, Data: t.Data, Bytes: t.Bytes})
		case kind == "param":
			t.Name = name
			out.Tensors = append(out.Tensors, t)
		}
	}
	if len(out.Tensors) == 0 {
		return out, fmt.Errorf("%w: it has no parameters", ErrMisfit)
	}
	if name := f.Meta["model"]; name != "" {
		factory, err := model.Find(name)
		if err != nil {
			return out, fmt.Errorf("%w: it is of an %v", ErrMisfit, err)
		}
		out.Tensors = append(out.Tensors, factory.Released(out.Tensors, state)...)
	}
	rest, classifier := out.Part(train.ClassifierPrefix)
	if len(classifier.Tensors) == 0 {
		return out, nil
	}
	out.Tensors = nil
	for _, t := range rest.Tensors {
		if !strings.HasPrefix(t.Name, headPrefix) {
			out.Tensors = append(out.Tensors, t)
		}
	}
	for _, t := range classifier.Tensors {
		t.Name = headPrefix + strings.TrimPrefix(t.Name, train.ClassifierPrefix)
		out.Tensors = append(out.Tensors, t)
	}
	return out, nil
}

// headPrefix is what the names of a head's parameters begin with.
const headPrefix = "1."
