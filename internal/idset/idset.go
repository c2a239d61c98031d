// Package idset answers: has this id come by before?
package idset

// Set is a set of ids from 0 in no more memory than a few bits for each: bits while ids are dense, a map for those far
// above their number. The zero value is empty.
type Set struct {
	count int
	bits  []uint64
	far   map[int32]bool
}

// Add says whether id is new.
func (s *Set) Add(id int32) bool {
	s.count++
	word := int(id / 64)
	if word >= len(s.bits) && word <= s.count/2+64 {
		s.bits = append(s.bits, make([]uint64, word+1)...)
	}
	if word < len(s.bits) {
		was := s.bits[word]
		s.bits[word] |= 1 << (id % 64)
		return s.bits[word] != was && !s.far[id]
	}
	if s.far[id] {
		return false
	}
	if s.far == nil {
		s.far = map[int32]bool{}
	}
	s.far[id] = true
	return true
}

// Has says whether id was added.
func (s *Set) Has(id int32) bool {
	if word := int(id / 64); word < len(s.bits) && s.bits[word]&(1<<(id%64)) != 0 {
		return true
	}
	return s.far[id]
}
