package queries

import (
	"bufio"
	"encoding/csv"
	"fmt"
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

// OpenScores reads scores from a file, plain or gzip-compressed; "-" is standard input.
func (k *Asker) OpenScores(path string, stdin io.Reader) (all []Score, err error) {
	err = opened("scores", path, stdin, func(file string, in *bufio.Reader) error {
		all, err = k.readScores(file, in)
		return err
	})
	return all, err
}

func (k *Asker) readScores(file string, in *bufio.Reader) ([]Score, error) {
	r := csv.NewReader(in)
	r.FieldsPerRecord, r.ReuseRecord = -1, true
	header, err := r.Read()
	if err == io.EOF {
		want := "a table with the columns " + enumerate(ScoreColumns)
		return nil, &dataset.InputError{File: file, Row: -1, Found: "nothing", Want: want}
	}
	if err != nil {
		return nil, badTable(file, -1, err)
	}
	at, err := findColumns(file, header, ScoreColumns)
	if err != nil {
		return nil, err
	}
	width := len(header)
	var all []Score
	var bad dataset.Problems
	for row := 1; ; row++ {
		fields, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, badTable(file, row, err)
		}
		line, _ := r.FieldPos(0)
		p := rowProblems{&bad, file, line, row}
		if len(fields) != width {
			p.add("", fmt.Sprintf("%d columns", len(fields)), fmt.Sprintf("%d, as in the first line", width))
			continue
		}
		s := Score{Row: row, Question: k.question(p, fields[at[0]], fields[at[1]], fields[at[2]])}
		switch label, err := strconv.ParseFloat(strings.TrimSpace(fields[at[3]]), 64); {
		case err != nil || label != 0 && label != 1:
			p.add("label", strconv.Quote(fields[at[3]]), "1 for what happened, 0 for what did not")
		default:
			s.Label = label == 1
		}
		if s.Score, err = strconv.ParseFloat(strings.TrimSpace(fields[at[4]]), 64); err != nil || s.Score-s.Score != 0 {
			p.add("score", strconv.Quote(fields[at[4]]), "a number")
		}
		all = append(all, s)
	}
	if bad.Total > 0 {
		return nil, &bad
	}
	return all, nil
}
