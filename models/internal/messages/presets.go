package messages

import (
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models/internal/dyglib"
)

// Presets are those of a model that remembers by messages: the published ones, and one in strict order.
func Presets[C any](name string, set func(c *C, v dyglib.Tuned)) []model.Preset[C] {
	list := model.AsPublished(dyglib.Best(name), set)
	return append(list, model.Preset[C]{
		Name:    "strict",
		Summary: "the paper's values, and a memory that never knows of a query's own instant",
		Apply:   list[1].Apply,
	})
}

// Prefer is the published protocol for published data, and nothing from the same instant for anybody's own.
func Prefer(d model.Data) string {
	if d.Imported {
		return "strict"
	}
	return "paper"
}
