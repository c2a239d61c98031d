package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/term"
)

type listDoc struct {
	Data []dataset.Listing `json:"data"`
}

func newDataList(a *app) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the named data sets and where they are stored",
		Args:  takes(),
		RunE: func(*cobra.Command, []string) error {
			doc := listDoc{dataset.List(dataset.Options{DataDir: dir})}
			return a.emit(doc, doc.write)
		},
	}
	addDataDir(cmd, &dir)
	return cmd
}

func (d listDoc) write(w io.Writer, s term.Style) error {
	t := term.NewTable(term.Left("name"), term.Left("kind"), term.Right("nodes"), term.Right("events"),
		term.Right("features"), term.Left("duration"), term.Left("here"))
	for i, l := range d.Data {
		if i > 0 && d.Data[i-1].Kind != l.Kind {
			t.Gap()
		}
		cells := []string{l.Name, l.Kind, term.Count(l.Nodes), term.Count(l.Events), fmt.Sprint(l.EdgeFeatures),
			l.Duration, listedPlace(l)}
		if l.Path != "" {
			t.Mark(cells...)
		} else {
			t.Row(cells...)
		}
	}
	if err := t.Write(w, s); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n  %s\n",
		s.Dim("'dygmamba data fetch NAME' downloads one; 'dygmamba data import FILE' creates one from your own table"))
	return err
}

func listedPlace(l dataset.Listing) string {
	switch {
	case l.Generated:
		return "generated when used"
	case l.Path == "":
		return "–"
	case len(l.Missing) > 0:
		return filepath.Dir(l.Path) + ", not all features"
	}
	return filepath.Dir(l.Path)
}

// dataNames are the names of data sets that can be used now.
func dataNames(dir string) []string {
	var names []string
	for _, l := range dataset.List(dataset.Options{DataDir: dir}) {
		if l.Path != "" || l.Generated {
			names = append(names, l.Name)
		}
	}
	return names
}

// completeData offers names and files for an argument that is a data set.
func completeData(dir *string) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return slices.Clip(dataNames(*dir)), cobra.ShellCompDirectiveDefault
	}
}

type fetchDoc dataset.FetchReport

func newDataFetch(a *app) *cobra.Command {
	var o dataset.FetchOptions
	cmd := &cobra.Command{
		Use:   "fetch NAME",
		Short: "Download a public data set",
		Args:  takes("the name of a data set, as 'dygmamba data list' shows it"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return dataset.CatalogNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			progress := a.console.Progress("fetch "+args[0], "bytes")
			defer progress.Done()
			o.Progress = func(p dataset.FetchProgress) { progress.Set(p.Done, p.Total, p.File) }
			r, err := dataset.Fetch(cmd.Context(), args[0], o)
			if err != nil {
				return err
			}
			progress.Done()
			doc := fetchDoc(*r)
			return a.emit(doc, doc.write)
		},
	}
	addDataDir(cmd, &o.Dir)
	cmd.Flags().StringVar(&o.BaseURL, "from", "",
		"URL or local directory that has NAME.zip (default: the public archive)")
	cmd.Flags().BoolVar(&o.Again, "again", false, "download it even if it is here already")
	return cmd
}

func (d fetchDoc) write(w io.Writer, s term.Style) error {
	if d.Here {
		_, err := fmt.Fprintf(w, "%s is already in %s\n", s.Strong(d.Name), d.Dir)
		return err
	}
	fmt.Fprintf(w, "fetched %s to %s\n\n", s.Strong(d.Name), d.Dir)
	t := term.NewTable(term.Left("file"), term.Right("size"), term.Left("sha256"), term.Left("checksum"))
	for _, f := range d.Files {
		checked := "recorded"
		if f.Pinned {
			checked = "as known"
		}
		t.Row(f.Name, term.Bytes(f.Bytes), f.SHA256, checked)
	}
	return t.Write(w, s)
}
