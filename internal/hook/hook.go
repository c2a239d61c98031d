// Package hook answers: how does someone come between a program and its device?
//
// A Hook wraps a device and gives every kernel, and every move of numbers, to one function, which runs it, times it,
// keeps it for later or leaves it out.
package hook

import "github.com/dygmamba/dygmamba/device"

// Hook is a device whose kernels are launched by a function.
type Hook struct {
	device.Device                                 // may be nil where no kernel runs and Memory is written by hand
	Launch        func(kernel string, run func()) // by the name of its method
}
