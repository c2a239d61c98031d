package checkpoint

import (
	"fmt"
	"slices"

	"github.com/nlpodyssey/gopickle/types"
)

// The few Python names that a file of tensors needs. gopickle calls them when it meets them; none does more than take
// notes.

// storageClass is a torch.…Storage: the type of a run of numbers.
type storageClass struct{ name, dtype string }

// storageTypes are the runs of floats, and how the safetensors format calls their elements.
var storageTypes = map[string]string{"FloatStorage": "F32", "DoubleStorage": "F64", "HalfStorage": "F16",
	"BFloat16Storage": "BF16"}

// storage is a run of numbers in the file.
type storage struct {
	class storageClass
	size  int    // elements
	raw   []byte // once found in the file
	data  []float32
}

// floats decodes the numbers once, whoever shares them.
func (s *storage) floats() []float32 {
	if s.data == nil {
		s.data = (&claim{dtype: s.class.dtype}).decode(s.raw).Data
	}
	return s.data
}

// tensorView is a tensor: a window on a storage.
type tensorView struct {
	from         *storage
	offset       int
	size, stride []int
}

// rebuildTensor is torch._utils._rebuild_tensor[_v2](storage, offset, size, stride, …).
type rebuildTensor struct{}

// Call makes the view.
func (rebuildTensor) Call(args ...any) (any, error) {
	if len(args) < 4 {
		return nil, corrupt("a tensor has %d properties, want at least 4", len(args))
	}
	from, isStorage := args[0].(*storage)
	offset, isNumber := args[1].(int)
	size, sized := integers(args[2])
	stride, strided := integers(args[3])
	if !isStorage || !isNumber || !sized || !strided || len(size) != len(stride) {
		return nil, corrupt("a tensor is made of %s, %s, %s and %s, want storage, offset, size and stride",
			describe(args[0]), describe(args[1]), describe(args[2]), describe(args[3]))
	}
	return &tensorView{from, offset, size, stride}, nil
}

// rebuildParameter is torch._utils._rebuild_parameter(tensor, …).
type rebuildParameter struct{}

// Call is the tensor.
func (rebuildParameter) Call(args ...any) (any, error) {
	if len(args) > 0 {
		if t, ok := args[0].(*tensorView); ok {
			return t, nil
		}
	}
	return nil, corrupt("a parameter without a tensor")
}

func integers(v any) ([]int, bool) {
	tuple, ok := v.(*types.Tuple)
	if !ok {
		return nil, false
	}
	list := make([]int, tuple.Len())
	for i := range list {
		if list[i], ok = tuple.Get(i).(int); !ok {
			return nil, false
		}
	}
	return list, true
}

// read copies the tensor's numbers in row-major order. Left is how many may still be read.
func (v *tensorView) read(left *int) ([]float32, error) {
	s := v.from
	if s.class.dtype == "" {
		return nil, fmt.Errorf("its elements are those of torch.%s, want floats", s.class.name)
	}
	n, ok := elements(v.size)
	if !ok || n > int64(*left) {
		return nil, corrupt("size %v is more than the file can hold", v.size)
	}
	*left -= int(n)
	if n == 0 {
		return []float32{}, nil
	}
	last := v.offset // the largest position there is: strides are not negative
	for i, d := range v.size {
		if v.stride[i] < 0 || d > 1 && v.stride[i] > (s.size-1)/(d-1) {
			return nil, corrupt("size %v and stride %v reach outside the %d numbers it is stored in",
				v.size, v.stride, s.size)
		}
		last += (d - 1) * v.stride[i]
	}
	if v.offset < 0 || last < 0 || last >= s.size {
		return nil, corrupt("offset %d, size %v and stride %v reach outside the %d numbers it is stored in",
			v.offset, v.size, v.stride, s.size)
	}
	whole := s.floats()
	if v.dense() {
		return slices.Clone(whole[v.offset : v.offset+int(n)]), nil
	}
	return v.gather(make([]float32, 0, n), whole, 0, v.offset), nil
}

// dense says whether the numbers lie one after another in row-major order.
func (v *tensorView) dense() bool {
	step := 1
	for i := len(v.size) - 1; i >= 0; i-- {
		if v.size[i] != 1 && v.stride[i] != step {
			return false
		}
		step *= v.size[i]
	}
	return true
}

// gather appends the part of the tensor that starts at a position, over the dimensions from dim on.
func (v *tensorView) gather(out, from []float32, dim, at int) []float32 {
	if dim == len(v.size) {
		return append(out, from[at])
	}
	for i := range v.size[dim] {
		out = v.gather(out, from, dim+1, at+i*v.stride[dim])
	}
	return out
}
