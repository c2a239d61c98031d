package main

import "github.com/spf13/cobra"

func newBench(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure kernels, steps, epochs, long histories, large streams, rankings, ranks and the server",
		Args:  knownCommand,
		RunE: func(*cobra.Command, []string) error {
			return usagef("bench needs a command: kernels, step, epoch, neighbors, scale, rank, ranks or serve")
		},
	}
	cmd.AddCommand(newBenchKernels(a), newBenchStep(a), newBenchEpoch(a), newBenchNeighbors(a), newBenchScale(a),
		newBenchRank(a), newBenchRanks(a), newBenchServe(a))
	return cmd
}
