package model

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dygmamba/dygmamba/sample"
)

func TestPadding(t *testing.T) {
	row := sample.Draw{Neighbors: 9, Target: sample.TargetFirst}
	fixed, open := row, row
	fixed.RowLen, open.RowMultiple = 12, 4
	for padding, want := range map[Padding]struct {
		plan  sample.Plan
		lines int // of conditions, and of notes
	}{
		PadFixed: {sample.Plan{Draws: sample.Both(fixed)}, 0},
		PadCall:  {sample.Plan{Draws: sample.Both(open), ByCall: true}, 1},
	} {
		if diff := cmp.Diff(want.plan, padding.Plan(row, 10, 4)); diff != "" {
			t.Errorf("%s: %s", padding, diff)
		}
		if n, m := len(padding.Conditions()), len(padding.Notes()); n != want.lines || m != want.lines {
			t.Errorf("%s: %d conditions and %d notes, want %d", padding, n, m, want.lines)
		}
		if err := padding.Check(); err != nil {
			t.Error(err)
		}
	}
	if err := Padding("some").Check(); err == nil || err.Error() != `padding is "some", must be "fixed" or "call"` {
		t.Error(err)
	}
}
