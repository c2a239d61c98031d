package queries

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
)

// sourceColumns are those of a file that asks whom its sources meet.
var sourceColumns = []string{"u", "ts"}

// Candidate is a node that may be met.
type Candidate struct {
	Name string
	Node event.Node
}

// OneSource reads a source and a time, to ask whom it meets then; where is where it was asked, for complaints.
func (k *Asker) OneSource(where, u, ts string) (Question, error) {
	var bad dataset.Problems
	q := k.source(rowProblems{&bad, where, 0, -1}, u, ts)
	if bad.Total > 0 {
		return q, &bad
	}
	return q, nil
}

// OpenSources reads sources and times, to ask whom each meets then, from a file as Open does; a column i is ignored.
func (k *Asker) OpenSources(path string, stdin io.Reader) (all []Question, err error) {
	err = opened("queries", path, stdin, func(file string, in *bufio.Reader) error {
		all, err = k.read(file, in, sourceColumns)
		return err
	})
	return all, err
}

// source reads one row without a destination.
func (k *Asker) source(p rowProblems, u, ts string) Question {
	q := Question{U: strings.TrimSpace(u), TS: strings.TrimSpace(ts)}
	var ok bool
	if q.Src, ok = k.node(q.U, true); !ok {
		p.add("u", strconv.Quote(u), k.wantNode())
	}
	if q.Time, ok = k.time(q.TS); !ok {
		p.add("ts", strconv.Quote(ts), k.wantTime())
	}
	return q
}

// Candidates reads names of destinations from a file as Open does: one a line, or a table whose first line has a
// column i. Names that come twice are one candidate.
func (k *Asker) Candidates(path string, stdin io.Reader) (all []Candidate, err error) {
	err = opened("candidates", path, stdin, func(file string, in *bufio.Reader) error {
		all, err = k.readCandidates(file, in)
		return err
	})
	return all, err
}

func (k *Asker) readCandidates(file string, in *bufio.Reader) ([]Candidate, error) {
	r := csv.NewReader(in)
	r.FieldsPerRecord, r.ReuseRecord = -1, true
	var all []Candidate
	var bad dataset.Problems
	listed := map[event.Node]bool{}
	column, width := 0, 1
	for first, row := true, 1; ; first = false {
		fields, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, badTable(file, row, err)
		}
		if at := slices.IndexFunc(fields, isCandidateColumn); first && at >= 0 {
			column, width = at, len(fields)
			continue
		}
		line, _ := r.FieldPos(0)
		p := rowProblems{&bad, file, line, row}
		row++
		if len(fields) != width {
			p.add("", fmt.Sprintf("%d columns", len(fields)), wantCandidates(width))
			continue
		}
		name := strings.TrimSpace(fields[column])
		n, ok := k.node(name, false)
		if !ok {
			p.add("i", strconv.Quote(fields[column]), k.wantNode())
		} else if !listed[n] {
			listed[n] = true
			all = append(all, Candidate{name, n})
		}
	}
	if bad.Total > 0 {
		return nil, &bad
	}
	if len(all) == 0 {
		want := "a destination's name in each line"
		return nil, &dataset.InputError{File: file, Row: -1, Found: "no names", Want: want}
	}
	return all, nil
}

func isCandidateColumn(name string) bool { return strings.TrimSpace(name) == "i" }

func wantCandidates(width int) string {
	if width == 1 {
		return "one name in each line, or a column i in the first line"
	}
	return fmt.Sprintf("%d, as in the first line", width)
}
