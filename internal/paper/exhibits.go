package paper

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/dygmamba/dygmamba/protocol"
)

//go:embed exhibits.csv
var exhibitTable string // a row for each; names of a list stand between spaces

//go:embed points.csv
var pointTable string // what is varied in an exhibit: settings, and those of models that call them something else

// Kind says what an exhibit shows, and so what must be done to show it again.
type Kind string

// The kinds.
const (
	Links     Kind = "links"     // AP or AUC of link prediction: models × data sets
	Varied    Kind = "varied"    // AP while a setting changes
	Labels    Kind = "labels"    // AUC of node classification
	Steps     Kind = "steps"     // parameters, time of an epoch, memory
	Totals    Kind = "totals"    // epochs and time till the best one
	Lengths   Kind = "lengths"   // memory against the number of neighbours
	Events    Kind = "events"    // statistics of data sets
	Pairs     Kind = "pairs"     // how often pairs meet
	Histories Kind = "histories" // how much past there is to look at
	Intervals Kind = "intervals" // from one meeting of a pair to the next
)

// Heading is how an exhibit is called.
type Heading struct {
	ID     string `json:"id"`     // as the command line takes it
	Number string `json:"number"` // in the paper, such as "Table 1"
	Title  string `json:"title"`
}

// Exhibit is a table or a figure of the paper.
type Exhibit struct {
	Heading
	Kind      Kind
	Datasets  []string
	Models    []string
	Scenario  protocol.Scenario    // of link prediction: transductive or inductive
	Negatives []protocol.Negatives // kinds of them
	Metric    string               // "AP" or "AUC"
	Points    []Point              // of a Varied one
	Minutes   float64              // of a Varied one: what trainings were allowed on the paper's machine; 0: no limit
	Note      string               // what a reader should know before comparing
}

// Point is one value of what is varied.
type Point struct {
	X        float64
	settings []string // key=value
	others   []string // models with other settings
	theirs   []string
}

// Settings are those of a model at the point.
func (p Point) Settings(model string) []string {
	if slices.Contains(p.others, model) {
		return p.theirs
	}
	return p.settings
}

// Exhibits lists all tables and figures that hold results, in the order of the paper. Its tables of hyper-parameters
// are the presets of the models.
var Exhibits = sync.OnceValue(func() (list []Exhibit) {
	points := map[string][]Point{}
	for _, row := range rows(pointTable) {
		points[row[0]] = append(points[row[0]], Point{number(row[1]), strings.Fields(row[2]), strings.Fields(row[3]),
			strings.Fields(row[4])})
	}
	for _, row := range rows(exhibitTable) {
		e := Exhibit{Heading: Heading{row[0], row[1], row[2]}, Kind: Kind(row[3]), Datasets: strings.Fields(row[4]),
			Models: strings.Fields(row[5]), Scenario: protocol.Scenario(row[6]), Metric: row[8], Points: points[row[0]],
			Minutes: number(row[9]), Note: row[10]}
		for kind := range strings.FieldsSeq(row[7]) {
			e.Negatives = append(e.Negatives, protocol.Negatives(kind))
		}
		list = append(list, e)
	}
	return list
})

// Published is what the paper has for a cell of a table of links or labels.
func (e Exhibit) Published(negatives protocol.Negatives, dataset, model string) (v Value, timeout, ok bool) {
	for _, quantity := range []string{string(negatives), strings.ToLower(e.Metric)} {
		if v, ok = Study(e.ID, dataset, model, quantity); ok {
			return v, false, true
		}
	}
	r, ok := Lookup(e.Scenario, negatives, dataset, model)
	if e.Metric == "AUC" {
		return r.AUC, r.Timeout, ok
	}
	return r.AP, r.Timeout, ok
}

// Find is the exhibits that a name stands for: an id, a number such as "table-1" or "figure-3", or "all".
func Find(name string) ([]Exhibit, bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	found := slices.DeleteFunc(slices.Clone(Exhibits()), func(e Exhibit) bool {
		return name != "all" && name != e.ID && !slices.Contains(e.numbers(), name)
	})
	return found, len(found) > 0
}

// numbers are the forms of an exhibit's number that Find takes.
func (e Exhibit) numbers() []string {
	word, rest, _ := strings.Cut(strings.ToLower(e.Number), " ")
	word = strings.TrimSuffix(word, "s")
	var list []string
	for n := range strings.SplitSeq(rest, " and ") {
		list = append(list, word+"-"+n, word+"-"+strings.TrimRight(n, "ab"))
	}
	return list
}
