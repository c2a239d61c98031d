package modeltest

import (
	"testing"

	"github.com/dygmamba/dygmamba/model"
)

// Conform holds an entry of the catalogue to what every model promises, and every rule as far as it concerns one. It
// tries small sizes on a short stream, on the CPU or on the device that DYGMAMBA_TEST_DEVICE names. A new model need
// not be known here: sizes are found among its settings, and made small.
func Conform(t *testing.T, name string, f model.Factory) {
	e := newEntry(t, name, f)
	for _, p := range promises {
		t.Run(p.name, func(t *testing.T) { p.check(t, e) })
	}
}

// promise is something that every entry of the catalogue keeps.
type promise struct {
	name  string
	check func(t testing.TB, e *entry)
}

var promises = []promise{
	{"is described", described},
	{"answers every query", answers},
	{"says the same again", repeats},
	{"answers each query alone", alone},
	{"answers the same when work is shared", shares},
	{"does not know the answer", unaware},
	{"sees nothing of its own instant or later", blind},
	{"declares what it depends on", declares},
	{"gives all memory back", tidy},
	{"travels through files", travels},
	{"remembers in Commit alone", onlyCommits},
	{"knows the units it may know", inOrder},
	{"is rewound by evaluations", rewinds},
	{"refuses to remember nonsense", refuses},
	{"makes room for more nodes", grows},
	{"can be recorded", recordable},
	{"does not allocate", steady},
	{"plans its memory", planned},
	{"goes on where it was interrupted", resumes},
}
