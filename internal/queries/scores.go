package queries

import (
	"context"
	"io"
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
func (k *Reader) OpenScores(path string, stdin io.Reader) ([]Score, error) {
	t, err := k.Read(context.Background(), path, stdin, dataset.ImportOptions{})
	if err != nil {
		return nil, err
	}
	var at [2]int
	for i, name := range ScoreColumns[3:] {
		if at[i], err = t.column(path, name, "the columns "+strings.Join(ScoreColumns, ", ")); err != nil {
			return nil, err
		}
	}
	all := make([]Score, len(t.Questions))
	for i, q := range t.Questions {
		label, score := q.Extra[at[0]], q.Extra[at[1]]
		all[i] = Score{Question: q, Row: i + 1}
		truth, err := strconv.ParseFloat(strings.TrimSpace(label), 64)
		if all[i].Label = truth == 1; err != nil || truth != 0 && truth != 1 {
			q.place.Bad("label", strconv.Quote(label), "1 for what happened, 0 for what did not")
		}
		all[i].Score, err = strconv.ParseFloat(strings.TrimSpace(score), 64)
		if err != nil || all[i].Score-all[i].Score != 0 {
			q.place.Bad("score", strconv.Quote(score), "a number")
		}
	}
	return all, t.sheet.Err()
}
