package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/internal/servebench"
	"github.com/dygmamba/dygmamba/internal/term"
)

// onGPU is how far two logits may lie apart on a GPU, where sums have no fixed order.
const onGPU = 1e-4

func newServeVerify(a *app) *cobra.Command {
	var s serving
	var from, checks int
	var disturb bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check that the server answers as the library does offline",
		Args:  takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case from < 0:
				return usagef("--from is %d, must be at least 0", from)
			case !disturb && (s.retain != "" || cmd.Flags().Changed("checks")):
				return usagef("--retain and --checks belong to --disturb, which is missing")
			case checks < 1:
				return usagef("--checks is %d, must be at least 1", checks)
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
			how := servebench.Verification{Set: o.set, Checkpoint: o.files[0], From: from, Load: o.load,
				OnEvent: func(done, total int) { progress.Set(int64(done), int64(total), "") }}
			var verdict servebench.Verdict
			if disturb {
				verdict, err = verifyDisturbed(cmd.Context(), how, s.retain, checks)
			} else {
				verdict, err = servebench.Verify(cmd.Context(), how)
			}
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
	cmd.Flags().BoolVar(&disturb, "disturb", false,
		"with late events, restarts, reloads and old events that are dropped; --from is then a quarter of the events")
	cmd.Flags().StringVar(&s.retain, "retain", "",
		"with --disturb: `period` for which events are kept (default: a quarter of the time span)")
	cmd.Flags().IntVar(&checks, "checks", 12, "with --disturb: number of times that answers are compared")
	return cmd
}

// verifyDisturbed verifies a server with a store of its own, which is removed afterwards.
func verifyDisturbed(ctx context.Context, how servebench.Verification, retain string, checks int) (v servebench.Verdict,
	err error) {
	d := servebench.Disturbed{Verification: how, Checks: checks}
	if d.From == 0 {
		d.From = max(1, how.Set.Log.Len()/4)
	}
	if retain != "" {
		p, err := parsePeriod("--retain", retain)
		if err == nil {
			d.Retain, err = p.in(how.Set)
		}
		if err != nil {
			return v, err
		}
	}
	dir, err := os.MkdirTemp("", "dygmamba-verify-")
	if err != nil {
		return v, err
	}
	defer os.RemoveAll(dir)
	d.Dir = filepath.Join(dir, "store")
	return servebench.VerifyDisturbed(ctx, d)
}

func writeVerdict(w io.Writer, v servebench.Verdict) error {
	how := "equal to the last bit"
	if v.Different > 0 {
		how = fmt.Sprintf("%s of them differ, by up to %g", term.Count(v.Different), v.Largest)
	}
	if d := v.Disturbed; d != nil {
		_, err := fmt.Fprintf(w, "%s: %s events at the start, %s replayed, %s of them late, %s new nodes, "+
			"%d restarts, %d reloads, %d cuts, %s events dropped; %s answers, %s; %.1f s\n", v.Model,
			term.Count(v.Events), term.Count(v.Replayed), term.Count(d.Late), term.Count(d.NewNodes), d.Restarts,
			d.Reloads, d.Cuts, term.Count(d.Dropped), term.Count(v.Queries), how, v.Seconds)
		return err
	}
	measure := fmt.Sprintf("AP %.2f %%", 100*v.AP)
	if v.WhoBits > 0 {
		measure = fmt.Sprintf("%.3f bits per event", v.WhoBits)
	}
	_, err := fmt.Fprintf(w, "%s: %s events at the start, %s replayed; %s answers, %s; %s, %.1f s\n", v.Model,
		term.Count(v.Events), term.Count(v.Replayed), term.Count(v.Queries), how, measure, v.Seconds)
	return err
}
