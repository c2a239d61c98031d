package model

import (
	"strings"

	"github.com/dygmamba/dygmamba/tensor"
)

// Released is what the released program's state dict holds beside the parameters, none for most kinds: see
// Kind.Released.
func (f Factory) Released(params, state []tensor.Named) []tensor.Named {
	return f.released(params, state)
}

// Again is the parameters below a prefix once more, below another; they share their numbers. It is for Kind.Released.
func Again(params []tensor.Named, prefix, as string) (list []tensor.Named) {
	for _, p := range params {
		if rest, ok := strings.CutPrefix(p.Name, prefix); ok {
			p.Name = as + rest
			list = append(list, p)
		}
	}
	return list
}
