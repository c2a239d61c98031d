package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/term"
)

// writtenDoc is the document of commands that make a data set.
type writtenDoc struct {
	File   string `json:"file"`
	Name   string `json:"name"`
	Nodes  int    `json:"nodes"`
	Events int    `json:"events"`
	Hash   string `json:"hash"`
}

func newDataSynth(a *app) *cobra.Command {
	var out string
	var o dataset.SynthOptions
	cmd := &cobra.Command{
		Use:       "synth s1|s2|s3|habits",
		Short:     "Generate a data set with patterns in time",
		Args:      takes("a name: s1, s2, s3 or habits"),
		ValidArgs: dataset.SynthNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			name := strings.ToLower(args[0])
			for flag, of := range map[string]*string{"ids": &o.IDs, "first-gap": &o.FirstGap} {
				if !cmd.Flags().Changed(flag) {
					*of = ""
				}
			}
			if !cmd.Flags().Changed("pairs") {
				o.Pairs = 0
			}
			if err := oneOf("name", name, dataset.SynthNames...); err != nil {
				return usagef("no generated data set %q; there are %s", args[0], strings.Join(dataset.SynthNames, ", "))
			}
			set, err := dataset.Synth(name, o)
			if err != nil {
				return usagef("%v", err)
			}
			if out == "" {
				out = filepath.Join("data", name+".dgm")
			}
			return a.save(set, out)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&out, "out", "", "file to write, or a directory for the ml_* layout (default: data/<name>.dgm)")
	flags.Uint64Var(&o.Seed, "seed", 0, "random seed")
	flags.IntVar(&o.Pairs, "pairs", 49,
		"number of pairs of the seven nodes: 49 with self-pairs, 42 without, 21 unordered")
	flags.StringVar(&o.IDs, "ids", dataset.IDsShared,
		"'shared': seven nodes, each both source and destination; 'separate': seven of each")
	flags.StringVar(&o.FirstGap, "first-gap", dataset.GapCents, "first gap of a pair: 'real', 'cents' or 'integer'")
	completeWith(cmd, "ids", dataset.IDsShared, dataset.IDsSeparate)
	completeWith(cmd, "first-gap", dataset.GapReal, dataset.GapCents, dataset.GapInteger)
	return cmd
}

// save writes a data set, to a native file or, if out is a directory or ends like one, in the ml_* layout.
func (a *app) save(set *dataset.Set, out string) error {
	info, err := os.Stat(out)
	write := dataset.Save
	if err == nil && info.IsDir() || strings.HasSuffix(out, "/") || strings.HasSuffix(out, string(filepath.Separator)) {
		write = dataset.SaveDyGLib
	} else if err := os.MkdirAll(filepath.Dir(out), 0o777); err != nil {
		return err
	}
	if err := write(out, set); err != nil {
		return err
	}
	doc := writtenDoc{out, set.Name, set.NumNodes() - 1, set.Log.Len(), set.Hash()}
	return a.emit(doc, func(w io.Writer, s term.Style) error {
		_, err := fmt.Fprintf(w, "wrote %s: %s events between %s nodes\n",
			s.Strong(doc.File), term.Count(doc.Events), term.Count(doc.Nodes))
		return err
	})
}
