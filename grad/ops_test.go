package grad_test

import "github.com/dygmamba/dygmamba/tensor"

type tensors = []*tensor.Tensor

func shape(d ...int) []int { return d }

func of(d ...int) input    { return input{shape: d} }
func param(d ...int) input { return input{shape: d, param: true} }

// checks are operations by name, at n rows and width w.
type checks map[string]func(n, w int) check

// every is the operations of all subjects.
func every() checks {
	all := checks{}
	for _, some := range []checks{linearChecks, pointwiseChecks, rowChecks, viewChecks, sequenceChecks} {
		for name, make := range some {
			if all[name] != nil {
				panic("two operations are called " + name)
			}
			all[name] = make
		}
	}
	return all
}
