package table

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
)

// jsonRows knows which members of a line's object are wanted.
type jsonRows struct {
	*tableReader
	cols   Columns
	names  []string // members of the first object
	wanted []string // source, target, time, label, then the features; "" for those not wanted
}

const wantJSON = `one JSON object a line, such as {"src":"a","dst":"b","ts":1}`

func (r *tableReader) jsonl(ctx context.Context) error {
	txt, names, err := r.openJSONL()
	if err != nil {
		return err
	}
	if label := r.o.Label; label != "" && !slices.Contains(names, label) {
		names = append(names, label) // may be missing in some rows
	}
	cols, err := r.choose(names)
	if err != nil {
		return err
	}
	j := &jsonRows{tableReader: r, cols: cols, names: names,
		wanted: slices.Concat([]string{cols.Source, cols.Target, cols.Time, cols.Label}, cols.EdgeFeatures,
			cols.Features)}
	return input.InOrder(ctx, txt, j.parse, r.merge)
}

// openJSONL finds the member names of the first object, and leaves txt at it.
func (r *tableReader) openJSONL() (*input.Text, []string, error) {
	txt, err := input.NewText(r.in, false, "a table as CSV, JSONL or Parquet")
	if err != nil {
		return nil, nil, err
	}
	// often in one line that is too long
	if strings.HasPrefix(strings.TrimLeft(string(r.in.Peek(64)), " \t\r\n"), "[") {
		return nil, nil, input.FileError(r.path, "a JSON list",
			"one JSON object a line: jq -c '.[]' "+r.path+" makes them of a list")
	}
	if _, err := txt.FirstLine(true); err != nil {
		return nil, nil, err
	}
	names, err := r.firstObject(txt.Ahead)
	return txt, names, err
}

// firstObject is the member names of the first object in data.
func (r *tableReader) firstObject(data []byte) ([]string, error) {
	for line := 1; len(data) > 0; line++ {
		text, rest, _ := bytes.Cut(data, []byte{'\n'})
		if text = bytes.TrimSpace(text); len(text) > 0 {
			var names []string
			if !members(text, func(name string, _ []byte) { names = append(names, name) }) {
				return nil, &input.Error{File: r.path, Line: line, Row: 1, Found: input.Quote(text), Want: wantJSON}
			}
			return names, nil
		}
		data = rest
	}
	return nil, input.FileError(r.path, "no rows", wantJSON)
}

// members visits the members of a JSON object in order, and says whether text is one. Values are passed as they are
// written.
func members(text []byte, visit func(name string, value []byte)) bool {
	if len(text) == 0 || text[0] != '{' || !json.Valid(text) {
		return false
	}
	for i := skipSpace(text, 1); text[i] != '}'; i = skipSpace(text, i) {
		if text[i] == ',' {
			i = skipSpace(text, i+1)
		}
		end := skipValue(text, i)
		name := unquote(text[i:end])
		i = skipSpace(text, skipSpace(text, end)+1) // behind the colon
		end = skipValue(text, i)
		visit(name, text[i:end])
		i = end
	}
	return true
}

func skipSpace(b []byte, i int) int {
	for b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n' {
		i++
	}
	return i
}

