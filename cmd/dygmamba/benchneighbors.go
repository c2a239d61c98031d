package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/internal/page"
	"github.com/dygmamba/dygmamba/internal/term"
)

// lengthKey is the setting that bench neighbors varies: how many positions a history has, the node itself and its latest neighbours.
const lengthKey = "max_input_sequence_length"

func newBenchNeighbors(a *app) *cobra.Command {
	var data dataFlags
	var what modelFlags
	var where deviceFlags
	var lengths []int
	var steps int
	var plot, save string
	cmd := &cobra.Command{
		Use:   "neighbors",
		Short: "Measure time and memory of training against the number of neighbours",
		Long: `Takes a few training steps for every length of history, on the last batches of the training events, where histories are longest, and
says how time and memory grow. A row is shown as soon as it is known. A length that does not fit is said so, and the next one follows.

  step       from one update of the weights to the next, median
  gather     reading the histories on the CPU, which overlaps with the step before
  memory     what is taken on the device after the steps: activations and gradients, weights, features, the device's own workspace
  planned    what was foreseen as its upper bound before the first step`,
		Example: `  dygmamba bench neighbors --data enron --preset paper
  dygmamba bench neighbors --data enron --preset paper --lengths 1024,8192,32768 --plot neighbors.svg --save neighbors.json
  dygmamba bench neighbors --data uci --lengths 32,64,128 --set patch_size=4 --device cpu`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkLengths(lengths, steps, plot, save); err != nil {
				return err
			}
			factory, err := dygmamba.Factory(what.name)
			if err != nil {
				return usagef("%v", err)
			}
			m := lengthMeter{preset: what.preset, settings: what.set, stepMeter: stepMeter{factory: factory, batches: warmUp + steps}}
			if m.spec, err = m.at(lengths[0]); err != nil { // before anything is read
				return err
			}
			if m.set, err = data.open(cmd.Context(), a); err != nil {
				return err
			}
			defer m.set.Close()
			if m.dev, err = where.open(a); err != nil {
				return err
			}
			defer m.dev.Close()
			m.threads = where.threads
			doc := neighborsDoc{Model: what.name, Settings: what.set, Device: m.dev.Name(), Threads: where.threads, Steps: steps}
			if err := m.each(cmd.Context(), a, lengths, &doc, func() error { return doc.keep(save, plot) }); err != nil {
				return err
			}
			if plot != "" && doc.Time == nil {
				a.log().Warn(fmt.Sprintf("%s is not drawn: fewer than %d lengths could be measured", plot, fitNeeds))
			}
			return a.emit(doc, doc.writeGrowth)
		},
	}
	data.add(cmd)
	what.add(cmd, modelNames, "dygmamba")
	where.add(cmd)
	flags := cmd.Flags()
	flags.IntSliceVar(&lengths, "lengths", []int{64, 128, 256, 512, 1024, 2048, 4096, 8192}, "numbers of neighbours to measure, the node itself among them")
	flags.IntVar(&steps, "steps", 3, "training steps to measure for each of them, after some to warm up")
	flags.StringVar(&plot, "plot", "", "draw time and memory to this SVG file")
	flags.StringVar(&save, "save", "", "keep the figures in this JSON file, after every row")
	return cmd
}

func checkLengths(lengths []int, steps int, plot, save string) error {
	if least := slices.Min(lengths); least < 1 {
		return usagef("--lengths has %d, must be at least 1", least)
	}
	if steps < 1 {
		return usagef("--steps is %d, must be at least 1", steps)
	}
	if plot != "" && len(lengths) < fitNeeds {
		return usagef("--plot fits a line and needs %d --lengths for it, found %d", fitNeeds, len(lengths))
	}
	for flag, path := range map[string]string{"plot": plot, "save": save} {
		if path == "" {
			continue
		}
		if err := writable(flag, path); err != nil {
			return err
		}
	}
	return nil
}

// each measures all lengths in order of size, and lets keep know after each.
func (m *lengthMeter) each(ctx context.Context, a *app, lengths []int, doc *neighborsDoc, keep func() error) error {
	if err := m.open(); err != nil {
		return err
	}
	doc.Data, doc.Preset, doc.BatchSize = m.set.Name, m.spec.Preset, m.doc.BatchSize
	out := a.out
	if a.json {
		out = io.Discard
	}
	fmt.Fprintf(out, "%s (preset %s) on %s, batches of %d, %s\n\n", doc.Model, doc.Preset, doc.Data, doc.BatchSize, doc.Device)
	table, err := doc.table(out)
	if err != nil {
		return err
	}
	lengths = slices.Compact(slices.Sorted(slices.Values(lengths)))
	for i, length := range lengths {
		progress := a.console.Progress("measure", "lengths")
		progress.Set(int64(i), int64(len(lengths)), fmt.Sprintf("%d neighbours", length))
		row, err := m.measure(ctx, length, doc.Memory)
		progress.Done()
		if err != nil {
			return err
		}
		doc.add(row)
		if err := row.write(table); err != nil {
			return err
		}
		if err := keep(); err != nil {
			return err
		}
	}
	return nil
}

