package tensor

// Named is an array outside of any device, under a name: Data of floats, or else Bytes. It is how weights and memories
// travel.
type Named struct {
	Name  string
	Shape []int
	Data  []float32
	Bytes []byte
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
