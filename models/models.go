// Package models registers the models. Everything that names, documents or tests every model reads their list.
package models

import (
	"slices"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models/internal/cawn"
	"github.com/dygmamba/dygmamba/models/internal/countnet"
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

// own are the models of this module, by the names the command line takes.
var own = map[string]model.Factory{
	"cawn":            cawn.Factory,
	"countnet":        countnet.Factory,
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
	for name, f := range own {
		Register(name, f)
	}
}

// Register adds a model of another module. Train, Load and all that lists models then know it by its name, which has
// lower-case letters, digits, dots and dashes. Call it in an init function: it panics where the name is taken, as two
// models of one name are a mistake in the program.
func Register(name string, f model.Factory) { model.Register(name, f) }

// Get is the model of a name, the zero Factory where there is none. See model.Find for an error that tells the names.
func Get(name string) model.Factory {
	f, _ := model.Find(name)
	return f
}

// Leading is the model of our own that was made to lead the field.
const Leading = "walkmamba"

// Names lists the models in the order of the alphabet: all, or those that learn links.
func Names(learning bool) []string {
	return slices.DeleteFunc(model.Registered(), func(name string) bool {
		f := Get(name)
		return learning && (!f.Trains || f.Task != "")
	})
}
