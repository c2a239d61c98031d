package predict

import (
	"fmt"
	"maps"
	"slices"

	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Derived is the state that a model derives from the first events of its past, as bytes, so that another process with
// the same weights and events can go on from there instead of going through these events again.
type Derived struct {
	Events int
	Parts  func() []tensor.Named // makes the bytes; another goroutine may call it
}

// saver is the extra whose state can be saved; nil: there is none.
func (p *Predictor) saver() sample.Saver {
	for _, e := range p.model.Plan().Extras {
		if s, ok := e.(sample.Saver); ok {
			return s
		}
	}
	return nil
}

// SaveDerived is the state as it is; false if there is none.
func (p *Predictor) SaveDerived() (d Derived, ok bool) {
	s := p.saver()
	if s == nil || p.stream != nil {
		return d, false
	}
	events, parts, ok := s.Save(p.view())
	return Derived{events, func() (list []tensor.Named) {
		all := parts()
		for _, name := range slices.Sorted(maps.Keys(all)) {
			list = append(list, tensor.Named{Name: name, Shape: []int{len(all[name])}, Bytes: all[name]})
		}
		return list
	}}, ok
}

// recallDerived takes up what SaveDerived of a predictor with the same weights was.
func (p *Predictor) recallDerived(r Remembered) error {
	s := p.saver()
	if s == nil {
		return fmt.Errorf("recall: %s remembers nothing", p.name)
	}
	parts := map[string][]byte{}
	for _, t := range r.State {
		parts[t.Name] = t.Bytes
	}
	if err := s.Recall(p.view(), r.Events, parts); err != nil {
		return fmt.Errorf("recall: %w", err)
	}
	return nil
}
