package dataset

import (
	"path/filepath"
	"slices"

	"github.com/dygmamba/dygmamba/dataset/internal/layout"
)

// Listing is a built-in data set and where it lies.
type Listing struct {
	Entry
	Path      string   `json:"path,omitempty"`      // "" if it is not here
	Missing   []string `json:"missing,omitempty"`   // feature files that are not beside it
	Generated bool     `json:"generated,omitempty"` // made when asked for, as no file has its name
}

// List is all built-in data sets with what is present of them.
func List(o Options) []Listing {
	var list []Listing
	for _, e := range Catalog {
		l := Listing{Entry: e}
		for _, dir := range dataDirs(o) {
			if found, ok := layout.Find(filepath.Join(dir, e.Name), e.Name); ok {
				l.Path = found.CSV
				l.Missing = found.Absent()
				break
			}
		}
		l.Generated = l.Path == "" && slices.Contains(SynthNames, e.Name)
		list = append(list, l)
	}
	return list
}
