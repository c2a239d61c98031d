package model

import "strings"

// PaperEpochs is for how long the paper trains every model.
const PaperEpochs = 200

// Best is what was chosen for published data sets, by their lower-case names.
type Best[V any] map[string]V

// For is what was chosen for a data set, however its name is capitalised.
func (b Best[V]) For(data string) (v V, chosen bool) {
	v, chosen = b[strings.ToLower(data)]
	return v, chosen
}

// Prefer is how published results were made, where there are any. It is for Kind.Prefer.
func (b Best[V]) Prefer(d Data) string {
	if _, published := b.For(d.Name); published {
		return "paper"
	}
	return "released"
}

// AsPublished are the presets of a model that the paper trains longer than the released program does, and otherwise
// alike: with what tune sets for a data set. About says so of the paper's.
func AsPublished[C any](tune func(c *C, data string), about string) []Preset[C] {
	return []Preset[C]{
		{
			Name:    "released",
			Summary: "the released program and its best configurations",
			Apply:   func(data string, c *C, _ *Training) { tune(c, data) },
		}, {
			Name:    "paper",
			Summary: about,
			Apply: func(data string, c *C, t *Training) {
				tune(c, data)
				t.Epochs = PaperEpochs
			},
		},
	}
}
