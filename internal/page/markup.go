package page

import (
	"html"
	"strconv"
	"strings"
)

// markup collects HTML and SVG. Text and the values of attributes are escaped; names are ours.
type markup struct{ strings.Builder }

// open begins an element; attributes come as names and values in turn.
func (m *markup) open(tag string, attributes ...string) {
	m.start(tag, attributes)
	m.WriteByte('>')
}

// close ends an element, and the line: no element here cares about a space after it.
func (m *markup) close(tag string) { m.WriteString("</" + tag + ">\n") }

// leaf is an element without content.
func (m *markup) leaf(tag string, attributes ...string) {
	m.start(tag, attributes)
	m.WriteString("/>\n")
}

// element is one that holds text only.
func (m *markup) element(tag, text string, attributes ...string) {
	m.open(tag, attributes...)
	m.WriteString(html.EscapeString(text))
	m.close(tag)
}

func (m *markup) start(tag string, attributes []string) {
	m.WriteString("<" + tag)
	for i := 0; i+1 < len(attributes); i += 2 {
		m.WriteString(" " + attributes[i] + `="` + html.EscapeString(attributes[i+1]) + `"`)
	}
}

// px is a coordinate, to a tenth of a pixel.
func px(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}
