package predict

import (
	"fmt"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/term"
)

// LinkMeans explains the probability of a link, wherever one is shown.
const LinkMeans = "the probability that this is an event, rather than the same source with a random destination " +
	"at the same time"

// Reasons says in words why an event from u to i is surprising, or not. Name and at write nodes and times.
func (s *Surprise) Reasons(u, i string, dst event.Node, name func(event.Node) string, at func(event.Time) string,
) (list []string) {
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	switch {
	case s.New:
		add("%s was never a destination before", i)
	case s.Sent == 0 && s.Back == 0:
		add("the two had not met before")
	case s.Sent == 0:
		add("%s had come to %s %s before, never the other way round", i, u, times(s.Back))
	default:
		add("%s of the %s earlier events of %s, the last at %s", term.Count(s.Sent), term.Count(s.Source), u,
			at(s.Last))
	}
	if s.Source == 0 {
		add("%s was never a source before", u)
	}
	if !s.New && s.Sent == 0 {
		add("%s was a destination %s before", i, times(s.Taken))
	}
	if s.Likely.Share > 0 && s.Likely.Node != dst {
		add("most likely was %s with %s %%", name(s.Likely.Node), term.Percent(s.Likely.Share))
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
