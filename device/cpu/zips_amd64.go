package cpu

import "github.com/dygmamba/dygmamba/device"

func useZips(l *loops) {
	l.zips[device.Add], l.zipsOne[device.Add] = addVector, addOneVector
	l.zips[device.Sub], l.zipsOne[device.Sub] = subVector, subOneVector
	l.zips[device.Mul], l.zipsOne[device.Mul] = mulVector, mulOneVector
	l.scale = mulOneVector
}

//go:noescape
func addVector(z, x, y []float32)

//go:noescape
func subVector(z, x, y []float32)

//go:noescape
func mulVector(z, x, y []float32)

//go:noescape
func addOneVector(z, x []float32, v float32)

//go:noescape
func subOneVector(z, x []float32, v float32)

//go:noescape
func mulOneVector(z, x []float32, v float32)
