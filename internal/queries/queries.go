// Package queries answers: what is asked? It reads tables of queries about the nodes of a data set, by name, and says
// what is wrong with them.
package queries

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/sample"
)

// Question is a query as someone wrote it.
type Question struct {
	U, I, TS string // source, destination and time
	sample.Query
}

// Columns are the names that a file of queries has in its first line, in any order.
var Columns = [3]string{"u", "i", "ts"}

// Of are the queries that questions ask.
func Of(questions []Question) []sample.Query {
	qs := make([]sample.Query, len(questions))
	for i, q := range questions {
		qs[i] = q.Query
	}
	return qs
}

// mostProblems is how many problems of a file are shown.
const mostProblems = 20

// Asker turns names and times into queries about a data set. A name that the set does not have is the same node in all
// that it reads.
type Asker struct {
	set   *dataset.Set
	fresh map[string]event.Node // ids of names that the set does not have, by side
}

// NewAsker makes one for queries about a set.
func NewAsker(set *dataset.Set) *Asker { return &Asker{set, map[string]event.Node{}} }

// One reads a single query; where is where it was asked, for complaints.
func (k *Asker) One(where, u, i, ts string) (Question, error) {
	var bad dataset.Problems
	q := k.question(rowProblems{&bad, where, 0, -1}, u, i, ts)
	if bad.Total > 0 {
		return q, &bad
	}
	return q, nil
}

// Open reads queries from a file, plain or gzip-compressed; "-" is standard input.
func (k *Asker) Open(path string, stdin io.Reader) (all []Question, err error) {
	err = opened("queries", path, stdin, func(file string, in *bufio.Reader) error {
		all, err = k.read(file, in, Columns[:])
		return err
	})
	return all, err
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

// read reads all queries, or says what is wrong with the rows. Without a column i they ask whom the source meets.
func (k *Asker) read(file string, in *bufio.Reader, columns []string) ([]Question, error) {
	r := csv.NewReader(in)
	r.FieldsPerRecord, r.ReuseRecord = -1, true
	header, err := r.Read()
	if err == io.EOF {
		want := "a table with the columns " + enumerate(columns)
		return nil, &dataset.InputError{File: file, Row: -1, Found: "nothing", Want: want}
	}
	if err != nil {
		return nil, badTable(file, -1, err)
	}
	at, err := findColumns(file, header, columns)
	if err != nil {
		return nil, err
	}
	width := len(header)
	var all []Question
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
		if len(at) == len(sourceColumns) {
			all = append(all, k.source(p, fields[at[0]], fields[at[1]]))
		} else {
			all = append(all, k.question(p, fields[at[0]], fields[at[1]], fields[at[2]]))
		}
	}
	if bad.Total > 0 {
		return nil, &bad
	}
	return all, nil
}

// findColumns finds columns in the first line.
func findColumns(file string, header, columns []string) (at []int, err error) {
	for c, name := range header {
		header[c] = strings.TrimSpace(name)
	}
	for c, name := range columns {
		at = append(at, slices.Index(header, name))
		problem := &dataset.InputError{File: file, Line: 1, Row: -1, Column: name}
		problem.Want = "the columns " + enumerate(columns) + ", separated by commas and each once"
		switch {
		case at[c] < 0:
			problem.Found = fmt.Sprintf("only the columns %.80q", strings.Join(header, ","))
			return at, problem
		case slices.Contains(header[at[c]+1:], name):
			problem.Found = "it twice"
			return at, problem
		}
	}
	return at, nil
}

// enumerate is a list in words.
func enumerate(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// badTable explains what is wrong with a table as such.
func badTable(file string, row int, err error) error {
	var bad *csv.ParseError
	switch {
	case errors.As(err, &bad):
		return &dataset.InputError{File: file, Line: bad.Line, Row: row, Found: bad.Err.Error(), Want: "quotes around whole fields, and doubled within them"}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader):
		return &dataset.InputError{File: file, Row: row, Found: "the end of a damaged gzip file", Want: "a whole one"}
	}
	return fmt.Errorf("read %s: %w", file, err)
}

// question reads one row.
func (k *Asker) question(p rowProblems, u, i, ts string) Question {
	q := Question{U: strings.TrimSpace(u), I: strings.TrimSpace(i), TS: strings.TrimSpace(ts)}
	var ok bool
	if q.Src, ok = k.node(q.U, true); !ok {
		p.add("u", strconv.Quote(u), k.wantNode())
	}
	if q.Dst, ok = k.node(q.I, false); !ok {
		p.add("i", strconv.Quote(i), k.wantNode())
	}
	if q.Time, ok = k.time(q.TS); !ok {
		p.add("ts", strconv.Quote(ts), k.wantTime())
	}
	return q
}

// node is the node of a name, a new one if no one has that name; it has one id wherever it is asked about.
func (k *Asker) node(name string, source bool) (event.Node, bool) {
	if name == "" {
		return 0, false
	}
	find := k.set.Names.Target
	if source {
		find = k.set.Names.Source
	}
	id, ok := find(name)
	if ok || k.set.Names == nil {
		return id, ok
	}
	key := name
	if k.set.Names.Sources() > 0 {
		key = fmt.Sprint(source, name)
	}
	if k.fresh[key] == 0 {
		next := max(k.set.NumNodes(), k.set.Names.Len()+1) + len(k.fresh)
		if next > math.MaxInt32 {
			return 0, false
		}
		k.fresh[key] = event.Node(next)
	}
	return k.fresh[key], true
}

func (k *Asker) wantNode() string {
	if k.set.Names == nil {
		return "a node's id, a whole number from 1 on"
	}
	return "a node's name"
}

func (k *Asker) time(s string) (event.Time, bool) {
	at, format, err := dataset.ParseTime(s)
	return at, err == nil && (format == dataset.TimeNumber || k.set.TimeFormat == dataset.TimeDate)
}

func (k *Asker) wantTime() string {
	if k.set.TimeFormat == dataset.TimeDate {
		return "a date such as 2024-05-01T12:00:00Z, or seconds since 1970"
	}
	return "a finite number, in the unit of the data"
}

// rowProblems notes what is wrong with a row.
type rowProblems struct {
	to        *dataset.Problems
	file      string
	line, row int
}

func (p rowProblems) add(column, found, want string) {
	if p.to.Total++; p.to.Total <= mostProblems {
		p.to.List = append(p.to.List, &dataset.InputError{File: p.file, Line: p.line, Row: p.row, Column: column, Found: found, Want: want})
	}
}
