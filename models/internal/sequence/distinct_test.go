package sequence

import (
	"slices"
	"testing"
)

func TestDistinctRows(t *testing.T) {
	kept, of := DistinctRows([]float32{1, 2, 3, 4, 1, 2, 2, 1, 3, 4}, 2)
	if !slices.Equal(kept, []float32{1, 2, 3, 4, 2, 1}) || !slices.Equal(of, []int32{0, 1, 0, 2, 1}) {
		t.Errorf("kept %v, rows are %v", kept, of)
	}
	if kept, of := DistinctRows(nil, 3); len(kept) != 0 || len(of) != 0 {
		t.Errorf("of nothing: %v, %v", kept, of)
	}
}
