package eval_test

import (
	"math"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/golden"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
)

// longest knows nothing of who meets whom: its score is the length that the destinations' rows would have if they were
// padded to the longest of their call, positives in one call and negatives in another. Longer rows score lower.
type longest struct{ neighbors, patch int }

func (s longest) Plan() sample.Plan {
	return sample.Plan{Draws: sample.Both(sample.Draw{Neighbors: s.neighbors - 1, RowLen: s.neighbors,
		Target: sample.TargetLast})}
}

func (s longest) RankOnly() {}

func (s longest) Score(b *sample.Batch, out []float32) error {
	half := len(out) / 2
	for _, call := range [][2]int{{0, half}, {half, len(out)}} {
		most := 0
		for i := call[0]; i < call[1]; i++ {
			n := 0
			for _, id := range b.Rows[1].Node[i*b.Rows[1].Len : (i+1)*b.Rows[1].Len] {
				if id != 0 {
					n++
				}
			}
			most = max(most, n)
		}
		patches := (most + s.patch - 1) / s.patch
		for i := call[0]; i < call[1]; i++ {
			out[i] = 1 / float32(1+patches)
		}
	}
	return nil
}

// TestPaddingTells shows why rows have a fixed length. On CanParl with 2048 neighbours and patches of 64, the number of
// patches in a batch tells positives from negatives without fail; on uci, where every batch has a full row, it tells
// nothing.
func TestPaddingTells(t *testing.T) {
	for _, c := range []struct {
		data             string
		neighbors, patch int
		negatives        protocol.Negatives
		auc              float64
	}{
		{"CanParl", 2048, 64, protocol.RandomNegatives, 1},
		{"CanParl", 2048, 64, protocol.HistoricalNegatives, 1},
		{"CanParl", 2048, 64, protocol.InductiveNegatives, 0.96},
		{"USLegis", 256, 8, protocol.RandomNegatives, 0.5},
		{"uci", 32, 1, protocol.RandomNegatives, 0.5},
	} {
		_, split := published(t, c.data)
		r, err := eval.NewProtocol(split, eval.Options{}).
			Evaluate(t.Context(), longest{c.neighbors, c.patch}, eval.Test, c.negatives)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s, %d & %d, %s negatives: AP %.4f, AUC %.4f", c.data, c.neighbors, c.patch, c.negatives, r.AP, r.AUC)
		if math.Abs(r.AUC-c.auc) > 0.005 {
			t.Errorf("%s, %s negatives: the longest row has an AUC of %.4f, want %.2f",
				c.data, c.negatives, r.AUC, c.auc)
		}
	}
}

// published opens a data set and cuts it as published; it skips the test where there is no data.
func published(t *testing.T, name string) (*dataset.Set, *dataset.Split) {
	t.Helper()
	set, err := dataset.Open(t.Context(), name, dataset.Options{DataDir: golden.Shared(t, "data")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	split, err := dataset.NewSplit(set.Log, dataset.SplitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return set, split
}
