package main

import "github.com/spf13/cobra"

func newBench(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure this machine: kernels, whole steps, long histories, the server",
		Example: `  dygmamba bench kernels
  dygmamba bench step --data uci
  dygmamba bench neighbors --data enron --preset paper`,
		Args: knownCommand,
		RunE: func(*cobra.Command, []string) error {
			return usagef("bench needs a command: kernels, step, neighbors or serve")
		},
	}
	cmd.AddCommand(newBenchKernels(a), newBenchStep(a), newBenchNeighbors(a), newBenchServe(a))
	return cmd
}
