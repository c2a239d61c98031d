package study

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dygmamba/dygmamba/internal/paper"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// block is a generated part of a document: what stands between a line that names it, with arguments, and the next end.
var block = regexp.MustCompile(`(?s)(<!-- (\w+)([^,\n]*), made from results/ by go test \./internal/study -update; ` +
	`edits are overwritten -->\n).*?(<!-- end -->)`)

// blocks make the tables of documents from all records.
var blocks = map[string]func(list []group, args []string) []Shown{
	"summary": summary, "board": board, "models": modelTables, "ablations": ablations, "studies": studies,
	"mixtures": mixtures, "parts": partTables, "marks": legend, "labels": labels,
}

// Fill makes the generated parts of a document anew.
func Fill(text string, records []Record) (string, error) {
	list := joined(groups(records))
	var failed error
	text = block.ReplaceAllStringFunc(text, func(old string) string {
		m := block.FindStringSubmatch(old)
		make, ok := blocks[m[2]]
		if !ok {
			failed = fmt.Errorf("no generated part is called %q, want one of %s", m[2],
				strings.Join(slices.Sorted(maps.Keys(blocks)), ", "))
			return old
		}
		var b strings.Builder
		for _, s := range make(list, strings.Fields(m[3])) {
			formats.ExecuteTemplate(&b, "part", leveled{"###", s})
		}
		return m[1] + strings.TrimPrefix(b.String(), "\n") + m[4]
	})
	return text, failed
}

// joined are groups in which seeds with and without rounding to TF32 are of one training; of a seed that was trained in
// both ways the exact run counts.
func joined(list []group) (out []group) {
	at := map[string]int{}
	for _, g := range list { // the exact ones come first
		key := g.data() + "\n" + g.model() + "\n" + g.preset() + "\n" + strings.Replace(g.settings(), ", TF32", "", 1)
		i, ok := at[key]
		if !ok {
			at[key] = len(out)
			out = append(out, slices.Clone(g))
			continue
		}
		for _, r := range g {
			if !slices.ContainsFunc(out[i], func(o Record) bool { return o.Result.Seed == r.Result.Seed }) {
				out[i] = append(out[i], r)
			}
		}
	}
	for _, g := range out {
		slices.SortFunc(g, func(a, b Record) int { return cmp.Compare(a.Result.Seed, b.Result.Seed) })
	}
	return out
}

// defaultModel is the one that the summary is about.
const defaultModel = "dygmamba"

// own chooses for each data set the runs that validation prefers.
func own(list []group, want func(group) bool) map[string]group {
	best := map[string]group{}
	for _, g := range list {
		if want(g) && g.beats(best[g.data()]) {
			best[g.data()] = g
		}
	}
	return best
}

func (g group) ablation() bool {
	_, ok := paper.Study("ablation-transductive", "enron", g.model(), "random")
	return ok && g.model() != defaultModel
}

// setOrder is the order in which data sets are shown.
var setOrder = []string{"uci", "enron", "mooc", "wikipedia", "CanParl", "USLegis", "s1", "s2", "s3"}

func sortSets(sets []string) []string {
	place := func(d string) int {
		if i := slices.Index(setOrder, d); i >= 0 {
			return i
		}
		return len(setOrder)
	}
	slices.SortFunc(sets, func(a, b string) int { return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b)) })
	return slices.Compact(sets)
}

// summary is one table of the default model: transductive, random negatives, with the preset that did best on
// validation data. Runs that changed a setting of their preset belong to studies.
func summary(list []group, _ []string) []Shown {
	t := Table{Columns: []string{"data set", "preset", "validation AP", "AP", "paper", "off by", "AUC", "paper"}}
	best := own(list, func(g group) bool { return g.model() == defaultModel && g.whole() && g.plain() })
	for _, data := range sortSets(slices.Collect(maps.Keys(best))) {
		g := best[data]
		r := row(data, "`"+g.preset()+"`"+g.mark(), fmt.Sprintf("%.2f", g.validation()[0]))
		for _, metric := range []string{"AP", "AUC"} {
			p := inPaper(protocol.Transductive, protocol.RandomNegatives, data, g.model())
			lookup, ok := paper.Lookup(protocol.Transductive, protocol.RandomNegatives, data, g.model())
			if ok && metric == "AUC" {
				p = published{lookup.AUC, false, true}
			}
			r = append(r, g.cell(protocol.Transductive, protocol.RandomNegatives, metric), Cell{Text: p.text()})
			if metric == "AP" {
				r = append(r, Cell{Text: off(g.ap(protocol.RandomNegatives), p)})
			}
		}
		t.Rows = append(t.Rows, r)
	}
	return []Shown{{Tables: []Table{t}}}
}

