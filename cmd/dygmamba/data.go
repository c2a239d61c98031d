package main

import "github.com/spf13/cobra"

func newData(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "data",
		Short: "List, inspect, check, import, extend, export, cut, generate and download data sets",
		Long: `A data set is a stream of timed interactions, with features, labels and names where there are any. It is

  a name          found in --data-dir, ./data or the user's cache, as <name>/ml_<name>.csv[.gz] or <name>.dgm
  a directory     in that layout: ml_<name>.csv, ml_<name>.npy, ml_<name>_node.npy, each plain or gzip-compressed
  a .dgm file     made by 'data import' or 'data synth'`,
		Example: `  dygmamba data list
  dygmamba data import visits.csv --src who --dst what --time when
  dygmamba data info visits.dgm`,
		Args: knownCommand,
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
