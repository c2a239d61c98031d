package main

import "github.com/spf13/cobra"

func newBench(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure this machine: kernels, gathering, whole steps",
		Example: `  dygmamba bench kernels
  dygmamba bench step --data uci`,
		Args: knownCommand,
		RunE: func(*cobra.Command, []string) error { return usagef("bench needs a command: kernels or step") },
	}
	cmd.AddCommand(newBenchKernels(a), newBenchStep(a))
	return cmd
}
