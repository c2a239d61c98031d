package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/audit"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/atomicfile"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/run"
)

func newCompare(a *app) *cobra.Command {
	var from loadFlags
	var scenario, negatives, out string
	cmd := &cobra.Command{
		Use:   "compare RUN RUN…",
		Short: "Set runs side by side, with paired differences per batch",
		Long: `Asks two or more runs the same questions of the same test once more and compares them batch by batch: ` +
			`the mean
difference in AP to the first run, in how many batches each is better, and how often chance alone would give as much
(p, by flipping signs of the differences 20,000 times). Batches follow each other in time and are not independent:
p speaks about this test, not about other seeds or other data.

--out writes a page with the curves of all runs over each other: validation AP of every epoch, and the AP of every batch
of the test.`,
		Example: `  dygmamba compare runs/uci-dygmamba runs/uci-tgat
  dygmamba compare runs/uci-dygmamba runs/uci-tgat --out compared.html
  dygmamba compare runs/uci/seed-0 runs/uci/seed-1 --negatives historical --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usagef("compare needs the directories of two runs or more, found %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := from.where.check(); err != nil {
				return err
			}
			if err := oneOf("setting", scenario, eval.Scenarios()...); err != nil {
				return err
			}
			if err := oneOf("negatives", negatives, eval.Strategies()...); err != nil {
				return err
			}
			if out != "" {
				if err := writable("out", out); err != nil {
					return err // before measuring, which may take long
				}
			}
			doc, err := a.compare(cmd.Context(), args, scenario, negatives, from)
			if err != nil {
				return err
			}
			if out != "" {
				if err := atomicfile.Write(out, doc.WritePage); err != nil {
					return err
				}
			}
			return a.emit(doc, doc.write)
		},
	}
	from.addRecorded(cmd)
	cmd.Flags().StringVar(&scenario, "setting", eval.Transductive, "transductive or inductive")
	cmd.Flags().StringVar(&negatives, "negatives", eval.Random, "random, historical or inductive")
	cmd.Flags().StringVar(&out, "out", "", "`file` for a page with the curves of all runs over each other")
	completeWith(cmd, "setting", eval.Scenarios()...)
	completeWith(cmd, "negatives", eval.Strategies()...)
	return cmd
}

type compareDoc struct{ audit.Comparison }

func (a *app) compare(
	ctx context.Context, paths []string, scenario, negatives string, from loadFlags,
) (doc compareDoc, err error) {
	doc.Scenario, doc.Negatives = scenario, negatives
	var dirs []string
	for _, path := range paths {
		dir, err := oneRun(path)
		if err != nil {
			return doc, err
		}
		dirs = append(dirs, dir)
	}
	o, err := a.openRun(ctx, from, filepath.Join(dirs[0], run.CheckpointFile))
	if err != nil {
		return doc, err
	}
	defer o.close()
	for i, dir := range dirs {
		c, err := audit.Ask(ctx, dir, scenario, negatives, o.load)
		if errors.Is(err, audit.ErrTask) {
			return doc, usagef("%v", err)
		}
		if err != nil {
			return doc, err
		}
		doc.Runs = append(doc.Runs, c)
		if i > 0 {
			d, err := c.Against(doc.Runs[0])
			if err != nil {
				return doc, &inputError{err}
			}
			doc.Differences = append(doc.Differences, d)
		}
	}
	return doc, nil
}

func (d compareDoc) write(w io.Writer, s term.Style) error {
	table := term.NewTable(term.Left("run"), term.Left("model"), term.Right("AP"), term.Right("AUC"),
		term.Right("difference"), term.Right("better in"), term.Right("p"))
	for i, r := range d.Runs {
		cells := []string{r.Run, r.Model, term.Percent(r.AP), term.Percent(r.AUC), "", "", ""}
		if i > 0 {
			x := d.Differences[i-1]
			cells[4], cells[6] = fmt.Sprintf("%+.2f", 100*x.AP), x.Chance()
			cells[5] = fmt.Sprintf("%d of %d", x.Better, x.Batches)
		}
		table.Row(cells...)
	}
	if err := table.Write(w, s); err != nil {
		return err
	}
	for _, r := range d.Runs {
		for _, c := range r.Conditions {
			fmt.Fprintf(w, "\n%s: %s", r.Run, c)
		}
	}
	_, err := fmt.Fprintf(w, "\n%s, %s negatives, in percent; differences to the first run, batch by batch\n",
		d.Scenario, d.Negatives)
	return err
}