// rowsOf are groups by the name of a row and by data set: of several that in the published order of events, then the
// longest trained, then that with most seeds.
type rowsOf map[string]map[string]group

func (r rowsOf) add(name string, g group) {
	if r[name] == nil {
		r[name] = map[string]group{}
	}
	was := r[name][g.data()]
	strict := func(g group) int {
		if g[0].spec.Order == protocol.Strict {
			return 1
		}
		return 0
	}
	if was == nil || cmp.Or(cmp.Compare(strict(was), strict(g)), cmp.Compare(g.epochs(), was.epochs()),
		cmp.Compare(len(g), len(was))) > 0 {
		r[name][g.data()] = g
	}
}

// sets are the data sets that have at least this many rows.
func (r rowsOf) sets(least int) (list []string) {
	count := map[string]int{}
	for _, row := range r {
		for data := range row {
			if count[data]++; count[data] == least {
				list = append(list, data)
			}
		}
	}
	return sortSets(list)
}

// table sets the AP of the rows beside the paper's. The best of a column is bold, the second underlined, of those that
// saw nothing but the past and were trained to their end.
func (r rowsOf) table(names, sets []string) Table {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return !slices.ContainsFunc(sets, func(data string) bool { return r[name][data] != nil })
	})
	t := pivot([]string{"model", "paper"}, names, sets, func(name, data string) []Cell {
		return []Cell{r[name][data].cell(protocol.Transductive, protocol.RandomNegatives, "AP"),
			{Text: publishedOf(name, protocol.RandomNegatives, data).text()}}
	})
	for i := range t.Columns {
		t.rank(i)
	}
	return t
}

// publishedOf is the paper's AP of a row. Variants and models of our own are not in it.
func publishedOf(name string, negatives protocol.Negatives, data string) published {
	if strings.Contains(name, "`,") || strings.Contains(name, ours) {
		return published{}
	}
	return inPaper(protocol.Transductive, negatives, data, strings.Trim(name, "`"))
}

// byFirst sorts names of rows by their AP on data sets in turn.
func (r rowsOf) byFirst(sets []string) []string {
	names := slices.Sorted(maps.Keys(r))
	slices.SortStableFunc(names, func(a, b string) int {
		for _, data := range sets {
			x, y := r[a][data], r[b][data]
			if x != nil && y != nil {
				return cmp.Compare(y.ap(protocol.RandomNegatives).mean(), x.ap(protocol.RandomNegatives).mean())
			}
			if x != nil || y != nil {
				return cmp.Compare(len(y), len(x))
			}
		}
		return 0
	})
	return names
}

// compared are all models that learned links from random negatives as published, by name, and our own leading model
// with what validation prefers of it. Where tuned is asked for, the default model has a row more with the preset that
// validation prefers.
func compared(list []group, tuned bool) rowsOf {
	r := rowsOf{}
	for _, g := range list {
		if g.asPublished() && !g.ablation() && g.mark() == "" {
			r.add("`"+g.model()+"`", g)
		}
	}
	for data, g := range own(list, func(g group) bool {
		return tuned && g.model() == defaultModel && g.whole() && g.plain() && g.preset() != preset
	}) {
		if g.beats(r["`"+defaultModel+"`"][data]) {
			r.add("`"+defaultModel+"`, preset by validation", g)
		}
	}
	for _, g := range own(list, func(g group) bool {
		return g.model() == models.Leading && !g.shares().Mixed() && !g.lacks() && g.preset() == quick
	}) {
		r.add("`"+models.Leading+"`"+ours, g)
	}
	return r
}

// ours is what the paper does not have.
const ours = " (ours, minutes of training)"

// quick is the preset that trains for minutes.
const quick = "quick"

// board is one table of all models on some data sets, as published: transductive, random negatives, with the paper's
// numbers and the best of rules that learn nothing.
func board(list []group, sets []string) []Shown {
	r := compared(list, false)
	t := r.table(r.byFirst(sets), sets)
	rules := row("best rule that learns nothing")
	for _, data := range sets {
		rules = append(rules, Cell{Text: fmt.Sprintf("%.2f", bestRule(data, 0))}, Cell{})
	}
	if len(rules) == len(t.Columns) {
		t.Rows = append(t.Rows, rules)
	}
	return []Shown{{Tables: []Table{t}}} // RESULTS.md explains the marks
}

