// Package page answers: how does a result look in a browser?
//
// A page is one file that needs nothing else: style sheet and drawings are part of it, nothing runs and nothing is
// fetched. It follows the reader's choice of light or dark and fits a telephone. All text is escaped; the same page
// gives the same bytes.
package page

import (
	_ "embed"
	"html/template"
	"io"
	"reflect"
	"strings"

	"github.com/dygmamba/dygmamba/internal/term"
)

//go:embed style.css
var style string

//go:embed chart.css
var chartStyle string // colours and drawings

//go:embed page.html
var source string

// templates has one for a page, and one for each kind of Part, by the name of its type.
var templates *template.Template

func init() {
	templates = template.Must(template.New("").Funcs(template.FuncMap{
		"part": part, "svg": Figure.svg, "local": local,
		"count": term.Count[int], "points": term.Percent,
		"style": func() template.CSS { return template.CSS(chartStyle + style) },
	}).Parse(source))
}

// Parse reads a page that is written as a template: it defines width, title, lead, body and foot, and draws the parts
// of this package with {{part .}}.
func Parse(source string, funcs template.FuncMap) *template.Template {
	return template.Must(template.Must(templates.Clone()).Funcs(funcs).Parse(source)).Lookup("Page")
}

// Page is a document with a title, a few sentences below it, and parts.
type Page struct {
	Title string
	Lead  string
	Parts []Part
	Foot  string
	Wide  bool // for tables with many columns
}

// Write writes the page as HTML.
func (p Page) Write(w io.Writer) error { return templates.ExecuteTemplate(w, "Page", p) }

// Part is something that stands on a page below what comes before it: one of the types below.
type Part any

func part(p Part) (template.HTML, error) {
	var b strings.Builder
	err := templates.ExecuteTemplate(&b, reflect.TypeOf(p).Name(), p)
	return template.HTML(b.String()), err
}

// Parts of words.
type (
	Heading  string                           // begins a section
	Section  struct{ ID, Title, Note string } // begins one that others can lead to
	Contents []Section                        // leads to sections
	Text     string                           // is a paragraph
	Remark   string                           // is a paragraph that is less loud
	Code     string                           // is a block of commands or program text
	Facts    [][2]string                      // are names and what they stand for
)

// Numbers are a few results that should be seen first, side by side.
type Numbers []Number

// Number is one of them.
type Number struct {
	Value string
	Exact string // the same in all its digits, for whoever reads the page by program; may be ""
	Name  string
	Tone  Tone
}

// Table has a row of names and rows of cells; all columns but the first, or the first few, hold numbers.
type Table struct {
	Head  []string
	Rows  [][]string
	Words int // this many columns hold words; 0 is 1
}

// Grid is a table whose cells are more than text.
type Grid struct {
	Head  []string
	Rows  [][]Cell
	Words int // this many columns hold words; 0 is 1
}

// Cell is one of a Grid.
type Cell struct {
	Text  string
	Exact string // the same in all its digits, for whoever reads the page by program; may be ""
	Note  string // what a pointer resting on it shows
	Link  string // a path or a place of this page; others are not followed
	Mark  Mark
}

// local says whether a link stays on this machine: no page here leads anywhere else.
func local(link string) bool {
	return !strings.Contains(link, ":") && !strings.HasPrefix(link, "//") && !strings.HasPrefix(link, `\`)
}

// Mark is how a cell stands out.
type Mark int

// The marks.
const (
	Unmarked Mark = iota
	Best          // bold
	Next          // underlined
	Faint         // words in the place of a number
)

// String is the class of the cell.
func (k Mark) String() string { return [...]string{"", "best", "next", "faint"}[k] }

// Folds are things in a list, each a line until someone opens it.
type Folds []Fold

// Fold is one of them.
type Fold struct {
	Title string
	Note  string // behind the title, less loud
	Value string // at the end of the line
	Tone  Tone   // of the value
	Open  bool   // from the beginning
	Parts []Part
}

// Tone is a colour with a meaning of its own on the whole page.
type Tone int

// The tones.
const (
	Plain  Tone = iota // no emphasis
	First              // what the page is about
	Second             // what it is compared with
	Third              // what stands in the background
	Fact               // what really happened
)

// String is the class of what has the tone.
func (t Tone) String() string { return [...]string{"plain", "first", "second", "third", "fact"}[t] }
