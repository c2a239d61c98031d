package dataset

// idSet is a set of ids from 1 in no more memory than a few bits for each: bits while ids are dense, a map for those far above their number.
type idSet struct {
	count int
	bits  []uint64
	far   map[int32]bool
}

// add says whether id is new.
func (s *idSet) add(id int32) bool {
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
