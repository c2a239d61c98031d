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

// run is a record: what was achieved, and under which settings.
type run struct {
	train.Result
	settings string
}

// Tables writes the tables for all runs in dir: a section for every data set, model, preset and settings, seeds together.
func Tables(dir fs.FS) (string, error) {
	files, err := fs.Glob(dir, "*/"+train.ResultFile)
	if err != nil {
		return "", err
	}
	groups := map[string][]run{}
	for _, name := range files {
		var r run
		if err := read(dir, name, &r.Result); err != nil {
			return "", err
		}
		var c config
		if err := read(dir, path.Join(path.Dir(name), train.ConfigFile), &c); err != nil {
			return "", fmt.Errorf("a result needs its configuration: %w", err)
		}
		r.settings = c.String()
		key := strings.Join([]string{r.Data, r.Model, r.Preset, r.settings}, "\x00")
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

// config is what a table says of a run's configuration.
type config struct {
	Spec struct {
		Config struct {
			Arch     string  `json:"arch"`
			Length   int     `json:"max_input_sequence_length"`
			Patch    int     `json:"patch_size"`
			Meetings int     `json:"max_interaction_times"`
			Dropout  float64 `json:"dropout"`
			Gamma    float64 `json:"gamma"`
			Divisor  int     `json:"width_divisor"`
			Frozen   bool    `json:"freeze_time_encoder"`
		} `json:"config"`
	} `json:"spec"`
	TF32 bool `json:"tf32"`
}

// String is the settings in the paper's letters.
func (c config) String() string {
	m := c.Spec.Config
	s := fmt.Sprintf("ρ & p %d & %d, k %d, dropout %v, γ %v, f %d", m.Length, m.Patch, m.Meetings, m.Dropout, m.Gamma, m.Divisor)
	if m.Arch != "" && m.Arch != "released" {
		s += ", arch " + m.Arch
	}
	if m.Frozen {
		s += ", time encoder frozen"
	}
	if c.TF32 {
		s += ", TF32"
	}
	return s
}

func section(b *strings.Builder, runs []run) {
	slices.SortFunc(runs, func(a, b run) int { return int(a.Seed) - int(b.Seed) })
	var list []train.Result
	for _, r := range runs {
		list = append(list, r.Result)
	}
	s := train.Summarize(list)
	fmt.Fprintf(b, "### %s, %s, preset `%s`\n\n%s\n\n", s.Data, s.Model, s.Preset, runs[0].settings)
	b.WriteString("| setting | negatives | AP | AUC | paper AP | paper AUC |\n|---|---|---|---|---|---|\n")
	for _, m := range s.Results {
		ap, auc := "", ""
		if p, ok := paper.Lookup(m.Setting, m.Strategy, s.Data, s.Model); ok && !p.Timeout {
			ap, auc = value(p.AP.Mean, p.AP.Std), value(p.AUC.Mean, p.AUC.Std)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", m.Setting, m.Strategy, ours(m.AP, m.APStd, m.Runs), ours(m.AUC, m.AUCStd, m.Runs), ap, auc)
	}
	b.WriteString("\n| seed | best epoch | epochs | validation AP | an epoch | in all | device |\n|---|---|---|---|---|---|---|\n")
	for _, r := range runs {
		val := ""
		if r.Val != nil {
			val = fmt.Sprintf("%.2f", 100*r.Val.AP)
		}
		fmt.Fprintf(b, "| %d | %d | %d | %s | %.2f s | %.0f s | %s |\n", r.Seed, r.BestEpoch, r.Epochs, val, r.PerEpoch, r.Seconds, r.Device)
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
