package audit

// Comparison is runs that were asked the same, side by side.
type Comparison struct {
	Scenario    string       `json:"setting"`
	Negatives   string       `json:"negatives"`
	Runs        []Compared   `json:"runs"`
	Differences []Difference `json:"differences"` // to the first run
}
