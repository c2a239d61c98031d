package main

import (
	"slices"
	"testing"
)

func TestSeeds(t *testing.T) {
	f := runFlags{seed: 3, runs: 2}
	if seeds, err := f.seeds(); err != nil || !slices.Equal(seeds, []uint64{3, 4}) {
		t.Errorf("got %v, %v", seeds, err)
	}
	f.runs = 0
	if _, err := f.seeds(); err == nil {
		t.Error("no runs: want an error")
	}
}

func TestDeviceFlags(t *testing.T) {
	f := deviceFlags{name: "cpu"}
	if err := f.check(); err != nil || f.threads < 1 {
		t.Errorf("threads %d, %v", f.threads, err)
	}
	for _, bad := range []deviceFlags{{name: "tpu"}, {name: "cpu", threads: -1}, {name: "cpu", threads: 100000}} {
		if err := bad.check(); err == nil {
			t.Errorf("%+v: want an error", bad)
		}
	}
}
