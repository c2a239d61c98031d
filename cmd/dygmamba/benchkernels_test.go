package main

import (
	"bytes"
	"testing"

	"github.com/dygmamba/dygmamba/internal/kernelbench"
	"github.com/dygmamba/dygmamba/internal/term"
)

func TestBenchKernels(t *testing.T) {
	program(t, "bench", "kernels", "--rounds", "0").want(t, exitUsage, "--rounds is 0, must be at least 1")
	program(t, "bench", "kernels", "extra").want(t, exitUsage)
	if testing.Short() {
		t.Skip("a full round of measurements takes seconds")
	}
	args := []string{"bench", "kernels", "--device", "cpu", "--threads", "2", "--rounds", "1", "--json"}
	r := decode[kernelbench.Report](t, program(t, args...).want(t, exitDone))
	if len(r.Devices) != 2 || len(r.Kernels) == 0 {
		t.Fatalf("report has %d devices and %d kernels, want 2 and some", len(r.Devices), len(r.Kernels))
	}
	var page bytes.Buffer
	if err := writeKernels(&page, term.StyleOf(&page), r); err != nil {
		t.Fatal(err)
	}
	result{out: page.String()}.shows(t, kernelbench.Peak, "LayerNorm", "M=25600 K=400 N=100", "speed-up",
		"scan and gradient")
}
