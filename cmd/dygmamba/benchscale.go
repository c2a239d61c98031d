package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/internal/bench"
	"github.com/dygmamba/dygmamba/internal/page"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/train"
)

func newBenchScale(a *app) *cobra.Command {
	var f scaleFlags
	cmd := &cobra.Command{
		Use:   "scale",
		Short: "Measure how time and memory of commands grow with the number of events",
		Args:  takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.part != "" {
				return f.runPart(cmd.Context(), a)
			}
			if err := f.check(); err != nil {
				return err
			}
			var err error
			if f.Program, err = os.Executable(); err != nil {
				return err
			}
			return f.run(cmd.Context(), a)
		},
	}
	flags := cmd.Flags()
	flags.IntSliceVar(&f.Sizes, "events", []int{1_000_000, 10_000_000}, "numbers of events, smallest first")
	flags.StringSliceVar(&f.Models, "models", []string{dygmamba.DefaultModel}, "models that take a first training step")
	durationVar(flags, &f.MaxTime, "max-time", 0,
		"also measure 'train --max-time' on the largest stream, for each model (default: not measured)")
	durationVar(flags, &f.Limit, "limit", 30*time.Minute, "stop a command after this time; the next one follows")
	flags.StringVar(&f.Dir, "dir", "",
		"`directory` for the streams, 160 bytes per event (default: the one for temporary files)")
	flags.StringVar(&f.plot, "plot", "", "SVG `file` for a plot of time and memory")
	flags.StringVar(&f.doc, "doc", "",
		"Markdown `file` to write the table to, between its lines '"+scaleBegins+"' and '"+scaleEnds+"'")
	flags.StringVar(&f.part, "part", "", "what a measured process does")
	flags.StringVar(&f.stream, "stream", "", "file of a measured process")
	flags.MarkHidden("part")
	flags.MarkHidden("stream")
	completeWith(cmd, "models", modelNames()...)
	return cmd
}

type scaleFlags struct {
	bench.Scale
	plot, doc    string
	part, stream string
}

func (f *scaleFlags) check() error {
	for i, n := range f.Sizes {
		if n < 1 || i > 0 && n <= f.Sizes[i-1] {
			return usagef("--events %v: must be at least 1 and ascend", f.Sizes)
		}
	}
	for _, m := range f.Models {
		if _, err := model.Find(m); err != nil {
			return usagef("--models: %v", err)
		}
	}
	switch {
	case f.MaxTime < 0:
		return usagef("--max-time is %v, must be a duration such as 60s", f.MaxTime)
	case f.Limit <= 0:
		return usagef("--limit is %v, must be a duration such as 10m", f.Limit)
	case f.plot != "" && len(f.Sizes) < 2:
		return usagef("--plot needs at least two sizes in --events, found %d", len(f.Sizes))
	}
	if f.plot != "" {
		if _, err := endingOf("plot", f.plot, ".svg"); err != nil {
			return err
		}
	}
	if f.doc != "" {
		text, err := os.ReadFile(f.doc)
		if err != nil {
			return err
		}
		if _, err := section(string(text), ""); err != nil {
			return usagef("--doc %s: %v", f.doc, err)
		}
	}
	f.Rules = evalModels()
	return nil
}

// run measures all commands and shows each row as it comes.
func (f *scaleFlags) run(ctx context.Context, a *app) error {
	var out io.Writer = a.out
	if a.json {
		out = io.Discard
	}
	table, err := term.NewLive(out, term.StyleOf(out), []term.Column{term.Left("command"), term.Right("events"),
		term.Right("time"), term.Right("CPU time"), term.Right("memory")},
		"first step of "+slices.MaxFunc(f.Models, func(a, b string) int { return len(a) - len(b) }),
		"100,000,000", "1000.0 s", "1000.0 s", "1000.0 MiB")
	if err != nil {
		return err
	}
	stop := func() {}
	f.OnBegin = func(what string, events int) {
		stop()
		stop = a.console.Progress(fmt.Sprintf("%s, %s events", what, term.Count(events)), "").Working()
	}
	f.OnRow = func(row bench.ScaleRow) error {
		stop()
		if row.Problem != "" {
			return table.Remark(row.What, term.Count(row.Events)+" events: "+row.Problem)
		}
		return table.Row(row.What, term.Count(row.Events), secondsText(row.Seconds), secondsText(row.CPU),
			term.Bytes(row.Peak))
	}
	report, err := f.Run(ctx)
	stop()
	if err != nil {
		return err
	}
	if f.plot != "" {
		if err := replaceFile(f.plot, scalePicture(report).Write); err != nil {
			return err
		}
	}
	if f.doc != "" {
		if err := f.writeDoc(report); err != nil {
			return err
		}
	}
	return a.emit(report, func(w io.Writer, s term.Style) error { return writeScale(w, s, report) })
}

func secondsText(s float64) string { return fmt.Sprintf("%.1f s", s) }

