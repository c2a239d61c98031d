package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/run"
)

func TestSummaryNamesUnitsAndPlace(t *testing.T) {
	set, err := dataset.Periodic(dataset.PeriodicOptions{Events: 100})
	if err != nil {
		t.Fatal(err)
	}
	sum := run.Summary{Runs: make([]run.Result, 1), Results: make([]run.MeanStd, 1)}
	for dir, kept := range map[string]bool{"": false, "runs/visits": true} {
		var b strings.Builder
		if err := writeSummary(&b, term.Style{}, set, dir, sum); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "saved in") != kept || !strings.Contains(b.String(), dir) ||
			!strings.Contains(b.String(), "in percent") {
			t.Errorf("with directory %q:\n%s", dir, b.String())
		}
	}
}

// A line of an epoch of the task next shows no bits of first meetings where there are none.
func TestEpochWithoutFirstMeetings(t *testing.T) {
	for share, want := range map[float64]string{0: "first meetings –)", 0.25: "first meetings 3.000)"} {
		var log bytes.Buffer
		w := &watcher{app: newApp(nil, nil, &log)}
		w.epoch(0, run.Epoch{Epoch: 1, Next: &eval.Next{WhoBits: 2, Returning: 2, First: 3, Share: share}})
		if !strings.Contains(log.String(), want) {
			t.Errorf("a share of %v of first meetings: %q, want %q", share, log.String(), want)
		}
	}
}