// modelTables are the same for all data sets, and the means against the other kinds of negatives.
func modelTables(list []group, _ []string) []Shown {
	r := compared(list, true)
	const least = 3 // models that make a comparison
	sets, others := r.sets(least), protocol.Published()[1:]
	names := r.byFirst(sets)
	first := r.table(names, sets)
	sets = slices.DeleteFunc(sets, func(data string) bool { // the paper has no others for generated data
		return !inPaper(protocol.Transductive, others[0], data, defaultModel).ok
	})
	second := pivot([]string{"model", "paper"}, names, sets, func(name, data string) []Cell {
		var printed []string
		for _, kind := range others {
			if p := publishedOf(name, kind, data); p.ok {
				printed = append(printed, fmt.Sprintf("%.2f", p.Mean))
			}
		}
		return row(r[name][data].means(others...), strings.Join(printed, " / "))
	})
	second.Title = "Against historical / inductive negatives:"
	return []Shown{{Tables: []Table{first, second}}}
}

// means are those of the AP against kinds of negatives, with the number of seeds and marks.
func (g group) means(kinds ...protocol.Negatives) string {
	var list []string
	for _, kind := range kinds {
		if n := g.ap(kind); len(n.values) > 0 {
			list = append(list, fmt.Sprintf("%.2f", 100*n.mean()))
		}
	}
	if list == nil {
		return ""
	}
	text := strings.Join(list, " / ")
	if len(g) > 1 {
		text += fmt.Sprintf(" (%d)", len(g))
	}
	return Cell{Text: text, Marks: g.letters()}.shown()
}

// ablations is a table of models that lack a part, the whole one first: on each data set those that were trained
// longest, to their end or for a few epochs.
func ablations(list []group, _ []string) []Shown {
	r, longest := rowsOf{}, map[string]int{}
	for _, g := range list {
		if g.asPublished() && g.ablation() {
			longest[g.data()] = max(longest[g.data()], g.epochs())
		}
	}
	for _, g := range list {
		if g.asPublished() && (g.ablation() || g.model() == defaultModel) && g.epochs() == longest[g.data()] {
			r.add("`"+g.model()+"`", g)
		}
	}
	return []Shown{{Tables: []Table{r.table(slices.Sorted(maps.Keys(r)), r.sets(2))}}}
}

// studies has a table for every study of the paper in which a setting changes: what there is of it, a column for each
// value. Trainings to the end and trainings of a few epochs have rows of their own.
func studies(list []group, _ []string) (parts []Shown) {
	for _, e := range paper.Exhibits() {
		if e.Kind != paper.Varied {
			continue
		}
		data, count := e.Datasets[0], map[string]int{}
		var names, values []string
		found := map[[2]string]Cell{}
		for _, name := range e.Models {
			for _, p := range e.Points {
				label, x := "`"+name+"`", strconv.FormatFloat(p.X, 'f', -1, 64)
				if i := slices.IndexFunc(p.Settings(name), isPadding); i >= 0 {
					label += ", " + p.Settings(name)[i]
				}
				for _, g := range studied(list, data, name, p.Settings(name)) {
					name := label + fewer(g.epochs(), wholeEpochs)
					if count[name]++; count[name] == 1 {
						names = append(names, name)
					}
					found[[2]string{name, x}] = g.cell(e.Scenario, e.Negatives[0], e.Metric)
				}
				if !slices.Contains(values, x) {
					values = append(values, x)
				}
				if v, ok := paper.Study(e.ID, data, name, x); ok {
					found[[2]string{"paper", x}] = Cell{Text: fmt.Sprintf("%.2f", v.Mean)}
				}
			}
		}
		names = slices.DeleteFunc(names, func(name string) bool { return count[name] < 2 }) // a value alone is no study
		if len(names) > 0 {
			t := pivot([]string{"model"}, append(names, "paper"), values, func(name, x string) []Cell {
				return []Cell{found[[2]string{name, x}]}
			})
			parts = append(parts, Shown{Exhibit: Exhibit{Title: e.Title}, Tables: []Table{t}})
		}
	}
	return parts
}

// studied are the groups that were trained as published but for some settings. Of a number of epochs that has several,
// as a model with memory has one for each order of events, the published order counts.
func studied(list []group, data, name string, settings []string) (found []group) {
	r := map[int]rowsOf{}
	for _, g := range list {
		if g.data() == data && g.model() == name && g.asPublished(settings...) {
			epochs := g.epochs()
			if r[epochs] == nil {
				r[epochs] = rowsOf{}
			}
			r[epochs].add(name, g)
		}
	}
	for _, epochs := range slices.Backward(slices.Sorted(maps.Keys(r))) {
		found = append(found, r[epochs][name][data])
	}
	return found
}

