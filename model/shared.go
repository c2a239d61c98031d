package model

import (
	"sync"
	"weak"
)

// Shared lets models of one process use together what they derive from the same events, such as the two that answer
// questions to a server and the one that replaces them. All of them have the same past and the same names of nodes.
// What no model uses any more is forgotten. The zero value is ready for use by any number of goroutines.
type Shared struct {
	mu  sync.Mutex  // guards what follows
	all map[any]any // weak pointers
}

// Share is what models with the same key have in common: what another one has made, or what make makes. Each has its
// own where s is nil.
func Share[T any](s *Shared, key any, make func() *T) *T {
	if s == nil {
		return make()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.all[key].(weak.Pointer[T]); ok {
		if p := known.Value(); p != nil {
			return p
		}
	}
	p := make()
	if s.all == nil {
		s.all = map[any]any{}
	}
	s.all[key] = weak.Make(p)
	return p
}