// skipValue is where the value at i ends, in text that is valid JSON.
func skipValue(b []byte, i int) int {
	depth := 0
	for ; ; i++ {
		switch b[i] {
		case '"':
			for i++; b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return i + 1
			}
			if depth < 0 {
				return i
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
}

// unquote is the text of a valid JSON string.
func unquote(b []byte) string {
	if bytes.IndexByte(b, '\\') < 0 {
		return string(b[1 : len(b)-1])
	}
	var s string
	json.Unmarshal(b, &s) // cannot fail: b is valid
	return s
}

func (j *jsonRows) parse(data []byte, b *importBlock) {
	b.reset(j.o.MaxProblems, 0)
	values := make([][]byte, len(j.wanted))
	for len(data) > 0 {
		text, rest, _ := bytes.Cut(data, []byte{'\n'})
		data = rest
		b.Lines++
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		b.Rows++
		p := place{b.Block.Place(j.path, b.Lines, b.Rows)}
		clear(values)
		if !members(text, func(name string, value []byte) {
			wanted := false
			for i, w := range j.wanted {
				if w == name && w != "" {
					values[i], wanted = value, true
				}
			}
			if !wanted && j.overlooked(name) {
				p.Bad(name, shown(value), "members that the first row has too, as they are looked for there")
			}
		}) {
			p.Bad("", input.Quote(text), wantJSON)
			continue
		}
		j.row(b, p, values)
	}
}

// overlooked says whether a member would be read if the first object had it: any member about a node, and labels.
func (j *jsonRows) overlooked(name string) bool {
	return !slices.Contains(j.names, name) && (j.nodes && len(j.cols.Features) == 0 || j.cols.Label == "" &&
		slices.Contains(labelNames, plain(name)))
}

func (j *jsonRows) row(b *importBlock, p place, values [][]byte) {
	v := row{ok: true}
	begin := b.begin()
	v.src = j.key(p, &v, j.cols.Source, values[0])
	if j.cols.Target != "" {
		v.dst = j.key(p, &v, j.cols.Target, values[1])
	}
	if j.cols.Time != "" {
		if text, ok := scalarText(values[2]); ok {
			v.time, v.format = p.time(&v, j.cols.Time, text)
		} else {
			p.spoil(&v, j.cols.Time, shown(values[2]), wantTime)
		}
	}
	if values[3] != nil { // a missing label is 0
		if text, ok := scalarText(values[3]); ok {
			v.label = p.label(&v, j.cols.Label, text)
		} else {
			p.spoil(&v, j.cols.Label, shown(values[3]), wantLabel)
		}
	}
	for i, name := range j.cols.EdgeFeatures {
		j.features(b, p, &v, name, values[4+i])
	}
	for i, name := range j.cols.Features {
		b.cells = append(b.cells, j.cell(p, &v, name, values[4+len(j.cols.EdgeFeatures)+i]))
	}
	b.add(p, v, begin)
}

// key reads a name: a string or a number.
func (j *jsonRows) key(p place, v *row, column string, value []byte) key {
	text, ok := scalarText(value)
	if !ok || value[0] == 't' || value[0] == 'f' {
		p.spoil(v, column, shown(value), "a node's name, as a string or a number")
		return key{}
	}
	// what cannot be unescaped all becomes this one character
	if bytes.IndexByte(value, '\\') >= 0 && bytes.ContainsRune(text, utf8.RuneError) {
		p.spoil(v, column, input.Quote(value), "a node's name in Unicode, without halves of surrogate pairs")
		return key{}
	}
	return p.key(v, column, text)
}

// cell reads a value to encode; null and one that is not there are missing.
func (j *jsonRows) cell(p place, v *row, column string, value []byte) []byte {
	text, ok := scalarText(value)
	if !ok && len(value) > 0 && value[0] != 'n' {
		p.spoil(v, column, shown(value), "a single value")
	}
	return text
}

// features reads a number or a list of numbers.
func (j *jsonRows) features(b *importBlock, p place, v *row, column string, value []byte) {
	if len(value) == 0 || value[0] != '[' {
		text, ok := scalarText(value)
		if !ok {
			p.spoil(v, column, shown(value), "a finite number or a list of them")
			return
		}
		b.feat = append(b.feat, p.feature(v, column, text))
		return
	}
	for n, i := 0, skipSpace(value, 1); value[i] != ']'; n++ {
		if value[i] == ',' {
			i = skipSpace(value, i+1)
		}
		end := skipValue(value, i)
		f, ok := input.ParseFloat(value[i:end])
		if !ok || !input.Finite(float64(float32(f))) {
			p.spoil(v, column+"["+strconv.Itoa(n)+"]", input.Quote(value[i:end]), input.WantFloat32)
		}
		b.feat = append(b.feat, float32(f))
		i = skipSpace(value, end)
	}
}

// scalarText is the characters of a string, number, true or false.
func scalarText(value []byte) ([]byte, bool) {
	switch {
	case len(value) == 0 || value[0] == 'n' || value[0] == '{' || value[0] == '[':
		return nil, false
	case value[0] != '"':
		return value, true
	case bytes.IndexByte(value, '\\') < 0:
		return value[1 : len(value)-1], true
	}
	return []byte(unquote(value)), true
}

// shown is a value for a complaint.
func shown(value []byte) string {
	if value == nil {
		return "nothing"
	}
	return input.Quote(value)
}
