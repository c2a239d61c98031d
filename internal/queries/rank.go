package queries

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
)

// sourceColumns are those of a question whom a source meets.
var sourceColumns = [3]string{Columns[0], "", Columns[2]}

// Candidate is a node that may be met.
type Candidate struct {
	Name string
	Node event.Node
}

// OneSource reads a source and a time, to ask whom it meets then; where is where it was asked, for complaints.
func (k *Asker) OneSource(where, u, ts string) (Question, error) {
	return k.one(where, sourceColumns, [3]string{u, "", ts})
}

// ReadSources reads sources and times, to ask whom each meets then, from a table as Read does; a column i is one of the
// others.
func (k *Asker) ReadSources(ctx context.Context, path string, stdin io.Reader, o dataset.ImportOptions) (Table, error) {
	return k.read(ctx, path, stdin, dataset.AsksSources, o)
}

// opened reads a text file, plain or gzip-compressed, without a byte order mark; "-" is standard input.
func opened(what, path string, stdin io.Reader, read func(file string, in *bufio.Reader) error) error {
	name, in := path, stdin
	if path == "-" {
		name = "standard input"
	} else {
		f, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		defer f.Close()
		in = f
	}
	r := bufio.NewReader(in)
	if magic, _ := r.Peek(2); string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(r)
		if err != nil {
			return &dataset.InputError{File: name, Row: -1, Found: "a broken gzip file", Want: "a whole one"}
		}
		r = bufio.NewReader(z)
	}
	if bom, _ := r.Peek(3); bytes.Equal(bom, []byte("\xef\xbb\xbf")) {
		r.Discard(len(bom))
	}
	return read(name, r)
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

// badTable explains what is wrong with a table as such.
func badTable(file string, row int, err error) error {
	var bad *csv.ParseError
	switch {
	case errors.As(err, &bad):
		return &dataset.InputError{File: file, Line: bad.Line, Row: row, Found: bad.Err.Error(),
			Want: "quotes around whole fields, and doubled within them"}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader):
		return &dataset.InputError{File: file, Row: row, Found: "the end of a damaged gzip file", Want: "a whole one"}
	}
	return fmt.Errorf("read %s: %w", file, err)
}

// mostProblems is how many problems of a file are shown.
const mostProblems = 20

// rowProblems notes what is wrong with a row.
type rowProblems struct {
	to        *dataset.Problems
	file      string
	line, row int
}

func (p rowProblems) add(column, found, want string) {
	if p.to.Total++; p.to.Total <= mostProblems {
		p.to.List = append(p.to.List, &dataset.InputError{
			File: p.file, Line: p.line, Row: p.row, Column: column, Found: found, Want: want})
	}
}
