package main

import (
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
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
