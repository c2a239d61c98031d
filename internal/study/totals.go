package study

import (
	"cmp"
	"fmt"
	"math"

	"github.com/dygmamba/dygmamba/internal/paper"
	"github.com/dygmamba/dygmamba/run"
)

// totals says how long trainings took till their best epoch.
func (r *runner) totals(e paper.Exhibit) (list []Table) {
	for _, d := range e.Datasets {
		set := r.source(d)
		if set == nil {
			continue
		}
		t := Table{Title: d, Columns: []string{"model", "epoch, s", "paper, s", "best epoch", "paper", "till then, min",
			"paper, min"}}
		for _, m := range e.Models {
			job, err := newJob(set, m, nil, "", r.Epochs)
			if err != nil {
				continue
			}
			var one, best, total []float64
			link, words := "", ""
			for seed := range uint64(r.Seeds) {
				if s := r.found[job.at(seed).id()]; s.state == Done {
					one, best = append(one, s.Result.PerEpoch), append(best, float64(s.Result.BestEpoch))
					total = append(total, s.Result.PerEpoch*float64(s.Result.BestEpoch)/60)
					link = cmp.Or(link, r.relative(s.Path))
				} else if words == "" && s.state != "" {
					words = r.brief(job.at(seed), s)
				}
			}
			row := []Cell{{Text: m}}
			for k, own := range [][]float64{one, best, total} {
				c := Cell{Text: words, Faint: true}
				if words = ""; len(own) > 0 {
					v, _ := meanStd(own)
					c = Cell{Text: fmt.Sprintf("%.4g", v), Value: &v, Link: link}
				}
				quantity, scale := []string{"minutes", "epochs", "total"}[k], []float64{60, 1, 1}[k]
				theirs := Cell{}
				if v, ok := paper.Study(e.ID, d, m, quantity); ok {
					theirs.Text = fmt.Sprintf("%.4g", v.Mean*scale)
				}
				row = append(row, c, theirs)
			}
			t.Rows = append(t.Rows, row)
		}
		t.Notes = append(t.Notes, fmt.Sprintf("Times of training alone, with %s; the paper's are "+
			"of an A40.", atOnce(r.Jobs)))
		list = append(list, t)
	}
	return list
}

// result is the done run of a job with a seed.
func (r *runner) result(j *Job, seed uint64) (run.Result, bool) {
	s := r.found[j.at(seed).id()]
	return s.Result, s.state == Done
}

// gib is bytes as the paper counts memory.
func gib(bytes int64) float64 { return float64(bytes) / math.Exp2(30) }
