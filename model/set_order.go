package model

import (
	"fmt"
	"slices"
)

// SetOrder changes the order in which a model with memory sees events; "" leaves it as it is.
func (f Factory) SetOrder(s *Spec, order string) error {
	switch {
	case order == "":
		return nil
	case !slices.Contains(Orders(), order):
		return fmt.Errorf("%w: order %q, must be %s or %s", ErrSetting, order, Strict, Arrival)
	case !f.Remembers:
		return fmt.Errorf("%w: order %s is for models that remember events, this one looks them up",
			ErrSetting, order)
	}
	s.Order = order
	return nil
}
