package model

import "github.com/dygmamba/dygmamba/nn"

// Table lists parameters as Kind.Table wants them.
func Table(p *nn.Params) []Shape {
	var table []Shape
	for _, q := range p.All() {
		table = append(table, Shape{Name: q.Name, Dims: q.Shape()})
	}
	return table
}
