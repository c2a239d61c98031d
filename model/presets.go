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
// alike. Set takes over what was chosen for a data set; one for which nothing was keeps the default.
func AsPublished[C, V any](best Best[V], set func(c *C, v V)) []Preset[C] {
	tune := func(data string, c *C, _ *Training) {
		if v, chosen := best.For(data); chosen {
			set(c, v)
		}
	}
	return []Preset[C]{
		{Name: "released", Summary: "the released program and its best configurations", Apply: tune},
		{Name: "paper", Summary: "the same, trained as long as in the paper",
			Apply: func(data string, c *C, t *Training) {
				tune(data, c, t)
				t.Epochs = PaperEpochs
			}},
	}
}
