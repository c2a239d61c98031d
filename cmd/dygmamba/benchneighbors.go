package main

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/internal/bench"
	"github.com/dygmamba/dygmamba/internal/page"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/model"
)

func newBenchNeighbors(a *app) *cobra.Command {
	var data dataFlags
	var what modelFlags
	var where deviceFlags
	var lengths []int
	var steps int
	var plot, save string
	cmd := &cobra.Command{
		Use:   "neighbors",
		Short: "Measure how time and memory of training grow with the number of neighbours",
		Args:  takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkLengths(lengths, steps, plot, save); err != nil {
				return err
			}
			factory, err := model.Find(what.name)
			if err != nil {
				return usagef("%v", err)
			}
			n := bench.Neighbors{
				Model: what.name, Factory: factory, Preset: what.preset, Settings: what.set,
				Lengths: lengths, Steps: steps,
			}
			if err := n.Check(); err != nil { // before anything is read
				return err
			}
			if n.Set, err = data.open(cmd.Context(), a); err != nil {
				return err
			}
			defer n.Set.Close()
			if n.Device, err = where.open(a); err != nil {
				return err
			}
			defer n.Device.Close()
			n.Threads = where.threads
			show := neighborsView{app: a, save: save, plot: plot}
			n.OnBegin, n.OnLength, n.OnRow = show.begin, show.length, show.row
			report, err := n.Run(cmd.Context())
			show.done()
			if err != nil {
				return err
			}
			if plot != "" && report.Time == nil {
				const why = "%s was not written: fewer than %d lengths could be measured"
				a.log().Warn(fmt.Sprintf(why, plot, bench.FitNeeds))
			}
			return a.emit(report, func(w io.Writer, s term.Style) error { return writeGrowth(w, s, report) })
		},
	}
	data.add(cmd)
	what.add(cmd, modelNames, dygmamba.DefaultModel)
	where.add(cmd)
	where.addRounding(cmd)
	flags := cmd.Flags()
	flags.IntSliceVar(&lengths, "lengths", []int{64, 128, 256, 512, 1024, 2048, 4096, 8192},
		"numbers of neighbours to measure, including the node itself")
	flags.IntVar(&steps, "steps", 3, "number of training steps to measure for each length, after a warm-up")
	flags.StringVar(&plot, "plot", "", "SVG `file` for a plot of time and memory")
	flags.StringVar(&save, "save", "", "JSON `file` for the results, rewritten after each row")
	return cmd
}

func checkLengths(lengths []int, steps int, plot, save string) error {
	if least := slices.Min(lengths); least < 1 {
		return usagef("--lengths has %d, must be at least 1", least)
	}
	if steps < 1 {
		return usagef("--steps is %d, must be at least 1", steps)
	}
	if plot != "" && len(lengths) < bench.FitNeeds {
		return usagef("--plot fits a line and needs at least %d --lengths, found %d", bench.FitNeeds, len(lengths))
	}
	if plot != "" {
		if _, err := endingOf("plot", plot, ".svg"); err != nil {
			return err
		}
	}
	if save != "" {
		return writable("save", save)
	}
	return nil
}

// neighborsView shows the rows of a report as they come, and keeps them in files.
type neighborsView struct {
	app        *app
	save, plot string
	table      *term.Live
	progress   *term.Progress
}

func (v *neighborsView) begin(r *bench.NeighborsReport) (err error) {
	var out io.Writer = v.app.out
	if v.app.json {
		out = io.Discard
	}
	fmt.Fprintf(out, "%s (preset %s) on %s, batches of %d, %s\n\n", r.Model, r.Preset, r.Data, r.BatchSize, r.Device)
	columns := []term.Column{term.Right("neighbours"), term.Right("step"), term.Right("ms per 1000"),
		term.Right("gather"), term.Right("memory"), term.Right("MiB per 1000"), term.Right("planned")}
	v.table, err = term.NewLive(out, term.StyleOf(out), columns,
		"", "10000.0 ms", "", "1000.0 ms", "1000.0 MiB", "", "1000.0 MiB")
	return err
}

