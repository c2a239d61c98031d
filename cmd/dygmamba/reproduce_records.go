package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/internal/atomicfile"
	"github.com/dygmamba/dygmamba/internal/study"
	"github.com/dygmamba/dygmamba/internal/term"
)

func newReproduceList(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the tables and figures of the paper",
		Args:  takes(),
		RunE: func(*cobra.Command, []string) error {
			list := study.Exhibits()
			return a.emit(map[string]any{"exhibits": list}, func(w io.Writer, s term.Style) error {
				t := term.NewTable(term.Left("name"), term.Left("in the paper"), term.Left("shows"))
				for _, e := range list {
					t.Row(e.ID, e.Number, e.Title)
				}
				return t.Write(w, s)
			})
		},
	}
}

func newReproduceRuns(a *app) *cobra.Command {
	var paths []string
	var out string
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "Print every recorded run beside the paper's numbers",
		Args:  takes(),
		RunE: func(*cobra.Command, []string) error {
			write, err := documentTo(out)
			if err != nil {
				return err
			}
			var records []study.Record
			for _, path := range paths {
				list, err := study.ReadRecords(path)
				if err != nil {
					return &inputError{err}
				}
				records = append(records, list...)
			}
			doc := study.Document{Title: "Every run", Parts: study.Runs(records)}
			if out != "" {
				return write(doc)
			}
			return a.emit(map[string]any{"runs": doc.Parts}, func(w io.Writer, _ term.Style) error {
				return doc.Write(w, ".md")
			})
		},
	}
	cmd.Flags().StringSliceVar(&paths, "runs", []string{"results"}, "`paths` of runs and records")
	cmd.Flags().StringVar(&out, "out", "", "`file` to write: .html, .md, .csv, .json or .tex (default: print)")
	return cmd
}

// documentTo writes documents to a file in the format of its ending, or nowhere without a file.
func documentTo(out string) (func(study.Document) error, error) {
	if out == "" {
		return func(study.Document) error { return nil }, nil
	}
	ending, err := endingOf("out", out, study.Formats...)
	return func(d study.Document) error {
		return atomicfile.Write(out, func(w io.Writer) error { return d.Write(w, ending) })
	}, err
}

func newReproduceRecord(a *app) *cobra.Command {
	var into string
	cmd := &cobra.Command{
		Use:   "record RUN…",
		Short: "Add runs to the records that tables are made from",
		Args:  atLeast(1, "reproduce record needs the directory of a run"),
		RunE: func(_ *cobra.Command, args []string) error {
			names, err := study.AddRecords(into, args...)
			if errors.Is(err, study.ErrRecord) {
				return &inputError{err}
			}
			if err != nil {
				return err
			}
			return a.emit(map[string]any{"into": into, "recorded": names}, func(w io.Writer, _ term.Style) error {
				for _, name := range names {
					fmt.Fprintln(w, name)
				}
				_, err := fmt.Fprintf(w, "%s added to %s\n", term.Count(len(names)), into)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&into, "into", "results", "`directory` of the records")
	return cmd
}
