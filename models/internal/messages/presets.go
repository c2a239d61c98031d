package messages

import "github.com/dygmamba/dygmamba/model"

// Presets are those of a model that remembers by messages: the published ones, with what tune sets for a data set, and
// one in strict order.
func Presets[C any](tune func(c *C, data string)) []model.Preset[C] {
	list := model.AsPublished(tune, "the same, trained as long as in the paper")
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
