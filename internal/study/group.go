package study

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/internal/paper"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
)

// group is runs that differ in their seed alone, in its order.
type group []Record

// groups sorts runs that have ended by data set, model, preset and settings.
func groups(records []Record) (list []group) {
	all := map[string]group{}
	for _, r := range records {
		if r.ended {
			c := r.Result
			key := strings.ToLower(strings.Join([]string{c.Data, c.Model, c.Preset, group{r}.settings()}, "\x00"))
			all[key] = append(all[key], r)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		slices.SortFunc(all[key], func(a, b Record) int { return cmp.Compare(a.Result.Seed, b.Result.Seed) })
		list = append(list, all[key])
	}
	return list
}

func (g group) data() string             { return g[0].Result.Data }
func (g group) model() string            { return g[0].Result.Model }
func (g group) preset() string           { return g[0].Result.Preset }
func (g group) training() model.Training { return g[0].spec.Training }
func (g group) shares() protocol.Shares  { return g[0].spec.Training.Negatives }

// settings are all that tells the runs from others of their preset.
func (g group) settings() string {
	spec := g[0].spec
	text := spec.Brief()
	if spec.Task == protocol.NodeClassification {
		text += ", node classification"
	}
	if g.shares().Mixed() {
		text += ", negatives " + g.negatives()
	}
	if g[0].Config.TF32 {
		text += ", TF32"
	}
	if spec.Order != "" {
		text += ", order " + string(spec.Order)
	}
	return text + fewer(spec.Training.Epochs, wholeEpochs)
}

const wholeEpochs = 100 // the least that a preset of a published program trains for

// fewer says that epochs were fewer than usual.
func fewer(epochs, usual int) string {
	switch {
	case epochs >= usual:
		return ""
	case epochs == 1:
		return ", one epoch"
	}
	return fmt.Sprintf(", at most %d epochs", epochs)
}

// negatives says what the runs were trained with.
func (g group) negatives() string {
	s := g.shares()
	out := "random"
	for _, kind := range protocol.Trained() {
		if kind != protocol.RandomNegatives && s[kind] > 0 {
			out += fmt.Sprintf(", %.3g %% %s", 100*s[kind]/s.Sum(), kind)
		}
	}
	return out
}

// marks are the conditions of numbers that tables show as letters. A condition of a model's scores is known by how it
// begins.
var marks = []struct {
	letter, means string
	begins        string
	of            func(g group) bool
}{
	{"a", "memory in the order of arrival, as published: it sees earlier batches of the same instant",
		"memory in ", nil},
	{"c", "rows padded to the longest of their call, as published: a score depends on the other queries of its call",
		"padding by call", nil},
	{"n", "neighbours drawn at random, as published: a score depends on how many queries came before",
		"neighbours are ", nil},
	{"t", "neighbours of neighbours looked up at rounded times, as published, which may be too late",
		"neighbours of neighbours", nil},
	{"x", "scores depend on other queries", "walk_update=batch", nil},
	{"s", "memory in strict order: it sees nothing of the query's own instant", "", func(g group) bool {
		return g[0].spec.Order == protocol.Strict
	}},
	{"r", "matrix products rounded to TF32 in training", "", func(g group) bool {
		return slices.ContainsFunc(g, func(r Record) bool { return r.Config.TF32 })
	}},
	{"e", "fewer epochs than the preset of the paper has", "", func(g group) bool {
		return g.training().Epochs < wholeEpochs && g.preset() == preset
	}},
	{"f", "without the published edge features, which are not at hand", "", func(g group) bool {
		v, ok := paper.Study("datasets", g.data(), "", "edge features")
		facts := g[0].Config.Facts
		return ok && v.Mean > 0 && facts != nil && facts.EdgeFeatures == 0
	}},
	{"b", "ended with the time that every training of the study had", "", nil},
	{"u", "stopped before training ended", "", func(g group) bool {
		return slices.ContainsFunc(g, func(r Record) bool { return r.Unfinished() != "" })
	}},
}

// unequal are the marks of numbers that are not compared with others.
const unequal = "acntxeu"

// lettersOf are the marks of conditions.
func lettersOf(conditions []string) (text string) {
	for _, m := range marks {
		if m.begins != "" && slices.ContainsFunc(conditions, func(c string) bool {
			return strings.HasPrefix(c, m.begins)
		}) {
			text += m.letter
		}
	}
	return text
}

// letters are the marks of the runs.
func (g group) letters() string {
	text := lettersOf(g[0].spec.Conditions())
	for _, m := range marks {
		if m.of != nil && m.of(g) {
			text += m.letter
		}
	}
	return text
}

// number is what was measured for a cell: the mean over the seeds that are done.
type number struct {
	values  []float64
	runs    group
	words   string // instead of a number
	marks   string
	context string
}

// number is what the runs have in a test. Node classification has one, whatever is asked for.
func (g group) number(scenario protocol.Scenario, negatives protocol.Negatives, metric string) (n number) {
	if g != nil {
		n.marks = g.letters()
	}
	for _, r := range g {
		for _, m := range r.Result.Results {
			if m.Scenario != scenario && r.Result.OfLinks() || m.Strategy != negatives && negatives != "" {
				continue
			}
			v := m.AP
			if metric == "AUC" {
				v = m.AUC
			}
			n.values, n.runs = append(n.values, v), append(n.runs, r)
		}
	}
	return n
}

// cell is a number of the runs; an empty one without runs.
func (g group) cell(scenario protocol.Scenario, negatives protocol.Negatives, metric string) Cell {
	return g.number(scenario, negatives, metric).cell()
}

func (n number) mean() float64 { m, _ := meanStd(n.values); return m }

// cell shows a number in percent, with its deviation and number of seeds where there are several.
func (n number) cell() Cell {
	if len(n.values) == 0 {
		return Cell{Text: n.words, Faint: true}
	}
	mean, std := meanStd(n.values)
	c := Cell{Text: fmt.Sprintf("%.2f", 100*mean), Value: &mean, Conditions: n.context, Marks: n.marks}
	if len(n.values) > 1 {
		c.Text, c.Std = fmt.Sprintf("%.2f ± %.2f (%d)", 100*mean, 100*std, len(n.values)), &std
	}
	for i, r := range n.runs {
		c.Runs = append(c.Runs, r.Name)
		if i == 0 {
			c.Conditions = fmt.Sprintf("epoch %d of %d on %s; ", r.Result.BestEpoch, r.Result.Epochs,
				r.Result.Device) + c.Conditions
		}
	}
	return c
}

// meanStd is the mean and the sample standard deviation; of one value that is not a number.
func meanStd(x []float64) (mean, std float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	if len(x) < 2 {
		return mean, math.NaN()
	}
	for _, v := range x {
		std += (v - mean) * (v - mean) / float64(len(x)-1)
	}
	return mean, math.Sqrt(std)
}

// published is a number of the paper.
type published struct {
	paper.Value
	timeout, ok bool
}

// text is a published number as the paper prints it.
func (p published) text() string {
	switch {
	case p.timeout:
		return "timeout"
	case !p.ok:
		return ""
	case p.Std > 0:
		return fmt.Sprintf("%.2f ± %.2f", p.Mean, p.Std)
	}
	return fmt.Sprintf("%.2f", p.Mean)
}

// off is the distance from the published mean, in published standard deviations where there are any.
func off(n number, p published) string {
	if len(n.values) == 0 || !p.ok || p.timeout {
		return ""
	}
	d := 100*n.mean() - p.Mean
	if p.Std > 0 {
		return fmt.Sprintf("%+.1f std", d/p.Std)
	}
	return fmt.Sprintf("%+.2f", d)
}
