// Package models lists the models with learned weights. Everything that names, documents or tests every model reads this list.
package models

import (
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models/dygmamba"
)

// All is the catalogue, by the names the command line takes.
var All = map[string]model.Factory{
	"dygmamba":   dygmamba.Factory,
	"dygmamba-a": dygmamba.FactoryA,
	"dygmamba-b": dygmamba.FactoryB,
	"dygmamba-c": dygmamba.FactoryC,
	"dygmamba-d": dygmamba.FactoryD,
	"dygmamba-e": dygmamba.FactoryE,
	"dygmamba-f": dygmamba.FactoryF,
}
