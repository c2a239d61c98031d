package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/model"
)

// demoDoc is the document of demo. All but its times is the same for the same seed.
type demoDoc struct {
	Seed     uint64           `json:"seed"`
	Data     eval.DataRecord  `json:"data"`
	Split    eval.SplitRecord `json:"split"`
	Settings []string         `json:"settings"`
	Models   []demoModel      `json:"models"`
	Example  demoExample      `json:"example"`
	Page     string           `json:"page"` // the file
	Seconds  float64          `json:"seconds"`
}

// demoModel is how one model did on the test events.
type demoModel struct {
	Name       string      `json:"model"`
	Variant    string      `json:"variant,omitempty"` // EdgeBank's memory
	Parameters int         `json:"parameters"`
	BestEpoch  int         `json:"best_epoch,omitempty"`
	Epochs     []demoEpoch `json:"epochs,omitempty"`
	AP         float64     `json:"ap"`
	AUC        float64     `json:"auc"`
	Seconds    float64     `json:"seconds,omitempty"`
}

type demoEpoch struct {
	Epoch int     `json:"epoch"`
	Loss  float64 `json:"train_loss"`
	AP    float64 `json:"val_ap"`
}

// model finds one by name.
func (d *demoDoc) model(name string) demoModel {
	for _, m := range d.Models {
		if m.Name == name {
			return m
		}
	}
	return demoModel{}
}

// say tells people something at once; with --json they hear nothing before the document.
func (t *tour) say(tell func(w io.Writer, s term.Style) error) {
	if !t.app.json {
		tell(t.app.out, term.StyleOf(t.app.out))
	}
}

func (t *tour) spec() (model.Spec, error) {
	f, err := dygmamba.Factory(demoWhole)
	if err != nil {
		return model.Spec{}, err
	}
	return f.Spec("", t.set.Name, t.settings...)
}

func (t *tour) tellStream(w io.Writer, s term.Style) error {
	d := t.doc
	fmt.Fprintf(w, "%s  %s events between %d sources and %d destinations.\n", s.Strong("1. A stream."), term.Count(d.Data.Events), t.stream.Sources, t.stream.Targets)
	fmt.Fprintf(w, "   Every pair meets in a rhythm of its own:\n\n")
	const columns, pairs = 64, 5
	end := t.split.Train.At(t.split.Train.Len() - 1).Time
	begin := end - 4*t.stream.LongGap
	for i := range pairs {
		dst := event.Node(1 + t.stream.Sources + i)
		line := []rune(strings.Repeat("·", columns))
		for _, at := range t.meetings(1, dst, begin, end) {
			line[min(columns-1, int((at-begin)/(end-begin)*columns))] = '│'
		}
		fmt.Fprintf(w, "   %s–%-4s %s\n", t.set.Names.Name(1), t.set.Names.Name(dst), s.Dim(string(line)))
	}
	_, err := fmt.Fprintf(w, "\n   %s events are for learning, %s for choosing, the last %s for the verdict.\n\n",
		term.Count(d.Split.Train), term.Count(d.Split.Val), term.Count(d.Split.Test))
	return err
}

func (t *tour) tellModels(w io.Writer, s term.Style) error {
	_, err := fmt.Fprintf(w, "%s  DyGMamba looks at the gaps between a pair's meetings;\n   its variant A is the same model without that.\n\n", s.Strong("2. Two models."))
	return err
}

func (m demoModel) tell(w io.Writer, _ term.Style) error {
	_, err := fmt.Fprintf(w, "   %-10s  %s parameters, %d epochs in %s, AP from %s to %s\n", m.Name, term.Count(m.Parameters), len(m.Epochs),
		term.Duration(seconds(m.Seconds)), term.Percent(m.Epochs[0].AP), term.Percent(m.Epochs[m.BestEpoch-1].AP))
	return err
}

func (d *demoDoc) tellVerdict(w io.Writer, s term.Style) error {
	fmt.Fprintf(w, "\n%s  Half of the questions are about events that happened,\n   half about events that did not; 50 is chance.\n\n", s.Strong("3. A verdict."))
	t := term.NewTable(term.Left("model"), term.Left(""), term.Right("AP"), term.Right("AUC"))
	for i, m := range d.Models {
		add := t.Row
		if i == 0 {
			add = t.Mark
		}
		add(m.Name, demoNames[m.Name], term.Percent(m.AP), term.Percent(m.AUC))
	}
	return t.Write(w, s)
}

// demoNames say what the models are.
var demoNames = map[string]string{
	demoWhole:   "sees the pair's rhythm",
	demoWithout: "the same without temporal patterns",
	demoBank:    "remembers who met",
}

// farewell is the last station.
func (d *demoDoc) farewell(w io.Writer, s term.Style) error {
	fmt.Fprintf(w, "\n%s  All of this with plots: %s\n\n", s.Strong("5. A page."), s.Strong(d.Page))
	fmt.Fprintf(w, "%s\n\n", s.Strong("Go on with your own events:"))
	for line := range strings.Lines(demoCommands) {
		fmt.Fprint(w, "  "+line)
	}
	_, err := fmt.Fprintf(w, "\n  %s\n", s.Dim(fmt.Sprintf("The tour took %s. The same seed (%d) gives the same numbers again.", term.Duration(seconds(d.Seconds)), d.Seed)))
	return err
}

const demoCommands = `dygmamba data import visits.csv --out visits.dgm
dygmamba train --data visits.dgm --out runs/visits
dygmamba eval --run runs/visits
dygmamba predict --run runs/visits --queries questions.csv \
    --out answers.csv --explain why.jsonl
`
