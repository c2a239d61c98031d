package table

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
)

// Columns says which column of a table means what, by name; "" for none.
type Columns struct {
	Source       string   `json:"src"`
	Target       string   `json:"dst"`
	Time         string   `json:"time"`
	Label        string   `json:"label,omitempty"`
	EdgeFeatures []string `json:"edge_features,omitempty"` // numbers taken as they are
	Features     []string `json:"features,omitempty"`      // encoded
	Ignored      []string `json:"ignored,omitempty"`
}

// String says it in a few words.
func (c Columns) String() string {
	text := fmt.Sprintf("%s → %s at %s", c.Source, c.Target, c.Time)
	if c.Label != "" {
		text += ", label " + c.Label
	}
	return text
}

// Names that columns commonly have, the likelier first; compared without case, spaces, dots, dashes and underscores.
var (
	sourceNames = []string{"src", "source", "sourceid", "srcid", "u", "user", "userid", "uid", "from", "fromid",
		"sender", "head", "subject", "author", "customer", "customerid", "node1"}
	targetNames = []string{"dst", "dest", "destination", "target", "targetid", "destinationid", "dstid", "i", "v",
		"item", "itemid", "iid", "to", "toid", "receiver", "recipient", "tail", "object", "product",
		"productid", "node2"}
	timeNames = []string{"ts", "t", "time", "timestamp", "datetime", "date", "unixtime", "unixtimestamp", "unixts",
		"createdat", "eventtime", "at"}
	labelNames = []string{"label", "statelabel", "y"}
	nodeNames  = []string{"id", "node", "nodeid", "name"}
	roleNames  = []string{"side", "role"}
)

// chooser picks columns from a table's names.
type chooser struct {
	file  string
	names []string
}

// pick is the column asked for, or else the likeliest. Where there is none, the error names the option that sets it.
func (c chooser) pick(asked string, likely []string, what, option string) (string, error) {
	if asked != "" {
		if slices.Contains(c.names, asked) {
			return asked, nil
		}
		return "", &input.Error{File: c.file, Row: -1, Found: "no column " + asked,
			Want: "one of its columns: " + c.list() + c.headless()}
	}
	if name := c.guess(likely); name != "" {
		return name, nil
	}
	if len(likely) == 0 {
		return "", &input.Error{File: c.file, Row: -1, Found: "a column without a name in " + option,
			Want: "one of its columns: " + c.list()}
	}
	return "", &input.Error{File: c.file, Row: -1, Found: "the columns " + c.list(),
		Want: fmt.Sprintf("one for the %s, called for example %s or %s, or named by %s%s",
			what, likely[0], likely[1], option, c.headless())}
}

// headless is a hint where the names look like data.
func (c chooser) headless() string {
	for _, name := range c.names {
		if _, ok := input.ParseFloat([]byte(name)); ok {
			return "; a table without header needs the option NoHeader"
		}
	}
	return ""
}

func (c chooser) guess(likely []string) string {
	for _, want := range likely {
		for _, name := range c.names {
			if plain(name) == want {
				return name
			}
		}
	}
	return ""
}

func (c chooser) list() string {
	const most = 30
	var shown []string
	for _, name := range c.names[:min(most, len(c.names))] {
		// such as line ends of other systems
		if strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }) {
			name = input.Quote(name)
		}
		shown = append(shown, name)
	}
	if more := len(c.names) - most; more > 0 {
		return strings.Join(shown, ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(shown, ", ")
}

// plain is a column name without what people spell differently.
func plain(name string) string {
	return strings.NewReplacer(" ", "", "_", "", "-", "", ".", "").Replace(strings.ToLower(name))
}

// events picks the columns of a table of events.
func (c chooser) events(o Options) (Columns, error) {
	var cols Columns
	var err error
	if cols.Source, err = c.pick(o.Source, sourceNames, "source", "the option Source"); err != nil {
		return cols, err
	}
	if cols.Target, err = c.pick(o.Target, targetNames, "destination", "the option Target"); err != nil {
		return cols, err
	}
	if cols.Time, err = c.pick(o.Time, timeNames, "time", "the option Time"); err != nil {
		return cols, err
	}
	if cols.Label = c.guess(labelNames); o.Label != "" {
		if cols.Label, err = c.pick(o.Label, nil, "label", "the option Label"); err != nil {
			return cols, err
		}
	}
	for _, name := range o.EdgeFeatures {
		if name, err = c.pick(name, nil, "edge features", "the option EdgeFeatures"); err != nil {
			return cols, err
		}
		cols.EdgeFeatures = append(cols.EdgeFeatures, name)
	}
	if cols.Source == cols.Target || cols.Source == cols.Time || cols.Target == cols.Time {
		return cols, &input.Error{File: c.file, Row: -1,
			Found: fmt.Sprintf("source %s, destination %s and time %s", cols.Source, cols.Target, cols.Time),
			Want:  "three different columns"}
	}
	if cols.Label == cols.Source || cols.Label == cols.Target || cols.Label == cols.Time {
		if o.Label != "" {
			return cols, &input.Error{File: c.file, Row: -1, Column: o.Label, Found: "the source, destination or time",
				Want: "a column of its own for the label"}
		}
		cols.Label = ""
	}
	cols.Ignored = c.rest(cols)
	return cols, nil
}

// rest are the columns that mean nothing.
func (c chooser) rest(cols Columns) []string {
	used := slices.Concat([]string{"", cols.Source, cols.Target, cols.Time, cols.Label}, cols.EdgeFeatures,
		cols.Features)
	var rest []string
	for _, name := range c.names {
		if !slices.Contains(used, name) {
			rest = append(rest, name)
		}
	}
	return rest
}
