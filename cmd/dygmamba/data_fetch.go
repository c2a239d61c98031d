package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/term"
)

// fetchDoc is the document of data fetch.
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
