package train

import "testing"

// What a plan does not count must find room beside it: in a container of 400 MB nothing was left for it, and the
// training was killed.
func TestSpare(t *testing.T) {
	const mib = 1 << 20
	if spare(0) != 0 {
		t.Error("where nobody knows what is free, there is a limit")
	}
	if got := spare(10 * mib); got != 1 {
		t.Errorf("of hardly any memory %d bytes may be planned with", got)
	}
	for _, free := range []int64{100, 400, 1000, 20000} {
		if rest := free - spare(free*mib)/mib; rest < 40 || rest > 41+free/30 {
			t.Errorf("of %d MiB, %d are left", free, rest)
		}
	}
}