func (v *neighborsView) length(done, total, neighbors int) {
	v.progress = v.app.console.Progress("measure", "lengths")
	v.progress.Set(int64(done), int64(total), fmt.Sprintf("%d neighbours", neighbors))
}

func (v *neighborsView) row(r *bench.NeighborsReport) error {
	v.done()
	row := r.Rows[len(r.Rows)-1]
	ms := func(v float64) string { return fmt.Sprintf("%.1f ms", v) }
	per := func(v float64) string { return fmt.Sprintf("%.1f", v/float64(row.Neighbors)*1000) }
	var err error
	if row.Problem != "" {
		err = v.table.Remark(term.Count(row.Neighbors), row.Problem)
	} else {
		err = v.table.Row(term.Count(row.Neighbors), ms(row.Step), per(row.Step), ms(row.Gather),
			term.Bytes(row.Memory), per(float64(row.Memory)/(1<<20)), term.Bytes(row.Planned))
	}
	if err != nil {
		return err
	}
	return v.keep(r)
}

// done takes the live line away.
func (v *neighborsView) done() {
	if v.progress != nil {
		v.progress.Done()
		v.progress = nil
	}
}

func (v *neighborsView) keep(r *bench.NeighborsReport) error {
	if v.save != "" {
		if err := replaceFile(v.save, func(w io.Writer) error { return encode(w, r) }); err != nil {
			return err
		}
	}
	if v.plot == "" || r.Time == nil {
		return nil
	}
	return replaceFile(v.plot, neighborsPicture(r).Write)
}

func writeGrowth(w io.Writer, s term.Style, r *bench.NeighborsReport) error {
	if r.Time == nil {
		return nil
	}
	var f term.Facts
	f.Add("time", timeInWords(r))
	f.Add("memory", memoryInWords(r))
	fmt.Fprintln(w)
	return f.Write(w, s)
}

func timeInWords(r *bench.NeighborsReport) string { return growthInWords(r.Time, "%.1f ms", 1) }

func memoryInWords(r *bench.NeighborsReport) string {
	return growthInWords(r.Memory, "%.0f MiB", 1<<20)
}

// growthInWords says what grows in a unit, and how true that is.
func growthInWords(g *bench.Growth, format string, unit float64) string {
	return fmt.Sprintf(format+" + "+format+" per 1000 neighbours, within %.1f %%", g.Base/unit,
		1000*g.Each/unit, 100*g.Off)
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

// neighborsPicture draws what was measured as dots and the fitted growth as a line.
func neighborsPicture(r *bench.NeighborsReport) page.Picture {
	x, time, memory := r.Measured()
	name, unit := "MiB", float64(1<<20)
	if slices.Max(memory) > 8<<30 {
		name, unit = "GiB", 1<<30
	}
	under := fmt.Sprintf("neighbours (%s on %s, batch %d)", r.Model, r.Data, r.BatchSize)
	return page.Picture{
		{Title: "Time of a training step, ms", Note: "line: " + timeInWords(r),
			Chart: chart(under, x, time, r.Time, 1, page.First)},
		{Title: "Memory on the device, " + name, Note: "line: " + memoryInWords(r),
			Chart: chart(under, x, memory, r.Memory, unit, page.Second)},
	}
}

func chart(under string, x, y []float64, g *bench.Growth, unit float64, tone page.Tone) page.Lines {
	lo, hi := x[0], x[len(x)-1]
	fit, dots := page.Series{Name: "line", Tone: page.Third, X: curve(lo, hi)},
		page.Series{Name: "measured", Tone: tone, X: x, Points: true}
	for _, v := range fit.X {
		fit.Y = append(fit.Y, g.At(v)/unit)
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

// curve is points from lo to hi, equal factors apart.
func curve(lo, hi float64) []float64 {
	const points = 60
	x := make([]float64, points)
	for i := range x {
		x[i] = lo * math.Pow(hi/lo, float64(i)/(points-1))
	}
	return x
}
