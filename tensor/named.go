package tensor

// Named is an array outside of any device, under a name: Data of floats, or else Bytes. It is how weights and memories
// travel. One that is only written to a file may have its floats in pieces, where they are.
type Named struct {
	Name   string
	Shape  []int
	Data   []float32
	Pieces [][]float32 // one after another; nil: Data has them
	Bytes  []byte
}

// Floats is the number of floats.
func (n Named) Floats() int {
	floats := len(n.Data)
	for _, piece := range n.Pieces {
		floats += len(piece)
	}
	return floats
}

// Find finds an array by name.
func Find(list []Named, name string) (Named, bool) {
	for _, t := range list {
		if t.Name == name {
			return t, true
		}
	}
	return Named{}, false
}
