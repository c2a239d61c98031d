package eval

import (
	"math"
	"time"

	"github.com/dygmamba/dygmamba/internal/term"
)

// HoursOff counts the hours of the day whose expected number of events differs from the observed one by more than 5 %
// and by more than two standard deviations of a Poisson number.
func (w *When) HoursOff() (off int) {
	for _, h := range w.Hours {
		if math.Abs(h.Expected-h.Observed) > max(0.05*h.Observed, 2*math.Sqrt(h.Expected)) {
			off++
		}
	}
	return off
}

// Length is how long the window is, in words where times are known to be seconds.
func (w *Window) Length(seconds bool) string {
	if !seconds {
		return term.Number(w.Window)
	}
	switch w.Window {
	case 3600:
		return "an hour"
	case 86400:
		return "a day"
	case 7 * 86400:
		return "a week"
	}
	return term.Duration(time.Duration(w.Window * float64(time.Second)))
}
