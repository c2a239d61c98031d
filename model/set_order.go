package model

import (
	"fmt"

	"github.com/dygmamba/dygmamba/protocol"
)

// SetOrder changes the order in which a model with memory sees events; "" leaves it as it is.
func (f Factory) SetOrder(s *Spec, order protocol.Order) error {
	if order == "" {
		return nil
	}
	if err := protocol.Check("order", order, protocol.Orders()); err != nil {
		return fmt.Errorf("%w: %w", ErrSetting, err)
	}
	if !f.Remembers {
		return fmt.Errorf("%w: order %s is for models that remember events, this one looks them up",
			ErrSetting, order)
	}
	if s.Task == protocol.Next && order == protocol.Arrival {
		return fmt.Errorf("%w: order %s is not for the task %s, in which nothing of an event's own instant may be "+
			"known", ErrSetting, order, s.Task)
	}
	s.Order = order
	return nil
}