// neighborsDoc is what was measured. Times are milliseconds.
type neighborsDoc struct {
	Model     string         `json:"model"`
	Preset    string         `json:"preset"`
	Settings  []string       `json:"settings,omitempty"`
	Data      string         `json:"data"`
	Device    string         `json:"device"`
	Threads   int            `json:"threads"`
	BatchSize int            `json:"batch_size"`
	Steps     int            `json:"steps"`
	Rows      []neighborsRow `json:"rows"`
	Time      *growth        `json:"step_growth,omitempty"`   // ms; of three lengths or more
	Memory    *growth        `json:"memory_growth,omitempty"` // bytes
}

// neighborsRow is one length; where it could not be measured, Problem says why.
type neighborsRow struct {
	Neighbors int     `json:"neighbors"`
	Positions int     `json:"positions,omitempty"` // of a row, padding included
	Step      float64 `json:"step_ms,omitempty"`
	Gather    float64 `json:"gather_ms,omitempty"`
	Memory    int64   `json:"memory_bytes,omitempty"`
	Planned   int64   `json:"planned_bytes,omitempty"`
	Problem   string  `json:"problem,omitempty"`
}

// add adds a row and fits the growth anew.
func (d *neighborsDoc) add(r neighborsRow) {
	d.Rows = append(d.Rows, r)
	var x, time, memory []float64
	for _, r := range d.Rows {
		if r.Problem == "" {
			x, time, memory = append(x, float64(r.Neighbors)), append(time, r.Step), append(memory, float64(r.Memory))
		}
	}
	d.Time, d.Memory = fitGrowth(x, time), fitGrowth(x, memory)
}

func (d *neighborsDoc) table(w io.Writer) (*term.Live, error) {
	columns := []term.Column{term.Right("neighbours"), term.Right("step"), term.Right("ms per 1000"), term.Right("gather"),
		term.Right("memory"), term.Right("MiB per 1000"), term.Right("planned")}
	return term.NewLive(w, term.StyleOf(w), columns, "", "10000.0 ms", "", "1000.0 ms", "1000.0 MiB", "", "1000.0 MiB")
}

func (r neighborsRow) write(t *term.Live) error {
	if r.Problem != "" {
		return t.Remark(term.Count(r.Neighbors), r.Problem)
	}
	ms := func(v float64) string { return fmt.Sprintf("%.1f ms", v) }
	per := func(v float64) string { return fmt.Sprintf("%.1f", v/float64(r.Neighbors)*1000) }
	return t.Row(term.Count(r.Neighbors), ms(r.Step), per(r.Step), ms(r.Gather), term.Bytes(r.Memory), per(float64(r.Memory)/(1<<20)), term.Bytes(r.Planned))
}

// writeGrowth says how time and memory grow.
func (d neighborsDoc) writeGrowth(w io.Writer, s term.Style) error {
	if d.Time == nil {
		return nil
	}
	var f term.Facts
	f.Add("time", d.timeInWords())
	f.Add("memory", d.memoryInWords())
	fmt.Fprintln(w)
	return f.Write(w, s)
}

func (d neighborsDoc) timeInWords() string { return d.Time.words("%.1f ms", 1) }

func (d neighborsDoc) memoryInWords() string { return d.Memory.words("%.0f MiB", 1<<20) }

// keep writes the files that were asked for.
func (d *neighborsDoc) keep(save, plot string) error {
	if save != "" {
		if err := replaceFile(save, func(w io.Writer) error { return encode(w, d) }); err != nil {
			return err
		}
	}
	if plot == "" || d.Time == nil {
		return nil
	}
	return replaceFile(plot, d.picture().Write)
}

func replaceFile(path string, write func(io.Writer) error) error {
	f, err := newPending(path)
	if err != nil {
		return err
	}
	defer f.discard()
	if err := write(f); err != nil {
		return err
	}
	return f.commit()
}

// picture draws what was measured as dots and the fitted growth as a line.
func (d *neighborsDoc) picture() page.Picture {
	var x, time, memory []float64
	for _, r := range d.Rows {
		if r.Problem == "" {
			x, time, memory = append(x, float64(r.Neighbors)), append(time, r.Step), append(memory, float64(r.Memory))
		}
	}
	name, unit := "MiB", float64(1<<20)
	if slices.Max(memory) > 8<<30 {
		name, unit = "GiB", 1<<30
	}
	under := fmt.Sprintf("neighbours (%s on %s, batch %d)", d.Model, d.Data, d.BatchSize)
	return page.Picture{
		{Title: "Time of a training step, ms", Note: "line: " + d.timeInWords(), Chart: chart(under, x, time, d.Time, 1, page.First)},
		{Title: "Memory on the device, " + name, Note: "line: " + d.memoryInWords(), Chart: chart(under, x, memory, d.Memory, unit, page.Second)},
	}
}

func chart(under string, x, y []float64, g *growth, unit float64, tone page.Tone) page.Lines {
	lo, hi := x[0], x[len(x)-1]
	fit, dots := page.Series{Name: "line", Tone: page.Third, X: curve(lo, hi)}, page.Series{Name: "measured", Tone: tone, X: x, Points: true}
	for _, v := range fit.X {
		fit.Y = append(fit.Y, g.at(v)/unit)
	}
	for _, v := range y {
		dots.Y = append(dots.Y, v/unit)
	}
	all := append(slices.Clone(fit.Y), dots.Y...)
	return page.Lines{
		X:      page.Axis{Name: under, Min: lo, Max: hi, Log: true, Ticks: x},
		Y:      page.Axis{Min: slices.Min(all) / 1.2, Max: 1.2 * slices.Max(all), Log: true},
		Series: []page.Series{fit, dots},
	}
}
