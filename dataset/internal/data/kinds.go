package data

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dygmamba/dygmamba/event"
)

// Limits of kinds: a set has this many at most, and a name of one this many bytes.
const (
	MaxKinds    = 1000
	MaxKindName = 200
)

// Kind is the number of a kind of events by its name; 0: the set has none of this name.
func (s *Set) Kind(name string) event.Kind { return event.Kind(slices.Index(s.Kinds, name) + 1) }

// KindName is the name of a kind, "" for 0.
func (s *Set) KindName(k event.Kind) string {
	if k == 0 || int(k) > len(s.Kinds) {
		return ""
	}
	return s.Kinds[k-1]
}

// WantKind says what a kind of an event must be.
func (s *Set) WantKind() string {
	if len(s.Kinds) == 0 {
		return "no kind: the events of this data set have none"
	}
	return "one of the kinds of this data set: " + ListKinds(s.Kinds)
}

// ListKinds lists names of kinds for people, the first of them where there are many.
func ListKinds(kinds []string) string {
	const most = 20
	text := strings.Join(kinds[:min(most, len(kinds))], ", ")
	if more := len(kinds) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// CheckKinds says what is wrong with a list of names of kinds.
func CheckKinds(kinds []string) error {
	if len(kinds) > MaxKinds {
		return fmt.Errorf("%d kinds of events, at most %d are possible", len(kinds), MaxKinds)
	}
	seen := make(map[string]bool, len(kinds))
	for i, name := range kinds {
		if name == "" || len(name) > MaxKindName || !utf8.ValidString(name) || seen[name] {
			return fmt.Errorf("kind %d of events is called %q", i+1, name)
		}
		seen[name] = true
	}
	return nil
}
