package cawn

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCountsStartOver runs the table's rounds over their end, and lets it grow: nothing of an earlier round is left.
func TestCountsStartOver(t *testing.T) {
	var c counts
	for _, most := range []int{2, 2, 40, 2} {
		c.now = ^uint32(0) - 2
		for range 5 {
			c.begin(most, 2)
			c.add(7, 0, 1)
			c.add(1<<30, 1, 0)
			c.add(7, 0, 1)
			c.add(7, 1, 0)
			c.add(0, 0, 0)
			if diff := cmp.Diff([]int32{0, 2, 1, 0}, c.of(7)); diff != "" {
				t.Fatalf("round %d: %s", c.now, diff)
			}
			if diff := cmp.Diff([]int32{0, 0, 1, 0}, c.of(1<<30)); diff != "" {
				t.Fatalf("round %d: %s", c.now, diff)
			}
		}
	}
	c.begin(1000, 2)
	for n := range int32(1000) {
		c.add(n+1, int(n%2), 0)
	}
	for n := range int32(1000) {
		if got := c.of(n + 1)[2*(n%2)]; got != 1 {
			t.Fatalf("node %d was counted %d times", n+1, got)
		}
	}
}
