package tensor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/device"
)

// ShapeError is the panic value of an operation that was given tensors that do not fit.
type ShapeError struct {
	Op   string // the operation
	Want string // what would have fitted, in words
	Got  [][]int
}

func (e *ShapeError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: got ", e.Op)
	for i, s := range e.Got {
		if i > 0 {
			b.WriteString(" and ")
		}
		b.WriteString(text(s))
	}
	fmt.Fprintf(&b, ", want %s", e.Want)
	return b.String()
}

// Mismatch makes a ShapeError; the shapes are copied.
func Mismatch(op, want string, shapes ...[]int) *ShapeError {
	e := &ShapeError{Op: op, Want: want}
	for _, s := range shapes {
		e.Got = append(e.Got, slices.Clone(s))
	}
	return e
}

// Guard runs f and returns the panics of tensors and devices as errors: *ShapeError, *device.OutOfMemory and
// *device.Failure, and those of others that have a method Guarded. Every other panic goes on.
func Guard(f func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *ShapeError:
			err = p
		case *device.OutOfMemory:
			err = p
		case *device.Failure:
			err = p
		case interface {
			error
			Guarded()
		}:
			err = p
		default:
			panic(p)
		}
	}()
	f()
	return nil
}

func text(shape []int) string {
	return strings.ReplaceAll(fmt.Sprint(shape), " ", "×")
}
