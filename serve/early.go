package serve

import "github.com/dygmamba/dygmamba/dataset"

// Early is a set of the first n events of another, with their features: what was known before the others came.
func Early(set *dataset.Set, n int) *dataset.Set {
	part := *set
	part.OnClose(nil)
	part.Log = set.Log.Select(func(i int) bool { return i < n })
	part.Edge.Rows = n + 1
	if part.Edge.Data != nil {
		part.Edge.Data = part.Edge.Data[:(n+1)*part.Edge.Cols]
	}
	return &part
}
