package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/internal/servebench"
	"github.com/dygmamba/dygmamba/internal/term"
)

// onGPU is how far two logits may lie apart on a GPU, where sums have no fixed order.
const onGPU = 1e-4

func newServeVerify(a *app) *cobra.Command {
	var s serving
	var from int
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check that the server answers as the library does offline",
		Args:  takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from < 0 {
				return usagef("--from is %d, must be at least 0", from)
			}
			if err := checkOrder(s.order); err != nil {
				return err
			}
			o, err := s.open(cmd.Context(), a)
			if err != nil {
				return err
			}
			defer o.close()
			if n := o.set.Log.Len(); from >= n {
				return usagef("--from is %d, the data set has %d events: there is nothing to replay", from, n)
			}
			progress := a.console.Progress("verify", "events")
			defer progress.Done()
			verdict, err := servebench.Verify(cmd.Context(), servebench.Verification{
				Set: o.set, Checkpoint: o.files[0], From: from, Load: o.load,
				OnEvent: func(done, total int) { progress.Set(int64(done), int64(total), "") },
			})
			if err != nil {
				return loadError(err)
			}
			progress.Done()
			within := 0.0
			if _, cpu := o.dev.(device.Threaded); !cpu {
				within = onGPU
			}
			err = a.emit(verdict, func(w io.Writer, _ term.Style) error { return writeVerdict(w, verdict) })
			if err == nil && !verdict.Same(within) {
				err = fmt.Errorf("%d of %d answers differ, by up to %g: %s",
					verdict.Different, verdict.Queries, verdict.Largest, verdict.First)
			}
			return err
		},
	}
	s.loadFlags.add(cmd, modelNames)
	cmd.Flags().IntVar(&from, "from", 0,
		"number of events that the server starts with (default: all before the last 15 % of the time span)")
	return cmd
}

func writeVerdict(w io.Writer, v servebench.Verdict) error {
	how := "equal to the last bit"
	if v.Different > 0 {
		how = fmt.Sprintf("%s of them differ, by up to %g", term.Count(v.Different), v.Largest)
	}
	_, err := fmt.Fprintf(w, "%s: %s events at the start, %s replayed; %s answers, %s; AP %.2f %%, %.1f s\n", v.Model,
		term.Count(v.Events), term.Count(v.Replayed), term.Count(v.Queries), how, 100*v.AP, v.Seconds)
	return err
}
