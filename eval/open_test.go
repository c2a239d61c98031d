package eval

import (
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/protocol"
)

// The set says how to draw unless someone asks for something else; the split and the negatives never disagree about it.
func TestOpenDrawsAsAsked(t *testing.T) {
	set, err := dataset.Periodic(dataset.PeriodicOptions{Events: 500})
	if err != nil {
		t.Fatal(err)
	}
	for _, asked := range []protocol.Sampling{"", protocol.Native, protocol.Reference} {
		p, err := Open(set, Options{Sampling: asked})
		if err != nil {
			t.Fatal(err)
		}
		want := asked
		if want == "" {
			want = set.Sampling
		}
		split, err := dataset.NewSplit(set.Log, dataset.SplitOptions{Sampling: want})
		if err != nil {
			t.Fatal(err)
		}
		if p.Split().Hash != split.Hash || p.options.Sampling != want {
			t.Errorf("asked for %q: split %s by %q, want %s by %q",
				asked, p.Split().Hash, p.options.Sampling, split.Hash, want)
		}
	}
}