// writeScale shows how costs grew.
func writeScale(w io.Writer, s term.Style, r *bench.ScaleReport) error {
	if len(r.Growth) == 0 {
		return nil
	}
	fmt.Fprint(w, "\nGrowth\n\n")
	t := term.NewTable(term.Left("command"), term.Right("events"), term.Right("time"), term.Right("CPU time"),
		term.Right("memory"))
	times := func(x float64) string { return fmt.Sprintf("× %.1f", x) }
	for _, g := range r.Growth {
		t.Row(g.What, term.Count(g.From)+" → "+term.Count(g.To), times(g.Seconds), times(g.CPU), times(g.Peak))
	}
	return t.Write(w, s)
}

// scalePicture draws time and memory against events, a line for each command.
func scalePicture(r *bench.ScaleReport) page.Picture {
	draw := func(value func(bench.ScaleRow) float64) page.Lines {
		var list []page.Series
		var x, y []float64
		for _, row := range r.Rows {
			v := value(row)
			if row.Problem != "" || v <= 0 {
				continue
			}
			i := slices.IndexFunc(list, func(s page.Series) bool { return s.Name == row.What })
			if i < 0 {
				i = len(list)
				list = append(list, page.Series{Name: row.What, Tone: page.First + page.Tone(i%3), Named: true})
			}
			list[i].Add(float64(row.Events)/1e6, v)
			x, y = append(x, float64(row.Events)/1e6), append(y, v)
		}
		if len(x) == 0 {
			return page.Lines{}
		}
		slices.Sort(x)
		x = slices.Compact(x)
		return page.Lines{Dots: true, Series: list,
			X: page.Axis{Name: "million events", Min: x[0], Max: x[len(x)-1], Log: true, Ticks: x},
			Y: page.Axis{Min: slices.Min(y) / 1.2, Max: 1.2 * slices.Max(y), Log: true}}
	}
	return page.Picture{
		{Title: "Time, seconds", Chart: draw(func(r bench.ScaleRow) float64 { return r.Seconds })},
		{Title: "Largest resident set, GiB",
			Chart: draw(func(r bench.ScaleRow) float64 { return float64(r.Peak) / (1 << 30) })},
	}
}

// Lines of a document between which the table stands.
const (
	scaleBegins = "<!-- bench scale -->"
	scaleEnds   = "<!-- end of bench scale -->"
)

// writeDoc replaces the table of a document.
func (f *scaleFlags) writeDoc(r *bench.ScaleReport) error {
	text, err := os.ReadFile(f.doc)
	if err != nil {
		return err
	}
	changed, err := section(string(text), scaleTable(r))
	if err != nil {
		return err
	}
	return replaceFile(f.doc, func(w io.Writer) error {
		_, err := io.WriteString(w, changed)
		return err
	})
}

// section puts a table between its two lines.
func section(text, table string) (string, error) {
	before, rest, begins := strings.Cut(text, scaleBegins+"\n")
	_, after, ends := strings.Cut(rest, scaleEnds)
	if !begins || !ends {
		return "", fmt.Errorf("the lines %q and %q are missing", scaleBegins, scaleEnds)
	}
	return before + scaleBegins + "\n" + table + scaleEnds + after, nil
}

// scaleTable is the report in Markdown.
func scaleTable(r *bench.ScaleReport) string {
	var b strings.Builder
	b.WriteString("| command | events | time | CPU time | memory | time × | memory × |\n" +
		"|---|--:|--:|--:|--:|--:|--:|\n")
	for _, row := range r.Rows {
		if row.Problem != "" {
			fmt.Fprintf(&b, "| %s | %s | %s | | | | |\n", row.What, term.Count(row.Events), row.Problem)
			continue
		}
		grew := " | "
		if g, ok := r.Grew(row); ok {
			grew = fmt.Sprintf("%.1f | %.1f", g.Seconds, g.Peak)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", row.What, term.Count(row.Events),
			secondsText(row.Seconds), secondsText(row.CPU), term.Bytes(row.Peak), grew)
	}
	return b.String()
}

// runPart is what a measured process does that is no command of its own: open a stream, or train until the first step.
func (f *scaleFlags) runPart(ctx context.Context, a *app) error {
	set, err := a.openSet(ctx, f.stream, "", "")
	if err != nil {
		return err
	}
	defer set.Close()
	switch f.part {
	case "open":
		_, err := fmt.Fprintf(a.out, "%d events\n", set.Log.Len())
		return err
	case bench.FirstStep:
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stepped := false
		o := dygmamba.TrainOptions{Model: f.Models[0], Set: set, Log: a.log(), OnStep: func(uint64, train.Step) {
			if !stepped {
				fmt.Fprintln(a.out, bench.FirstStep)
				stepped = true
				cancel()
			}
		}}
		if _, err := dygmamba.Train(ctx, o); !stepped || !errors.Is(err, context.Canceled) {
			return errors.Join(err, fmt.Errorf("%s ended without a step", f.Models[0]))
		}
		return nil
	}
	return usagef("no part %q", f.part)
}
