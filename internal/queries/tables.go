package queries

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/sample"
)

// Candidate is a node that may be met.
type Candidate struct {
	Name string
	Node event.Node
}

// OneSource reads a source and a time, to ask whom it meets then; where is where it was asked, for complaints.
func (k *Reader) OneSource(where, u, ts string) (Question, error) {
	return k.one(where, [3]string{Columns[0], "", Columns[2]}, [3]string{u, "", ts})
}

// ReadSources reads sources and times, to ask whom each meets then, from a table as Read does; a column i is one of the
// others.
func (k *Reader) ReadSources(
	ctx context.Context, path string, stdin io.Reader, o dataset.ImportOptions,
) (Table, error) {
	return k.read(ctx, path, stdin, dataset.AsksSources, o)
}

// Candidates reads names of destinations: one a line, or a table in any form that can be imported with a column i; "-"
// is standard input. Names that come twice are one candidate.
func (k *Reader) Candidates(ctx context.Context, path string, stdin io.Reader) (all []Candidate, err error) {
	sheet, err := dataset.ReadSheet(ctx, path, stdin, dataset.ListsTargets, dataset.ImportOptions{})
	if sheet == nil {
		return nil, fmt.Errorf("candidates: %w", err)
	}
	listed := map[event.Node]bool{}
	for i, values := range sheet.Rows {
		text := values[sheet.At[1]]
		name := strings.TrimSpace(text)
		n, ok := k.node(name, false)
		if !ok {
			sheet.Places[i].Bad(Columns[1], strconv.Quote(text), k.wantNode())
		} else if !listed[n] {
			listed[n] = true
			all = append(all, Candidate{name, n})
		}
	}
	if err := sheet.Err(); err != nil || len(all) > 0 {
		return all, err
	}
	return nil, &dataset.InputError{File: path, Row: -1, Found: "no names", Want: "a destination's name in each line"}
}

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

// opponentColumn lists other destinations than the event's own.
const opponentColumn = "negatives"

// ReadOpponents reads events and the destinations that each is to be told from: a table as Read takes it, with a column
// negatives that has their names, separated by spaces, semicolons or bars.
func (k *Reader) ReadOpponents(ctx context.Context, path string, stdin io.Reader,
) (map[sample.Query][]event.Node, error) {
	t, err := k.Read(ctx, path, stdin, dataset.ImportOptions{})
	if err != nil {
		return nil, err
	}
	at, err := t.column(path, opponentColumn, "one called "+opponentColumn+" too, with the names of other destinations")
	if err != nil {
		return nil, err
	}
	list := make(map[sample.Query][]event.Node, len(t.Questions))
	for _, q := range t.Questions {
		names := strings.FieldsFunc(q.Extra[at], func(r rune) bool { return r == ' ' || r == ';' || r == '|' })
		if len(names) == 0 {
			q.place.Bad(opponentColumn, strconv.Quote(q.Extra[at]), "names of other destinations")
		}
		for _, n := range names {
			if v, ok := k.node(n, false); ok {
				list[q.Query] = append(list[q.Query], v)
			} else {
				q.place.Bad(opponentColumn, strconv.Quote(n), k.wantNode())
			}
		}
	}
	return list, t.sheet.Err()
}
