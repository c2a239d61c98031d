package main

import (
	"math"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
)

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
					dataset.FormatTime(i.First, set.TimeFormat), dataset.FormatTime(i.Last, set.TimeFormat))
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
	at, format, err := dataset.ParseTime(text)
	if err != nil {
		return 0, usagef("--%s: %v", flag, err)
	}
	if format == dataset.TimeDate && set.TimeFormat != dataset.TimeDate {
		return 0, usagef("--%s is the date %s; times of %s are numbers", flag, text, set.Name)
	}
	return at, nil
}
