// Package models lists the models. Everything that names, documents or tests every model reads this list.
package models

import (
	"slices"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models/internal/cawn"
	"github.com/dygmamba/dygmamba/models/internal/ctan"
	"github.com/dygmamba/dygmamba/models/internal/dygformer"
	"github.com/dygmamba/dygmamba/models/internal/dygmamba"
	"github.com/dygmamba/dygmamba/models/internal/dyrep"
	"github.com/dygmamba/dygmamba/models/internal/edgebank"
	"github.com/dygmamba/dygmamba/models/internal/graphmixer"
	"github.com/dygmamba/dygmamba/models/internal/jodie"
	"github.com/dygmamba/dygmamba/models/internal/tcl"
	"github.com/dygmamba/dygmamba/models/internal/tgat"
	"github.com/dygmamba/dygmamba/models/internal/tgn"
	"github.com/dygmamba/dygmamba/models/internal/walkmamba"
)

// All is the catalogue, by the names the command line takes.
var All = map[string]model.Factory{
	"cawn":            cawn.Factory,
	"ctan":            ctan.Factory,
	"dygformer":       dygformer.Factory,
	"dygformer-mamba": dygformer.FactoryMamba,
	"dygmamba":        dygmamba.Factory,
	"dygmamba-a":      dygmamba.FactoryA,
	"dygmamba-b":      dygmamba.FactoryB,
	"dygmamba-c":      dygmamba.FactoryC,
	"dygmamba-d":      dygmamba.FactoryD,
	"dygmamba-e":      dygmamba.FactoryE,
	"dygmamba-f":      dygmamba.FactoryF,
	"dyrep":           dyrep.Factory,
	"edgebank":        edgebank.Factory,
	"graphmixer":      graphmixer.Factory,
	"jodie":           jodie.Factory,
	"tcl":             tcl.Factory,
	"tgat":            tgat.Factory,
	"tgn":             tgn.Factory,
	"walkmamba":       walkmamba.Factory,
}

func init() {
	for name, f := range All {
		model.Register(name, f)
	}
}

// Leading is the model of our own that was made to lead the field.
const Leading = "walkmamba"

// Names lists the models in the order of the alphabet: all, or those that learn.
func Names(learning bool) []string {
	var list []string
	for name, f := range All {
		if f.Trains || !learning {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}
