// Package results answers: what did our own runs give? It turns the records under results/ into the tables of
// README.md, docs/RESULTS.md and docs/RUNS.md, so that they cannot say anything that no run has shown.
package results

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/paper"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/run"
)

// A generated part of a document stands between a line that names it and End.
const (
	BeginTables    = "<!-- tables" + made
	BeginModels    = "<!-- models" + made
	BeginBoard     = "<!-- board" + made
	BeginSummary   = "<!-- summary" + made
	BeginAblations = "<!-- ablations" + made
	BeginStudies   = "<!-- studies" + made
	BeginMixtures  = "<!-- mixtures" + made
	BeginParts     = "<!-- parts" + made
	BeginLead      = "<!-- lead" + made
	End            = "<!-- end -->"

	made = ", made from results/ by go test ./internal/results -update; edits are overwritten -->"
)

// run is a record: what was achieved, and under which settings.
type entry struct {
	run.Result
	settings string
	mark     string // tells the run from others of its preset
	rounded  string // says so where matrix products were
	dir      string // where it lies
	verdict  string // of an audit, if there was one
	spec     model.Spec
}

// group is the runs of one data set, model, preset and settings, by seed.
type group []entry

// Tables writes the tables for all runs in dir, a section for every group.
func Tables(dir fs.FS) (string, error) {
	groups, err := load(dir)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, g := range groups {
		g.section(&b)
	}
	return b.String(), nil
}

// defaultModel is the one that the summary is about.
const defaultModel = "dygmamba"

// whole says whether the runs learned links as is usual, from random negatives and to their end: a few epochs show
// whether something learns, not how well, and other negatives make it good at something else.
func (g group) whole() bool {
	return g[0].spec.Training.Epochs >= wholeEpochs && g[0].spec.Task != eval.NodeClassification && !g.shares().Mixed()
}

const wholeEpochs = 100 // the least that a preset of a published program trains for

// atMost says for how many epochs at most the runs were trained, where these are few.
func (g group) atMost() string {
	return limited(g[0].spec.Training.Epochs, wholeEpochs)
}

// shortened says for how many epochs at most the runs were trained, where their preset has more.
func (g group) shortened() string {
	preset, err := models.Get(g[0].Model).Spec(g[0].Preset, model.Data{Name: g[0].Data})
	if err != nil {
		return ""
	}
	return limited(g[0].spec.Training.Epochs, preset.Training.Epochs)
}

// limited says that epochs were fewer than is usual.
func limited(epochs, usual int) string {
	switch {
	case epochs >= usual:
		return ""
	case epochs == 1:
		return ", one epoch"
	}
	return fmt.Sprintf(", at most %d epochs", epochs)
}

// seeds is how much the runs say beside others: two seeds tell chance from skill, more do not change the choice.
func (g group) seeds() int { return min(len(g), 2) }

// ablation says whether the runs are of a model that lacks a part of another.
func (g group) ablation() bool {
	_, ok := paper.Study(ablations, "enron", g[0].Model, "random")
	return ok && g[0].Model != defaultModel
}

// Models writes a table for every data set on which several models were trained, transductive, best first: those that
// ran to their end, of the default model the settings that did best on validation data. A model whose scores depend on
// more than the past of their query says so.
func Models(dir fs.FS) (string, error) {
	groups, err := load(dir)
	if err != nil {
		return "", err
	}
	var sets []string
	compared := map[string][]group{}
	for _, g := range groups {
		name := g[0].Data
		if !g.whole() || g.ablation() {
			continue
		}
		if compared[name] == nil {
			sets = append(sets, name)
		}
		compared[name] = append(compared[name], g)
	}
	var b strings.Builder
	for _, name := range sets {
		list := favourites(compared[name])
		if slices.ContainsFunc(list, func(g group) bool { return g[0].Model != defaultModel }) {
			compare(&b, name, list)
		}
	}
	return b.String(), nil
}

