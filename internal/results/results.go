// Package results answers: what did our own runs give? It turns the records under results/ into the tables of docs/RESULTS.md,
// so that the document cannot say anything that no run has shown.
package results

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/internal/paper"
	"github.com/dygmamba/dygmamba/train"
)

// The generated part of the document stands between these lines.
const (
	Begin = "<!-- made from results/ by go test ./internal/results -update; edits are overwritten -->"
	End   = "<!-- end -->"
)

// Tables writes the tables for all runs in dir: a section for every data set, model and preset, seeds together.
func Tables(dir fs.FS) (string, error) {
	files, err := fs.Glob(dir, "*/"+train.ResultFile)
	if err != nil {
		return "", err
	}
	groups := map[string][]train.Result{}
	for _, name := range files {
		raw, err := fs.ReadFile(dir, name)
		if err != nil {
			return "", err
		}
		var r train.Result
		if err := json.Unmarshal(raw, &r); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		if _, err := fs.Stat(dir, path.Join(path.Dir(name), train.ConfigFile)); err != nil {
			return "", fmt.Errorf("a result without its configuration: %w", err)
		}
		key := strings.Join([]string{r.Data, r.Model, r.Preset}, "\x00")
		groups[key] = append(groups[key], r)
	}
	var b strings.Builder
	var keys []string
	for k := range groups {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	for _, k := range keys {
		section(&b, groups[k])
	}
	return b.String(), nil
}

func section(b *strings.Builder, runs []train.Result) {
	slices.SortFunc(runs, func(a, b train.Result) int { return int(a.Seed) - int(b.Seed) })
	s := train.Summarize(runs)
	fmt.Fprintf(b, "### %s, %s, preset `%s`\n\n", s.Data, s.Model, s.Preset)
	b.WriteString("| setting | negatives | AP | AUC | paper AP | paper AUC |\n|---|---|---|---|---|---|\n")
	for _, m := range s.Results {
		ap, auc := "", ""
		if p, ok := paper.Lookup(m.Setting, m.Strategy, s.Data, s.Model); ok && !p.Timeout {
			ap, auc = value(p.AP.Mean, p.AP.Std), value(p.AUC.Mean, p.AUC.Std)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", m.Setting, m.Strategy, ours(m.AP, m.APStd, m.Runs), ours(m.AUC, m.AUCStd, m.Runs), ap, auc)
	}
	b.WriteString("\n| seed | best epoch | epochs | validation AP | device |\n|---|---|---|---|---|\n")
	for _, r := range runs {
		val := ""
		if r.Val != nil {
			val = fmt.Sprintf("%.2f", 100*r.Val.AP)
		}
		fmt.Fprintf(b, "| %d | %d | %d | %s | %s |\n", r.Seed, r.BestEpoch, r.Epochs, val, r.Device)
	}
	b.WriteString("\n")
}

func value(mean, std float64) string { return fmt.Sprintf("%.2f ± %.2f", mean, std) }

// ours is in percent; one run has no deviation.
func ours(mean, std float64, runs int) string {
	if runs < 2 {
		return fmt.Sprintf("%.2f", 100*mean)
	}
	return value(100*mean, 100*std)
}
