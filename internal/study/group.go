package study

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/paper"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/sample"
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
func (g group) shares() sample.Shares    { return g[0].spec.Training.Shares() }

// settings are all that tells the runs from others of their preset.
func (g group) settings() string {
	spec := g[0].spec
	text := spec.Brief()
	if spec.Task == eval.NodeClassification {
		text += ", node classification"
	}
	if g.shares().Mixed() {
		text += ", negatives " + g.negatives()
	}
	if g[0].Config.TF32 {
		text += ", TF32"
	}
	if spec.Order != "" {
		text += ", order " + spec.Order
	}
	return text + fewer(spec.Training.Epochs, wholeEpochs)
}

// mark is the word with which a configuration tells how it differs from its preset, where readers of a short table
// should know.
func (g group) mark() string {
	if m, ok := g[0].spec.Config.(interface{ Mark(preset string) string }); ok {
		if mark := m.Mark(g[0].spec.Preset); mark != "" {
			return ", " + mark
		}
	}
	return ""
}

// without is how marks of models that lack a part begin.
const without = ", without "

func (g group) lacks() bool { return strings.HasPrefix(g.mark(), without) }

const wholeEpochs = 100 // the least that a preset of a published program trains for

// epochs is how long the runs were to train, as far as that makes a difference between tables.
func (g group) epochs() int { return min(g.training().Epochs, wholeEpochs) }

// whole says whether the runs learned links, from random negatives and to their end: a few epochs show whether
// something learns, not how well, and other negatives make it good at something else.
func (g group) whole() bool {
	return g.training().Epochs >= wholeEpochs && g[0].spec.Task != eval.NodeClassification && !g.shares().Mixed()
}

// asPublished says whether the runs learned links with the preset of the paper, but for some settings and the number of
// epochs.
func (g group) asPublished(settings ...string) bool {
	if g.preset() != preset || g[0].spec.Task == eval.NodeClassification || g.shares().Mixed() {
		return false
	}
	spec, err := models.All[g.model()].Spec(preset, model.Data{Name: g.data()}, settings...)
	return err == nil && spec.Brief() == g[0].spec.Brief()
}

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

// form is what tells the runs from others of their preset, in words.
func (g group) form() string {
	spec, err := models.All[g.model()].Spec(g.preset(), model.Data{Name: g.data()})
	if err != nil {
		return g.mark()
	}
	return g.mark() + fewer(g.training().Epochs, spec.Training.Epochs)
}

// negatives says what the runs were trained with.
func (g group) negatives() string {
	s := g.shares()
	sum := s.Random + s.Historical + s.Time
	out := "random"
	for _, x := range []struct {
		kind  string
		share float64
	}{{sample.Historical, s.Historical}, {sample.Time, s.Time}} {
		if x.share > 0 {
			out += fmt.Sprintf(", %.3g %% %s", 100*x.share/sum, x.kind)
		}
	}
	return out
}

// beats compares by mean validation AP: over all kinds of negatives where the runs were trained with others than random
// ones. One seed comes after several, as two tell chance from skill.
func (g group) beats(o group) bool {
	seeds := func(g group) int { return min(len(g), 2) }
	mean := func(g group) (sum float64) {
		for i, v := range g.validation() {
			if i == 0 || g.shares().Mixed() {
				sum += v
			}
		}
		return sum
	}
	return o == nil || seeds(g) > seeds(o) || seeds(g) == seeds(o) && mean(g) > mean(o)
}

// validation is the mean AP of the best epochs against random, historical and inductive negatives, in percent, as far
// as these were measured.
func (g group) validation() (list []float64) {
	for _, of := range []func(run.Result) *run.Metric{
		func(r run.Result) *run.Metric { return r.Val },
		func(r run.Result) *run.Metric { return r.HistoricalVal },
		func(r run.Result) *run.Metric { return r.InductiveVal },
	} {
		var found []float64
		for _, r := range g {
			if m := of(r.Result); m != nil {
				found = append(found, 100*m.AP)
			}
		}
		if mean, _ := meanStd(found); mean > 0 {
			list = append(list, mean)
		}
	}
	return list
}

// marks are the conditions of numbers that tables show as letters. A condition of a model's scores is known by how it
// begins.
var marks = []struct {
	letter, means string
	begins        string
	of            func(g group) bool
}{
	{"a", "memory in the order of arrival, as published: it sees earlier batches of the same instant", "memory in ", nil},
	{"c", "rows padded to the longest of their call, as published: a score depends on the other queries of its call",
		"padding by call", nil},
	{"n", "neighbours drawn at random, as published: a score depends on how many queries came before",
		"neighbours are ", nil},
	{"t", "neighbours of neighbours looked up at rounded times, as published, which may be too late",
		"neighbours of neighbours", nil},
	{"x", "scores depend on other queries", "walk_update=batch", nil},
	{"s", "memory in strict order: it sees nothing of the query's own instant", "", func(g group) bool {
		return g[0].spec.Order == model.Strict
	}},
	{"r", "matrix products rounded to TF32 in training", "", func(g group) bool { return g[0].Config.TF32 }},
	{"e", "fewer epochs than the preset of the paper has", "", func(g group) bool {
		return g.training().Epochs < wholeEpochs && g.preset() == preset
	}},
	{"f", "without the published edge features, which are not at hand", "", func(g group) bool {
		v, ok := paper.Study("datasets", g.data(), "", "edge features")
		facts := g[0].Config.Facts
		return ok && v.Mean > 0 && facts != nil && facts.EdgeFeatures == 0
	}},
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
func (g group) number(scenario, negatives, metric string) (n number) {
	if g != nil {
		n.marks = g.letters()
	}
	for _, r := range g {
		for _, m := range r.Result.Results {
			if m.Scenario != scenario && r.Result.Task == "" || m.Strategy != negatives && negatives != "" {
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

// ap is a number of the transductive test.
func (g group) ap(negatives string) number { return g.number(eval.Transductive, negatives, "AP") }

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

// inPaper finds the published AP of a model in a test. Ablations and variant G have tables of their own.
func inPaper(scenario, negatives, data, model string) published {
	if p, ok := paper.Lookup(scenario, negatives, data, model); ok {
		return published{p.AP, p.Timeout, true}
	}
	if v, ok := paper.Study("ablation-"+scenario, data, model, negatives); ok {
		return published{v, false, true}
	}
	if v, ok := paper.Study("variant-g", data, model, "ap"); ok && scenario+negatives == "transductiverandom" {
		return published{v, false, true}
	}
	return published{}
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
