package main

import "github.com/spf13/cobra"

func newData(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "data",
		Short: "Import, inspect, check, extend, export, generate and download data sets",
		Args:  knownCommand,
		RunE: func(*cobra.Command, []string) error {
			return usagef("data needs a command: list, info, check, import, append, export, slice, synth or fetch")
		},
	}
	cmd.AddCommand(
		newDataList(a),
		newDataInfo(a),
		newDataCheck(a),
		newDataImport(a),
		newDataAppend(a),
		newDataExport(a),
		newDataSlice(a),
		newDataSynth(a),
		newDataFetch(a),
	)
	return cmd
}
