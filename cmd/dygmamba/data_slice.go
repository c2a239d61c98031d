package main

import (
	"math"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
)

func newDataSlice(a *app) *cobra.Command {
	var dir, from, to, out string
	cmd := &cobra.Command{
		Use:   "slice X",
		Short: "Cut a stretch of time out of a data set",
		Long: `Writes the events of a data set that happened at --from or later and before --to as a .dgm file, or
in the ml_* layout if --out is a directory. Nodes keep their ids, names and features, also those without events there,
so that a model trained on the whole can be asked about the part; events are numbered anew. Times are written as in the
data: as numbers, or as dates.`,
		Example: `  dygmamba data slice visits.dgm --from 2024-05-01 --to 2024-06-01 --out may.dgm
  dygmamba data slice uci --to 4000000 --out early.dgm`,
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
				return usagef("nothing happened then; %s goes from %s to %s", set.Name,
					dataset.FormatTime(i.First, set.TimeFormat), dataset.FormatTime(i.Last, set.TimeFormat))
			}
			part.Name = tableName(out)
			return a.save(part, out)
		},
	}
	addDataDir(cmd, &dir)
	flags := cmd.Flags()
	flags.StringVar(&from, "from", "", "first `time` that belongs to it (default: the beginning)")
	flags.StringVar(&to, "to", "", "first `time` that no longer does (default: the end, and all that is there)")
	flags.StringVar(&out, "out", "", "`file` to write, or a directory for the ml_* layout")
	return cmd
}

// sliceTime reads an end of a stretch of time.
func sliceTime(flag, text string, set *dataset.Set, none float64) (float64, error) {
	if text == "" {
		return none, nil
	}
	at, format, err := dataset.ParseTime(text)
	if err != nil {
		return 0, usagef("--%s: %v", flag, err)
	}
	if format == dataset.TimeDate && set.TimeFormat != dataset.TimeDate {
		return 0, usagef("--%s is the date %s; times of %s are numbers", flag, text, set.Name)
	}
	return at, nil
}