// labels is a table of node classification: AUC over all test events at once.
func labels(list []group, _ []string) []Shown {
	r := rowsOf{}
	for _, g := range list {
		if g[0].spec.Task == protocol.NodeClassification && g.preset() == preset && g.plain() {
			r.add("`"+g.model()+"`", g)
		}
	}
	t := pivot([]string{"model", "paper"}, slices.Sorted(maps.Keys(r)), r.sets(1), func(name, data string) []Cell {
		v, ok := paper.Study("node-classification", data, strings.Trim(name, "`"), "auc")
		return []Cell{r[name][data].cell("", "", "AUC"), {Text: published{v, false, ok}.text()}}
	})
	return []Shown{{Tables: []Table{t}}}
}

// legend explains all marks.
func legend([]group, []string) []Shown {
	text := ""
	for _, m := range marks {
		if m.begins == "" && m.of == nil { // studies of one's own
			continue
		}
		text += fmt.Sprintf("\n- %s %s", superscripts.Replace(m.letter), m.means)
	}
	return []Shown{{Notes: []string{strings.TrimSpace(text)}}}
}

// pivot is a table with a row for each name and columns for each data set or value; rows without anything are left out.
func pivot(head []string, names, across []string, cells func(name, of string) []Cell) Table {
	t := Table{Columns: []string{head[0]}}
	for _, of := range across {
		t.Columns = append(append(t.Columns, of), head[1:]...)
	}
	for _, name := range names {
		line := row(name)
		for _, of := range across {
			line = append(line, cells(name, of)...)
		}
		if slices.ContainsFunc(line[1:], func(c Cell) bool { return c.Text != "" }) {
			t.Rows = append(t.Rows, line)
		}
	}
	t.prune()
	return t
}

// without is how marks of models that lack a part begin.
const without = ", without "

func (g group) lacks() bool { return strings.HasPrefix(g.mark(), without) }

// epochs is how long the runs were to train, as far as that makes a difference between tables.
func (g group) epochs() int { return min(g.training().Epochs, wholeEpochs) }

// whole says whether the runs learned links, from random negatives and to their end: a few epochs show whether
// something learns, not how well, and other negatives make it good at something else.
func (g group) whole() bool {
	return g.training().Epochs >= wholeEpochs && g[0].spec.Task != protocol.NodeClassification && !g.shares().Mixed()
}

// asPublished says whether the runs learned links with the preset of the paper, but for some settings and the number of
// epochs.
func (g group) asPublished(settings ...string) bool {
	if g.preset() != preset || g[0].spec.Task == protocol.NodeClassification || g.shares().Mixed() {
		return false
	}
	spec, err := models.Get(g.model()).Spec(preset, model.Data{Name: g.data()}, settings...)
	return err == nil && spec.Brief() == g[0].spec.Brief()
}

// plain says whether the runs have the settings of their preset.
func (g group) plain() bool {
	spec, err := models.Get(g.model()).Spec(g.preset(), model.Data{Name: g.data()})
	return err == nil && spec.Brief() == g[0].spec.Brief()
}

// form is what tells the runs from others of their preset, in words.
func (g group) form() string {
	spec, err := models.Get(g.model()).Spec(g.preset(), model.Data{Name: g.data()})
	if err != nil {
		return g.mark()
	}
	return g.mark() + fewer(g.training().Epochs, spec.Training.Epochs)
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
		func(r run.Result) *run.Metric { return r.Others[protocol.HistoricalNegatives] },
		func(r run.Result) *run.Metric { return r.Others[protocol.InductiveNegatives] },
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

// ap is a number of the transductive test.
func (g group) ap(negatives protocol.Negatives) number {
	return g.number(protocol.Transductive, negatives, "AP")
}

// inPaper finds the published AP of a model in a test. Ablations and variant G have tables of their own.
func inPaper(scenario protocol.Scenario, negatives protocol.Negatives, data, model string) published {
	if p, ok := paper.Lookup(scenario, negatives, data, model); ok {
		return published{p.AP, p.Timeout, true}
	}
	if v, ok := paper.Study("ablation-"+string(scenario), data, model, string(negatives)); ok {
		return published{v, false, true}
	}
	if v, ok := paper.Study("variant-g", data, model, "ap"); ok && scenario == protocol.Transductive &&
		negatives == protocol.RandomNegatives {
		return published{v, false, true}
	}
	return published{}
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