// Board writes one table of all models on the data sets that most of them were trained on, as published: transductive,
// random negatives, with the paper's numbers.
func Board(dir fs.FS) (string, error) {
	groups, err := load(dir)
	if err != nil {
		return "", err
	}
	on := map[string]map[string]group{} // by data set and model
	models := map[string]bool{}
	for _, g := range groups {
		if !g.whole() || g.ablation() || g[0].Preset != published || g[0].mark != "" ||
			g[0].spec.Order == model.Strict {
			continue
		}
		if on[g[0].Data] == nil {
			on[g[0].Data] = map[string]group{}
		}
		if len(g) > len(on[g[0].Data][g[0].Model]) {
			on[g[0].Data][g[0].Model] = g
		}
		models[g[0].Model] = true
	}
	var sets []string
	for name, list := range on {
		if len(list) > len(models)/2 {
			sets = append(sets, name)
		}
	}
	slices.Sort(sets)
	slices.Reverse(sets)
	var b strings.Builder
	b.WriteString("| model |")
	for _, name := range sets {
		fmt.Fprintf(&b, " %s | paper |", name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|---|", len(sets)) + "\n")
	ranked := slices.Sorted(maps.Keys(models))
	first := func(name string) float64 {
		if g := on[sets[0]][name]; g != nil {
			m, _ := g.measured("transductive", "random")
			return m.AP
		}
		return 0
	}
	slices.SortStableFunc(ranked, func(x, y string) int { return cmp.Compare(first(y), first(x)) })
	for _, name := range ranked {
		fmt.Fprintf(&b, "| `%s` |", name)
		for _, data := range sets {
			own, theirs := "", ""
			if g := on[data][name]; g != nil {
				m, _ := g.measured("transductive", "random")
				own = ours(m.AP, m.APStd, m.Runs)
			}
			if p, ok := publishedAP("transductive", "random", data, name); ok {
				theirs = said(p)
			}
			fmt.Fprintf(&b, " %s | %s |", own, theirs)
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}

// published is the preset that trains as the paper does.
const published = "paper"

// favourites leaves of the default model's groups the one that was trained as published and, where another did better
// on validation data, that one too: it is told by its preset.
func favourites(groups []group) (list []group) {
	var own []group
	for _, g := range groups {
		if g[0].Model == defaultModel {
			own = append(own, g)
		} else {
			list = append(list, g)
		}
	}
	best, plain := -1, -1
	for i, g := range own {
		if best < 0 || g.beats(own[best]) {
			best = i
		}
		if g[0].Preset == published && g[0].mark == "" && (plain < 0 || len(g) > len(own[plain])) {
			plain = i // others of this preset have settings of their own, and fewer seeds
		}
	}
	for i, g := range own {
		if i == best || i == plain {
			list = append(list, g)
		}
	}
	return list
}

// beats says whether validation data prefer the runs to others; those with one seed only come last.
func (g group) beats(o group) bool {
	return g.seeds() > o.seeds() || g.seeds() == o.seeds() && g.validation() > o.validation()
}

func compare(b *strings.Builder, data string, list []group) {
	random := func(g group) float64 {
		m, _ := g.measured("transductive", "random")
		return m.AP
	}
	slices.SortStableFunc(list, func(x, y group) int { return cmp.Compare(random(y), random(x)) })
	fmt.Fprintf(b, "### %s\n\n", data)
	b.WriteString("| model | seeds | random | paper | off by | historical | paper | inductive | paper " +
		"| new nodes, random | paper |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, g := range list {
		name := "`" + g[0].Model + "`"
		if g[0].Preset != published {
			name += ", preset `" + g[0].Preset + "`"
		}
		name += g[0].mark
		if order := g[0].spec.Order; order != "" {
			name += ", " + order
		} else if len(g[0].Depends) > 0 {
			name += " ¹"
		}
		fmt.Fprintf(b, "| %s | %d |", name, len(g))
		for i, c := range [][2]string{
			{"transductive", "random"}, {"transductive", "historical"}, {"transductive", "inductive"},
			{"inductive", "random"},
		} {
			m, found := g.measured(c[0], c[1])
			own, theirs, off := "", "", ""
			if found {
				own = ours(m.AP, m.APStd, m.Runs)
			}
			if p, ok := publishedAP(c[0], c[1], data, g[0].Model); ok {
				theirs = said(p)
				if p.Std > 0 {
					off = fmt.Sprintf("%+.1f std", (100*m.AP-p.Mean)/p.Std)
				}
			}
			fmt.Fprintf(b, " %s | %s |", own, theirs)
			if i == 0 {
				fmt.Fprintf(b, " %s |", off)
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
}

// publishedAP is the paper's. Variant G has a table of its own.
func publishedAP(scenario, strategy, data, model string) (paper.Value, bool) {
	if p, ok := paper.Lookup(scenario, strategy, data, model); ok && !p.Timeout {
		return p.AP, true
	}
	if scenario == "transductive" && strategy == "random" {
		return paper.Study("variant-g", data, model, "ap")
	}
	return paper.Value{}, false
}

// measured is what the runs gave in one scenario under one kind of negatives.
func (g group) measured(scenario, strategy string) (run.MeanStd, bool) {
	for _, m := range g.summary().Results {
		if m.Scenario == scenario && m.Strategy == strategy {
			return m, true
		}
	}
	return run.MeanStd{}, false
}

// cell is the AP of a test, if there was one.
func (g group) cell(scenario, strategy string) string {
	m, ok := g.measured(scenario, strategy)
	if !ok {
		return ""
	}
	return ours(m.AP, m.APStd, m.Runs)
}

// Summary writes one table of transductive link prediction with random negatives: for every data set the settings that
// did best on validation data, among those with at least two seeds where there are such.
func Summary(dir fs.FS) (string, error) {
	groups, err := load(dir)
	if err != nil {
		return "", err
	}
	best := map[string]group{}
	var sets []string
	for _, g := range groups {
		name := g[0].Data
		if g[0].Model != defaultModel || !g.whole() {
			continue
		}
		if best[name] == nil {
			sets = append(sets, name)
		}
		if best[name] == nil || g.beats(best[name]) {
			best[name] = g
		}
	}
	var b strings.Builder
	b.WriteString("| data set | preset | seeds | validation AP | AP | AUC | paper AP | paper AUC |\n" +
		"|---|---|---|---|---|---|---|---|\n")
	for _, name := range sets {
		g := best[name]
		s := g.summary()
		for _, m := range s.Results {
			if m.Scenario == "transductive" && m.Strategy == "random" {
				preset := "`" + s.Preset + "`" + g[0].mark
				fmt.Fprintf(&b, "| %s | %s | %d | %.2f | %s |\n",
					name, preset, len(g), 100*g.validation(), measured(m, s))
			}
		}
	}
	return b.String(), nil
}

// load reads all runs in dir, in the order of their data sets.
func load(dir fs.FS) ([]group, error) {
	files, err := fs.Glob(dir, "*/"+run.ResultFile)
	if err != nil {
		return nil, err
	}
	groups := map[string]group{}
	for _, name := range files {
		var r entry
		if err := read(dir, name, &r.Result); err != nil {
			return nil, err
		}
		var c run.Config
		if err := read(dir, path.Join(path.Dir(name), run.ConfigFile), &c); err != nil {
			return nil, fmt.Errorf("a result needs its configuration: %w", err)
		}
		if err := r.describe(c); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := r.stamped(dir, path.Dir(name)); err != nil {
			return nil, err
		}
		key := strings.ToLower(strings.Join([]string{r.Data, r.Model, r.Preset, r.settings}, "\x00"))
		groups[key] = append(groups[key], r)
	}
	var list []group
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		g := groups[key]
		slices.SortFunc(g, func(a, b entry) int { return cmp.Compare(a.Seed, b.Seed) })
		list = append(list, g)
	}
	return list, nil
}

func read(dir fs.FS, name string, into any) error {
	raw, err := fs.ReadFile(dir, name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// stampFile is what package audit, which lies above, calls its own.
const stampFile = "audit.json"

// stamp is what is read of it.
type stamp struct {
	Verdict string
	Checks  []struct{ Want string }
}

// stamped notes where a run lies and what an audit said of it, if there was one.
func (r *entry) stamped(dir fs.FS, name string) error {
	r.dir = name
	var s stamp
	err := read(dir, path.Join(name, stampFile), &s)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	r.verdict = s.Verdict
	return err
}

// describe notes the settings of a run, as its model puts them.
func (r *entry) describe(c run.Config) error {
	f, err := model.Find(r.Model)
	if err != nil {
		return err
	}
	if c.Spec == nil {
		c.Spec = []byte("{}")
	}
	spec, err := f.Decode(c.Spec)
	if err != nil {
		return err
	}
	r.spec, r.settings = spec, spec.Brief()
	if spec.Task == eval.NodeClassification {
		r.settings += ", node classification"
	}
	if g := (group{*r}); g.shares().Mixed() {
		r.settings += ", negatives " + g.negatives()
	}
	if c.TF32 {
		r.settings += ", TF32"
		r.rounded = ", TF32"
	}
	if spec.Order != "" {
		r.settings += ", order " + spec.Order
	}
	r.settings += group{*r}.atMost()
	if m, ok := spec.Config.(marked); ok {
		if mark := m.Mark(spec.Preset); mark != "" {
			r.mark = ", " + mark
		}
	}
	return nil
}

// marked is a configuration that tells in a word how it differs from its preset, where readers of a short table should
// know.
type marked interface{ Mark(preset string) string }

func (g group) summary() run.Summary {
	var list []run.Result
	for _, r := range g {
		list = append(list, r.Result)
	}
	return run.Summarize(list)
}

// validation is the mean validation AP of the runs that have one.
func (g group) validation() float64 { return g.mean(func(r entry) *run.Metric { return r.Val }) }

// mean is that of the AP of the runs that have a certain metric.
func (g group) mean(of func(entry) *run.Metric) float64 {
	sum, n := 0.0, 0
	for _, r := range g {
		if m := of(r); m != nil {
			sum += m.AP
			n++
		}
	}
	return sum / float64(max(n, 1))
}

func (g group) section(b *strings.Builder) {
	s := g.summary()
	fmt.Fprintf(b, "### %s, %s, preset `%s`%s\n\n%s\n\n", s.Data, s.Model, s.Preset, g[0].rounded, g[0].settings)
	b.WriteString("| setting | negatives | AP | AUC | paper AP | paper AUC |\n|---|---|---|---|---|---|\n")
	for _, m := range s.Results {
		fmt.Fprintf(b, "| %s | %s | %s |\n", m.Scenario, m.Strategy, measured(m, s))
	}
	b.WriteString("\n| seed | best epoch | epochs | validation AP | an epoch | in all | device |\n" +
		"|---|---|---|---|---|---|---|\n")
	for _, r := range g {
		val := ""
		if r.Val != nil {
			val = fmt.Sprintf("%.2f", 100*r.Val.AP)
		}
		fmt.Fprintf(b, "| %d | %d | %d | %s | %.2f s | %.0f s | %s |\n",
			r.Seed, r.BestEpoch, r.Epochs, val, r.PerEpoch, r.Seconds, r.Device)
	}
	b.WriteString("\n")
	for _, r := range g {
		if r.verdict != "" {
			fmt.Fprintf(b, "`audit` of seed %d: [%s](../results/%s/%s)\n\n", r.Seed, r.verdict, r.dir, stampFile)
		}
	}
}

// measured is four cells: AP and AUC, ours and the paper's.
func measured(m run.MeanStd, s run.Summary) string {
	ap, auc := "", ""
	if p, ok := paper.Lookup(m.Scenario, m.Strategy, s.Data, s.Model); ok && !p.Timeout {
		ap, auc = value(p.AP.Mean, p.AP.Std), value(p.AUC.Mean, p.AUC.Std)
	}
	return strings.Join([]string{ours(m.AP, m.APStd, m.Runs), ours(m.AUC, m.AUCStd, m.Runs), ap, auc}, " | ")
}

func value(mean, std float64) string { return fmt.Sprintf("%.2f ± %.2f", mean, std) }

// said is a published number; some come without a deviation.
func said(p paper.Value) string {
	if p.Std == 0 {
		return fmt.Sprintf("%.2f", p.Mean)
	}
	return value(p.Mean, p.Std)
}

// ours is in percent; one run has no deviation.
func ours(mean, std float64, runs int) string {
	if runs < 2 {
		return fmt.Sprintf("%.2f", 100*mean)
	}
	return value(100*mean, 100*std)
}
