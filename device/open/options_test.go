package open

import "testing"

func TestOnlyExactDevicesDoNotRound(t *testing.T) {
	if usual, exact := (Options{}).gpu(), (Options{Exact: true}).gpu(); !usual.TF32 || exact.TF32 {
		t.Errorf("rounds: %v, exact: %v", usual.TF32, exact.TF32)
	}
}
