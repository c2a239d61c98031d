package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/await"
	"github.com/dygmamba/dygmamba/internal/term"
)

type checkDoc struct {
	Path     string         `json:"path"`
	Kind     string         `json:"kind"`
	OK       bool           `json:"ok"`
	Events   int            `json:"events"`
	Nodes    int            `json:"nodes"`
	Warnings []string       `json:"warnings,omitempty"`
	Problems []complaintDoc `json:"problems,omitempty"` // the first few of each kind
	Total    int            `json:"total_problems"`     // all of them
}

func newDataCheck(a *app) *cobra.Command {
	var dir string
	var o dataset.ImportOptions
	cmd := &cobra.Command{
		Use:               "check X",
		Short:             "Report all problems in a data set or table",
		Args:              takes("a data set or a file"),
		ValidArgsFunction: completeData(&dir),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := someProblems(o); err != nil {
				return err
			}
			var doc *checkDoc
			var found error
			if isTable(args[0]) {
				doc, found = a.checkTable(cmd.Context(), args[0], o)
			} else {
				doc, found = checkSet(cmd.Context(), args[0], dir, o.MaxProblems)
			}
			if doc == nil {
				return found
			}
			doc.Warnings = a.warn(doc.Warnings)
			if err := a.emit(doc, doc.write); err != nil {
				return err
			}
			return found
		},
	}
	addDataDir(cmd, &dir)
	addTableFlags(cmd, &o)
	return cmd
}

// isTable says whether a path is a file that has to be imported before it is a data set.
func isTable(path string) bool {
	info, err := os.Stat(path)
	if path == "-" {
		return true
	}
	base := strings.ToLower(strings.TrimSuffix(filepath.Base(path), ".gz"))
	return err == nil && info.Mode().IsRegular() && filepath.Ext(base) != ".dgm" && !strings.HasPrefix(base, "ml_")
}

// checkTable reads a table as data import would. The error is what it found wrong; there is no document if it could not
// read at all.
func (a *app) checkTable(ctx context.Context, path string, o dataset.ImportOptions) (*checkDoc, error) {
	doc := &checkDoc{Path: path, Kind: "table"}
	r, err := a.importTables(ctx, []string{path}, "", o)
	if err == nil {
		doc.OK, doc.Events, doc.Nodes, doc.Warnings = true, r.Events, r.Nodes, r.Warnings
		return doc, nil
	}
	var many *dataset.Problems
	if !errors.As(err, &many) {
		return nil, err
	}
	doc.Problems, doc.Total = complaints(err), many.Total
	return doc, err
}

// checkSet does the same with what is a data set already.
func checkSet(ctx context.Context, name, dir string, most int) (*checkDoc, error) {
	r, err := await.Do(ctx, func() (*dataset.CheckReport, error) {
		return dataset.Check(ctx, name, dataset.Options{DataDir: dir})
	})
	if err != nil {
		return nil, err
	}
	doc := &checkDoc{Path: r.Path, Kind: r.Kind, Events: r.Events, Nodes: r.Nodes, Warnings: r.Warnings,
		Total: r.Problems.Total}
	if r.Problems.Total == 0 {
		doc.OK = true
		return doc, nil
	}
	r.Problems.List = slices.Clip(r.Problems.List[:min(len(r.Problems.List), most)])
	doc.Problems = complaints(&r.Problems)
	return doc, &r.Problems
}

func (d *checkDoc) write(w io.Writer, s term.Style) error {
	if !d.OK {
		return nil // the problems are the error, on standard error
	}
	_, err := fmt.Fprintf(w, "%s: %s, %s, %s; %s\n",
		s.Strong(d.Path), d.Kind, term.Counted(d.Events, "event"), term.Counted(d.Nodes, "node"),
		s.Good("nothing wrong"))
	return err
}
