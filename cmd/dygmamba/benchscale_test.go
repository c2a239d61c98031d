package main

import (
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/internal/bench"
	"github.com/dygmamba/dygmamba/internal/page"
)

var twoSizes = &bench.ScaleReport{
	Rows: []bench.ScaleRow{
		{What: "info", Events: 1000, Seconds: 1, CPU: 1, Peak: 1 << 30},
		{What: "eval", Events: 1000, Problem: "stopped after 1s"},
		{What: "info", Events: 4000, Seconds: 4, CPU: 5, Peak: 3 << 30},
	},
	Growth: []bench.ScaleGrowth{{What: "info", From: 1000, To: 4000, Seconds: 4, CPU: 5, Peak: 3}},
}

func TestScalePicture(t *testing.T) {
	for _, figure := range scalePicture(twoSizes) {
		chart := figure.Chart.(page.Lines)
		if chart.X.Min != 0.001 || chart.X.Max != 0.004 || len(chart.X.Ticks) != 2 || len(chart.Series) != 1 {
			t.Errorf("%s: from %v to %v with ticks %v and %d lines", figure.Title, chart.X.Min, chart.X.Max,
				chart.X.Ticks, len(chart.Series))
		}
	}
}

func TestScaleSection(t *testing.T) {
	text, err := section("a\n"+scaleBegins+"\nold\n"+scaleEnds+"\nb\n", scaleTable(twoSizes))
	if err != nil || !strings.HasPrefix(text, "a\n") || !strings.HasSuffix(text, scaleEnds+"\nb\n") ||
		strings.Contains(text, "old") || !strings.Contains(text, "| 4,000 | 4.0 s | 5.0 s | 3.0 GiB | 4.0 | 3.0 |") ||
		!strings.Contains(text, "| eval | 1,000 | stopped after 1s |") {
		t.Errorf("%s, error %v", text, err)
	}
	if _, err := section("nothing", ""); err == nil {
		t.Error("a document without its lines was accepted")
	}
}

// A training that is measured ends at its first step.
func TestScaleParts(t *testing.T) {
	program(t, "bench", "scale", "--part", bench.FirstStep, "--stream", "s1").want(t, exitDone).
		shows(t, bench.FirstStep)
	program(t, "bench", "scale", "--part", "open", "--stream", "s1").want(t, exitDone).shows(t, " events")
	program(t, "bench", "scale", "--events", "10,5").want(t, exitUsage)
}
