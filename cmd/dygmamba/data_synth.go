package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
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
	var shop dataset.ShopOptions
	names := append(slices.Clone(dataset.SynthNames), dataset.ShopName)
	cmd := &cobra.Command{
		Use:       "synth " + strings.Join(names, "|"),
		Short:     "Generate a data set with patterns in time",
		Args:      takes("a name: s1, s2, s3, habits, hawkes or shop"),
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			name := strings.ToLower(args[0])
			if err := oneOf("name", name, names...); err != nil {
				return usagef("no generated data set %q; there are %s", args[0], strings.Join(names, ", "))
			}
			if out == "" {
				out = filepath.Join("data", name+".dgm")
			}
			others := shopFlags
			if name == dataset.ShopName {
				others = paperFlags
			}
			for _, flag := range others {
				if cmd.Flags().Changed(flag) {
					return usagef("--%s cannot be used with %s", flag, name)
				}
			}
			if name == dataset.ShopName {
				shop.Seed = o.Seed
				return a.synthShop(cmd.Context(), out, shop)
			}
			for flag, of := range map[string]*string{"ids": &o.IDs, "first-gap": &o.FirstGap} {
				if !cmd.Flags().Changed(flag) {
					*of = ""
				}
			}
			if !cmd.Flags().Changed("pairs") {
				o.Pairs = 0
			}
			set, err := dataset.Synth(name, o)
			if err != nil {
				return usagef("%v", err)
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
	flags.IntVar(&shop.Events, "events", 1_000_000, "shop: number of events")
	flags.IntVar(&shop.Users, "users", 0, "shop: number of users (default: one for every 25 events)")
	flags.IntVar(&shop.Items, "items", 0, "shop: number of items (default: one for every 100 events)")
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
	return a.written(set, out)
}

// written says what was written.
func (a *app) written(set *dataset.Set, out string) error {
	doc := writtenDoc{out, set.Name, set.NumNodes() - 1, set.Log.Len(), set.Hash()}
	return a.emit(doc, func(w io.Writer, s term.Style) error {
		_, err := fmt.Fprintf(w, "wrote %s: %s between %s\n",
			s.Strong(doc.File), term.Counted(doc.Events, "event"), term.Counted(doc.Nodes, "node"))
		return err
	})
}

func newDataSlice(a *app) *cobra.Command {
	var dir, from, to, out string
	cmd := &cobra.Command{
		Use:               "slice X",
		Short:             "Write the events of a time range as a new data set",
		Args:              takes("a data set"),
		ValidArgsFunction: completeData(&dir),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case from == "" && to == "":
				return usagef("%s needs --from, --to or both", cmd.CommandPath())
			case out == "":
				return usagef("--out is missing: the .dgm file to write")
			case sameFile(args[0], out):
				return usagef("--out %s is the data set itself", out)
			}
			set, err := a.openSet(cmd.Context(), args[0], dir, "")
			if err != nil {
				return err
			}
			defer set.Close()
			begin, err := sliceTime("from", from, set, math.Inf(-1))
			if err != nil {
				return err
			}
			end, err := sliceTime("to", to, set, math.Inf(1))
			if err != nil {
				return err
			}
			if begin >= end {
				return usagef("--from %s is not before --to %s", from, to)
			}
			part := dataset.Slice(set, begin, end)
			if part.Log.Len() == 0 {
				i := dataset.Stats(set)
				return usagef("no events in this time range; %s goes from %s to %s", set.Name,
					set.Clock().Show(i.First), set.Clock().Show(i.Last))
			}
			part.Name = tableName(out)
			return a.save(part, out)
		},
	}
	addDataDir(cmd, &dir)
	flags := cmd.Flags()
	flags.StringVar(&from, "from", "", "`time` of the first event to include (default: the first event)")
	flags.StringVar(&to, "to", "", "end `time`; events at or after it are excluded (default: include the last event)")
	flags.StringVar(&out, "out", "", "`file` to write, or a directory for the ml_* layout")
	return cmd
}

// sliceTime reads an end of a stretch of time.
func sliceTime(flag, text string, set *dataset.Set, none float64) (float64, error) {
	if text == "" {
		return none, nil
	}
	at, err := set.Clock().Parse(text)
	if err != nil {
		return 0, usagef("--%s: %v", flag, err)
	}
	return at, nil
}
