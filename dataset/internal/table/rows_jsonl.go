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
	"github.com/dygmamba/dygmamba/event"
)

// jsonCells are the wanted members of a line's object.
type jsonCells struct {
	*tableReader
	values [][]byte // nil: the object does not have it
}

// member is a value of a column that the first row does not have.
type member struct {
	row  int // of those kept in the block
	name string
	text []byte
}

const wantJSON = `one JSON object a line, such as {"src":"a","dst":"b","ts":1}`

func (r *tableReader) jsonl(ctx context.Context) error {
	txt, err := input.NewText(r.in, false, "a table as CSV, JSONL or Parquet")
	if err != nil {
		return err
	}
	// often in one line that is too long
	if strings.HasPrefix(strings.TrimLeft(string(r.in.Peek(64)), " \t\r\n"), "[") {
		return input.FileError(r.path, "a JSON list",
			"one JSON object a line: jq -c '.[]' "+r.path+" makes them of a list")
	}
	if _, err := txt.FirstLine(true); err != nil {
		return err
	}
	names, err := r.firstObject(txt.Ahead)
	if err != nil {
		return err
	}
	if label := r.o.Label; label != "" && !slices.Contains(names, label) {
		names = append(names, label) // may be missing in some rows
	}
	if err := r.want(names); err != nil {
		return err
	}
	return r.inOrder(ctx, txt, func(data []byte, b *importBlock) { r.objects(data, names, b) })
}

// firstObject is the member names of the first object in data.
func (r *tableReader) firstObject(data []byte) (names []string, err error) {
	line := 0
	for text := range bytes.Lines(data) {
		line++
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		if !members(text, func(name string, _ []byte) { names = append(names, name) }) {
			return nil, &input.Error{File: r.path, Line: line, Row: 1, Found: input.Quote(text), Want: wantJSON}
		}
		return names, nil
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

// objects reads the objects of some lines. Names are the members of the first one.
func (r *tableReader) objects(data []byte, names []string, b *importBlock) {
	b.reset(r.o.MaxProblems, 0)
	x := &jsonCells{r, make([][]byte, len(r.wanted))}
	for text := range bytes.Lines(data) {
		b.Lines++
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		b.Rows++
		p := b.Block.Place(r.path, b.Lines, b.Rows)
		clear(x.values)
		if !members(text, func(name string, value []byte) {
			wanted := false
			for i, w := range r.wanted {
				if w == name && (w != "" || i >= atFeatures) {
					x.values[i], wanted = value, true
				}
			}
			if !wanted && r.sheet != nil {
				b.more = append(b.more, member{len(b.spot), name, plainJSON(value)})
			} else if !wanted && !slices.Contains(names, name) && r.overlooked(name) {
				p.Bad(name, shown(value), "members that the first row has too, as they are looked for there")
			}
		}) {
			p.Bad("", input.Quote(text), wantJSON)
			continue
		}
		r.row(b, p, x)
	}
}

// overlooked says whether a member would be read if the first object had it: any member about a node, and labels.
func (r *tableReader) overlooked(name string) bool {
	return r.nodes && len(r.cols.Features) == 0 || r.cols.Label == "" && slices.Contains(labelNames, plain(name))
}

// key reads a name: a string or a number.
func (j *jsonCells) key(p *place) key {
	value := j.values[p.column]
	text, ok := scalarText(value)
	if !ok || value[0] == 't' || value[0] == 'f' {
		p.spoil(shown(value), "a node's name, as a string or a number")
		return key{}
	}
	// what cannot be unescaped all becomes this one character
	if bytes.IndexByte(value, '\\') >= 0 && bytes.ContainsRune(text, utf8.RuneError) {
		p.spoil(input.Quote(value), "a node's name in Unicode, without halves of surrogate pairs")
		return key{}
	}
	return p.key(text)
}

func (j *jsonCells) time(p *place) (event.Time, string) {
	text, ok := scalarText(j.values[p.column])
	if !ok {
		p.spoil(shown(j.values[p.column]), wantTime)
		return 0, ""
	}
	return p.time(text)
}

// label reads a label; one that is not there is absentLabel.
func (j *jsonCells) label(p *place) (float32, []byte) {
	value := j.values[p.column]
	if text, ok := scalarText(value); ok {
		return p.label(text)
	}
	switch {
	case value == nil:
		return absentLabel, nil
	case value[0] != 'n': // null
		p.spoil(shown(value), wantLabel)
	}
	return noLabel, nil
}

// text reads a value to encode; null and one that is not there are missing. A sheet takes any.
func (j *jsonCells) text(p *place) []byte {
	value := j.values[p.column]
	text, ok := scalarText(value)
	if j.sheet != nil {
		return plainJSON(value)
	} else if !ok && len(value) > 0 && value[0] != 'n' {
		p.spoil(shown(value), "a single value")
	}
	return text
}

// plainJSON is a value as people write it in a table: strings without quotes, nothing for null, lists and objects as
// they are.
func plainJSON(value []byte) []byte {
	if text, ok := scalarText(value); ok {
		return text
	}
	if len(value) > 0 && value[0] == 'n' {
		return nil
	}
	return value
}

// features reads a number or a list of numbers.
func (j *jsonCells) features(p *place) {
	b, value := p.block, j.values[p.column]
	if len(value) == 0 || value[0] != '[' {
		text, ok := scalarText(value)
		if !ok {
			p.spoil(shown(value), "a finite number or a list of them")
			return
		}
		b.feat = append(b.feat, p.feature(text))
		return
	}
	for n, i := 0, skipSpace(value, 1); value[i] != ']'; n++ {
		if value[i] == ',' {
			i = skipSpace(value, i+1)
		}
		end := skipValue(value, i)
		f, ok := input.ParseFloat(value[i:end])
		if !ok || !input.Finite(float64(float32(f))) {
			p.Bad(p.names[p.column]+"["+strconv.Itoa(n)+"]", input.Quote(value[i:end]), input.WantFloat32)
			b.row.ok = false
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

func shown(value []byte) string {
	if value == nil {
		return "nothing"
	}
	return input.Quote(value)
}
