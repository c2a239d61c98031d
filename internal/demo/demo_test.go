package demo

import (
	"bytes"
	"testing"
)

// The temporal pattern must win by far, and the example must show why. Half of the stream and a third of the epochs are
// enough for that, with a narrower model that takes larger steps more often.
func TestTemporalPatternWins(t *testing.T) {
	if testing.Short() {
		t.Skip("trains two models, which takes some seconds")
	}
	tour := New(1)
	tour.Stream.Events = 4000
	tour.Settings = append(tour.Settings,
		"num_epochs=5", "batch_size=25", "learning_rate=0.005", "channel_embedding_dim=16", "width_divisor=8")
	doc, err := tour.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	whole, without, bank := doc.Model(Whole), doc.Model(Without), doc.Model(Bank)
	if whole.AP < 0.88 || whole.AP-without.AP < 0.15 || without.AP < 0.6 || bank.AP < 0.5 {
		t.Errorf("AP is %.4f, without temporal patterns %.4f, EdgeBank's %.4f", whole.AP, without.AP, bank.AP)
	}
	x := doc.Example
	if x.Explanation.Probability < 0.7 || x.Off.Probability > 0.3 || len(x.Explanation.Gaps) != 4 ||
		len(x.Curve) < 240 || len(x.Meetings) < 3 {
		t.Errorf("the example has %.3f on the beat, %.3f off it, gaps %v, %d moments and %d meetings",
			x.Explanation.Probability, x.Off.Probability, x.Explanation.Gaps, len(x.Curve), len(x.Meetings))
	}
	var page bytes.Buffer
	if err := tour.WritePage(&page); err != nil || bytes.Contains(page.Bytes(), []byte("NaN")) || page.Len() > 200_000 {
		t.Errorf("the page has %d bytes, %v", page.Len(), err)
	}
}
