package model

import "fmt"

// Dims reads a configuration off the shapes of a checkpoint's tensors, see Kind.Shapes. It keeps the first complaint;
// what cannot be told is 1.
type Dims struct {
	of     string
	shapes map[string][]int
	err    error
}

// Has says whether there is such a tensor.
func (d *Dims) Has(name string) bool { return d.shapes[name] != nil }

// Matrix is the shape of a tensor that must be there and have two dimensions.
func (d *Dims) Matrix(name string) (rows, cols int) {
	if dims := d.find(name, 2, "two dimensions"); dims != nil {
		return dims[0], dims[1]
	}
	return 1, 1
}

// Vector is the length of a tensor that must be there and have one dimension.
func (d *Dims) Vector(name string) int {
	if dims := d.find(name, 1, "one dimension"); dims != nil {
		return dims[0]
	}
	return 1
}

// Divide is n, a dimension of the named tensor, divided by something that must divide it.
func (d *Dims) Divide(name string, n, by int, what string) int {
	if n%by != 0 {
		d.Fail("tensor %s is %v: %d is no multiple of %s %d", name, d.shapes[name], n, what, by)
	}
	return max(n/by, 1)
}

// Less is n, a dimension of the named tensor, without a part of it that must leave something.
func (d *Dims) Less(name string, n, part int, what string) int {
	if n <= part {
		d.Fail("tensor %s is %v: %d has no room beside %s %d", name, d.shapes[name], n, what, part)
	}
	return max(n-part, 1)
}

// Count is how many tensors of a numbered name there are, from 0 on; there must be one.
func (d *Dims) Count(format string) int {
	n := 0
	for d.Has(fmt.Sprintf(format, n)) {
		n++
	}
	if n == 0 {
		d.missing(fmt.Sprintf(format, 0))
	}
	return max(n, 1)
}

// Fail complains.
func (d *Dims) Fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
}

// find is the shape of a tensor with this many dimensions, none of them 0.
func (d *Dims) find(name string, rank int, want string) []int {
	dims, ok := d.shapes[name]
	if !ok {
		d.missing(name)
		return nil
	}
	good := len(dims) == rank
	for _, n := range dims {
		good = good && n > 0
	}
	if !good {
		d.Fail("tensor %s is %v, want %s", name, dims, want)
		return nil
	}
	return dims
}

func (d *Dims) missing(name string) {
	d.Fail("tensor %s is missing: these are not the weights of %s", name, d.of)
}
