package checkpoint

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dygmamba/dygmamba/internal/optim"
	"github.com/dygmamba/dygmamba/nn"
)

// stepsKey is the metadata key of the optimizer's counter.
const stepsKey = "optim.steps"

// AddParams appends the values of all parameters, as "param/" and the parameter's name.
func (f *File) AddParams(p *nn.Params) {
	for _, q := range p.All() {
		f.Tensors = append(f.Tensors, Tensor{Name: "param/" + q.Name, Shape: slices.Clone(q.Shape()), Data: p.Read(q)})
	}
}

// RestoreParams sets all parameters from f, under the names of AddParams or under the plain names of the reference
// program. Nothing changes unless every parameter is there with its shape and finite numbers, and nothing else is. A
// list that was shorter in older versions may be so here too, and ends with zeros then: see nn.Param.Before.
func (f *File) RestoreParams(p *nn.Params) error {
	found := map[string]Tensor{}
	for _, t := range f.Tensors {
		name, ours := strings.CutPrefix(t.Name, "param/")
		if ours || !strings.Contains(t.Name, "/") {
			found[name] = t
		}
	}
	for _, q := range p.All() {
		t, ok := found[q.Name]
		switch {
		case !ok:
			return fmt.Errorf("checkpoint has no parameter %s; the model has one of shape %v", q.Name, q.Shape())
		case q.Before > 0 && slices.Equal(t.Shape, []int{q.Before}) && t.Bytes == nil:
			t.Data = append(slices.Clone(t.Data), make([]float32, q.Len()-q.Before)...)
			found[q.Name] = t
		case !slices.Equal(t.Shape, q.Shape()) || t.Bytes != nil:
			return fmt.Errorf("parameter %s has shape %v in the checkpoint, %v in the model",
				q.Name, t.Shape, q.Shape())
		}
		if i := slices.IndexFunc(t.Data, func(x float32) bool { return x-x != 0 }); i >= 0 {
			return fmt.Errorf("element %d of parameter %s is %v in the checkpoint, want a finite number",
				i, q.Name, t.Data[i])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if p.Get(name) == nil {
			return fmt.Errorf("checkpoint has a parameter %s %v that the model does not have", name, found[name].Shape)
		}
	}
	for _, q := range p.All() {
		if err := p.Write(q, found[q.Name].Data); err != nil {
			return err
		}
	}
	return nil
}

// Part divides the parameters: those whose names begin with prefix, and all the rest of the file.
func (f *File) Part(prefix string) (rest, part File) {
	rest, part = File{Meta: f.Meta}, File{Meta: f.Meta}
	for _, t := range f.Tensors {
		if strings.HasPrefix(strings.TrimPrefix(t.Name, "param/"), prefix) {
			part.Tensors = append(part.Tensors, t)
		} else {
			rest.Tensors = append(rest.Tensors, t)
		}
	}
	return rest, part
}

// AddOptimizer appends what the optimizer remembers, as "optim/m/" and "optim/v/" and the parameter's name.
func (f *File) AddOptimizer(p *nn.Params, o *optim.Optimizer) {
	s := o.State()
	if f.Meta == nil {
		f.Meta = map[string]string{}
	}
	f.Meta[stepsKey] = strconv.Itoa(s.Steps)
	add := func(name string, q *nn.Param, values map[string][]float32) {
		if values != nil {
			t := Tensor{Name: name + q.Name, Shape: slices.Clone(q.Shape()), Data: values[q.Name]}
			f.Tensors = append(f.Tensors, t)
		}
	}
	for _, q := range p.All() {
		add("optim/m/", q, s.M)
		add("optim/v/", q, s.V)
	}
}

// RestoreOptimizer sets the optimizer to what AddOptimizer wrote.
func (f *File) RestoreOptimizer(o *optim.Optimizer) error {
	steps, err := strconv.Atoi(f.Meta[stepsKey])
	if err != nil {
		return fmt.Errorf("checkpoint has no optimizer state: %s is %q, want a number", stepsKey, f.Meta[stepsKey])
	}
	s := optim.State{Steps: steps, M: map[string][]float32{}, V: map[string][]float32{}}
	for _, t := range f.Tensors {
		if name, ok := strings.CutPrefix(t.Name, "optim/m/"); ok {
			s.M[name] = t.Data
		}
		if name, ok := strings.CutPrefix(t.Name, "optim/v/"); ok {
			s.V[name] = t.Data
		}
	}
	return o.Restore(s)
}
