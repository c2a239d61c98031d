package predict

import (
	"fmt"
	"math"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/term"
)

// LinkMeans explains the probability of a link, wherever one is shown.
const LinkMeans = "the probability that this is an event, rather than the same source with a random destination " +
	"at the same time"

// Reasons says in words why an event with a destination is surprising, or not. Name and at write nodes and times.
func (s *Surprise) Reasons(dst event.Node, name func(event.Node) string, at func(event.Time) string) (list []string) {
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	share := math.Exp2(-s.Bits)
	switch {
	case s.New:
		add("never a destination before; all new ones together had %s %%", term.Percent(share))
	case s.Sent == 0 && s.Back == 0:
		add("no earlier event between the two")
	case s.Sent == 0:
		add("no earlier event in this direction, %s in the other, the last at %s", term.Count(s.Back), at(s.Last))
	case s.Back == 0:
		add("chosen in %s of the source's %s earlier events, the last at %s", term.Count(s.Sent), term.Count(s.Source),
			at(s.Last))
	default:
		add("chosen in %s of the source's %s earlier events, %s in the other direction, the last at %s",
			term.Count(s.Sent), term.Count(s.Source), term.Count(s.Back), at(s.Last))
	}
	if s.Source == 0 {
		add("the source had no earlier event")
	}
	if !s.New && s.Sent == 0 {
		add("others chose it %s before", times(s.Taken))
	}
	if s.Likely.Share > 0 && s.Likely.Node != dst {
		more := ""
		if n := s.Likely.Share / share; !s.New && n >= 2 {
			more = fmt.Sprintf(", %s times as likely", term.Count(int(min(1e12, n))))
		}
		add("most likely was %s with %s %%%s", name(s.Likely.Node), term.Percent(s.Likely.Share), more)
	}
	return list
}

// times is how often, in words.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return term.Count(n) + " times"
}
