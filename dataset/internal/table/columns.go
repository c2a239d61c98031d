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
	Kind         string   `json:"kind,omitempty"`
	ID           string   `json:"id,omitempty"`
	Value        string   `json:"value,omitempty"`         // is among Features too
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
	if c.Kind != "" {
		text += ", kind " + c.Kind
	}
	if c.ID != "" {
		text += ", id " + c.ID
	}
	if c.Value != "" {
		text += ", value " + c.Value
	}
	return text
}

// Names that columns commonly have, the likelier first; compared without case, spaces, dots, dashes and underscores.
var (
	sourceNames = []string{"src", "source", "sourceid", "srcid", "u", "user", "userid", "uid", "from", "fromid",
		"sender", "head", "subject", "author", "customer", "customerid", "node1", "origin", "originid", "person",
		"personid", "country", "client", "clientid", "account", "accountid", "member", "memberid", "visitor",
		"visitorid", "buyer", "payer", "caller", "actor", "srcip", "sourceip", "who"}
	targetNames = []string{"dst", "dest", "destination", "target", "targetid", "destinationid", "dstid", "i", "v",
		"item", "itemid", "iid", "to", "toid", "receiver", "recipient", "tail", "object", "product",
		"productid", "node2", "file", "page", "url", "path", "place", "placeid", "resolution", "callee", "payee",
		"seller", "merchant", "merchantid", "shop", "store", "article", "song", "track", "video", "movie", "movieid",
		"book", "course", "courseid", "dstip", "destip", "destinationip", "partner", "what"}
	timeNames = []string{"ts", "t", "time", "timestamp", "datetime", "date", "unixtime", "unixtimestamp", "unixts",
		"createdat", "eventtime", "at", "when", "created", "day", "timems", "timestampms", "epoch", "starttime"}
	labelNames = []string{"label", "statelabel", "y"}
	nodeNames  = []string{"id", "node", "nodeid", "name"}
	roleNames  = []string{"side", "role"}
)

// chooser picks columns from a table's names.
type chooser struct {
	file  string
	names []string
}

// role is what a column is for: the name that an option asks for, or "" and those that are likely.
type role struct {
	asked        string
	likely       []string
	what, option string
}

// roles are those of the columns that every event has.
func (o *Options) roles() [3]role {
	return [3]role{
		{o.Source, sourceNames, "source", "the option Source"},
		{o.Target, targetNames, "destination", "the option Target"},
		{o.Time, timeNames, "time", "the option Time"},
	}
}

// pick is the column asked for, or else the likeliest. Where there is none, the error names the option that sets it.
func (c chooser) pick(r role) (string, error) {
	if slices.Contains(c.names, r.asked) && r.asked != "" {
		return r.asked, nil
	}
	name := c.guess(r.likely)
	switch {
	case r.asked != "":
		return "", input.FileError(c.file, "no column "+r.asked, "one of its columns: "+c.list()+c.headless())
	case name == "" && len(r.likely) == 0:
		return "", input.FileError(c.file, "a column without a name in "+r.option, "one of its columns: "+c.list())
	case name == "":
		return "", input.FileError(c.file, "the columns "+c.list(),
			fmt.Sprintf("one for the %s, called for example %s or %s, or named by %s%s",
				r.what, r.likely[0], r.likely[1], r.option, c.headless()))
	}
	return name, nil
}

// all checks that all columns of a list are there.
func (c chooser) all(list []string, option string) error {
	for _, name := range list {
		if _, err := c.pick(role{asked: name, option: option}); err != nil {
			return err
		}
	}
	return nil
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
	cols := Columns{Label: c.guess(labelNames), EdgeFeatures: o.EdgeFeatures}
	roles := o.roles()
	if len(c.names) == len(roles) && slices.Equal(c.names, []string{"1", "2", "3"}) { // without a header
		for i, name := range c.names {
			roles[i].likely = append(slices.Clip(roles[i].likely), name)
		}
	}
	for i, to := range []*string{&cols.Source, &cols.Target, &cols.Time} {
		var err error
		if *to, err = c.pick(roles[i]); err != nil {
			return cols, err
		}
	}
	if o.Label != "" {
		cols.Label = o.Label
		if err := c.all([]string{o.Label}, "the option Label"); err != nil {
			return cols, err
		}
	}
	if err := c.all(o.EdgeFeatures, "the option EdgeFeatures"); err != nil {
		return cols, err
	}
	if cols.Source == cols.Target || cols.Source == cols.Time || cols.Target == cols.Time {
		return cols, input.FileError(c.file,
			fmt.Sprintf("source %s, destination %s and time %s", cols.Source, cols.Target, cols.Time),
			"three different columns")
	}
	if cols.Label == cols.Source || cols.Label == cols.Target || cols.Label == cols.Time {
		if o.Label != "" {
			return cols, &input.Error{File: c.file, Row: -1, Column: o.Label, Found: "the source, destination or time",
				Want: "a column of its own for the label"}
		}
		cols.Label = ""
	}
	if err := c.kind(o, &cols); err != nil || o.ID == "" {
		return cols, err
	}
	if slices.Contains([]string{cols.Source, cols.Target, cols.Time, cols.Label, cols.Kind, cols.ID}, o.ID) {
		return cols, &input.Error{File: c.file, Row: -1, Column: o.ID, Found: "a column that means something else",
			Want: "a column of its own for the ids of events"}
	}
	cols.ID = o.ID
	return cols, c.all([]string{o.ID}, "the option ID")
}

// kind picks the column of kinds, where one is asked for.
func (c chooser) kind(o Options, cols *Columns) error {
	if o.Kind == "" {
		return nil
	}
	if cols.Label == o.Kind && o.Label == "" {
		cols.Label = ""
	}
	if slices.Contains([]string{cols.Source, cols.Target, cols.Time, cols.Label}, o.Kind) {
		return &input.Error{File: c.file, Row: -1, Column: o.Kind, Found: "the source, destination, time or label",
			Want: "a column of its own for the kind"}
	}
	cols.Kind = o.Kind
	return c.all([]string{o.Kind}, "the option Kind")
}

// value picks the column of values, where one is asked for.
func (c chooser) value(o Options, cols *Columns) error {
	asked := o.Value
	if asked == "" {
		return nil
	}
	if cols.Label == asked && o.Label == "" {
		cols.Label = "" // it was guessed
	}
	if slices.Contains(append([]string{cols.Source, cols.Target, cols.Time, cols.Label, cols.Kind,
		cols.ID}, cols.EdgeFeatures...), asked) {
		return &input.Error{File: c.file, Row: -1, Column: asked, Found: "a column that means something else",
			Want: "a column of its own for the value"}
	}
	cols.Value = asked
	return c.all([]string{asked}, "the option Value")
}

// rest are the columns that mean nothing.
func (c chooser) rest(cols Columns) []string {
	used := slices.Concat([]string{"", cols.Source, cols.Target, cols.Time, cols.Label, cols.Kind, cols.ID},
		cols.EdgeFeatures, cols.Features)
	return without(c.names, used)
}

// without is a list without what is in another.
func without(list, others []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(name string) bool { return slices.Contains(others, name) })
}
