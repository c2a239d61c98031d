package run

import "github.com/dygmamba/dygmamba/eval"

// Across is what several seeds achieved, each of them a contender: means and sample standard deviations over those that
// had events.
func Across(rows []eval.Row) []MeanStd {
	var runs []Result
	at := map[string]int{}
	for _, r := range rows {
		if r.Batches == 0 {
			continue
		}
		i, known := at[r.Contender]
		if !known {
			i = len(runs)
			at[r.Contender], runs = i, append(runs, Result{})
		}
		runs[i].Results = append(runs[i].Results, Measured{r.Scenario, r.Strategy, r.Result})
	}
	return Summarize(runs).Results
}
