package model_test

import (
	"testing"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
)

// TestSizes compares keys up to the longest rows a model may ask for.
func TestSizes(t *testing.T) {
	seen := map[uint64][3]int{}
	for _, n := range []int{1, 2, 400, 20_200} {
		for _, u := range []int{0, 33, 1 << 20, 1 << 21} {
			for _, v := range []int{0, 33, 1 << 20, 1 << 21} {
				b := &sample.Batch{Queries: make([]sample.Query, n), Src: sample.Rows{Len: u}, Dst: sample.Rows{Len: v}}
				key := model.Sizes(b)
				if other, ok := seen[key]; ok {
					t.Errorf("batches of %v and %v have the same key", other, [3]int{n, u, v})
				}
				seen[key] = [3]int{n, u, v}
			}
		}
	}
}
