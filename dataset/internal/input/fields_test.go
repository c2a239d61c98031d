package input

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// field is one field and what ends it: quoted text, what stands behind its quotes, or plain text.
var field = regexp.MustCompile(`^(?:"((?:[^"]|"")*)"([^",\n][^,\n]*)?|([^",\n][^,\n]*)?)(,|\n|$)`)

// plainRows is what should be found in a text: the line and number of each row, and its fields or what is wrong with
// them.
func plainRows(s string) (rows []string) {
	for line, row := 1, 1; s != ""; {
		var fields []string
		bad, rest := "", s
		for end := ","; end == ","; {
			m := field.FindStringSubmatch(rest)
			if m == nil {
				bad, rest = "a quoted field that is never closed", ""
				break
			}
			if end = m[4]; m[2] != "" && m[2] != "\r" {
				bad = "text after a closing quote"
			}
			text := strings.ReplaceAll(m[1], `""`, `"`) + m[3]
			if end != "," && m[3] != "" {
				text = strings.TrimSuffix(text, "\r")
			}
			fields, rest = append(fields, text), rest[len(m[0]):]
		}
		taken := s[:len(s)-len(rest)]
		if taken != "\n" && taken != "\r\n" {
			if bad == "" {
				bad = fmt.Sprintf("%q", fields)
			}
			rows = append(rows, fmt.Sprintf("line %d row %d: %s", line, row, bad))
			row++
		}
		line += strings.Count(taken, "\n")
		s = rest
	}
	return rows
}

// rowsBlock is the rows of a block, counted from its beginning.
type rowsBlock struct {
	Block
	found map[int]string
	lines map[int]int
}

// blockRows reads a text in blocks of some bytes.
func blockRows(t *rapid.T, s string, block int) (rows []string) {
	in, err := New("x", strings.NewReader(s))
	if err != nil {
		t.Fatal(err)
	}
	var all Finder
	before, lines := 0, 0
	err = InOrder(t.Context(), &Text{in: in, csv: true, Delim: ',', block: block}, func(data []byte, b *rowsBlock) {
		b.Reset(len(s), ',')
		b.found, b.lines = map[int]string{}, map[int]int{}
		for p, f := range b.Each("x", data) {
			b.found[p.Row], b.lines[p.Row] = fmt.Sprintf("%q", f), p.Line
		}
		for _, e := range b.Finder.List {
			b.found[e.Row], b.lines[e.Row] = e.Found, e.Line
		}
	}, func(b *rowsBlock) error {
		for i := range b.Rows {
			rows = append(rows, fmt.Sprintf("line %d row %d: %s", lines+b.lines[i+1], before+i+1, b.found[i+1]))
		}
		all.Take(&b.Finder, 0, 0)
		before += b.Rows
		lines += b.Block.Lines
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// Whatever is wrong with its quotes, no row of a text is lost, wherever blocks end.
func TestRowsOfAnyText(t *testing.T) {
	pieces := rapid.SliceOf(rapid.SampledFrom([]string{`"`, `""`, ",", "\n", "\r\n", "\r", "a", "b ", "1"}))
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(pieces.Draw(t, "text"), "")
		block := rapid.IntRange(1, 20).Draw(t, "block")
		if diff := cmp.Diff(plainRows(s), blockRows(t, s, block), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%q in blocks of %d (-want +got):\n%s", s, block, diff)
		}
	})
}
