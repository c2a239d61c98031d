package queries

import (
	"context"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/dygmamba/dygmamba/dataset"
)

// Score is a question, whether it happened, and what some program said.
type Score struct {
	Question
	Row   int // from 1
	Label bool
	Score float64
}

// ScoreColumns are the names that a file of scores has in its first line, in any order.
var ScoreColumns = []string{"u", "i", "ts", "label", "score"}

// OpenScores reads scores from a table in any form that can be imported; "-" is standard input.
func (k *Asker) OpenScores(path string, stdin io.Reader) ([]Score, error) {
	t, err := k.Read(context.Background(), path, stdin, dataset.ImportOptions{})
	if err != nil {
		return nil, err
	}
	label, score := slices.Index(t.Extra, "label"), slices.Index(t.Extra, "score")
	for at, name := range map[int]string{label: "label", score: "score"} {
		if at < 0 {
			return nil, &dataset.InputError{
				File: path, Row: -1, Found: "no column " + name,
				Want: "the columns " + strings.Join(ScoreColumns, ", "),
			}
		}
	}
	var bad dataset.Problems
	all := make([]Score, len(t.Questions))
	for i, q := range t.Questions {
		complain := func(column, found, want string) {
			bad.Total++
			bad.List = append(bad.List, &dataset.InputError{
				File: path, Row: i + 1, Column: column, Found: strconv.Quote(found), Want: want,
			})
		}
		s := Score{Question: q, Row: i + 1}
		switch truth, err := strconv.ParseFloat(strings.TrimSpace(q.Extra[label]), 64); {
		case err != nil || truth != 0 && truth != 1:
			complain("label", q.Extra[label], "1 for what happened, 0 for what did not")
		default:
			s.Label = truth == 1
		}
		s.Score, err = strconv.ParseFloat(strings.TrimSpace(q.Extra[score]), 64)
		if err != nil || s.Score-s.Score != 0 {
			complain("score", q.Extra[score], "a number")
		}
		all[i] = s
	}
	if bad.Total > 0 {
		return nil, &bad
	}
	return all, nil
}
