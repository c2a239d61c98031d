package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/dygmamba/dygmamba/calibration"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/page"
	"github.com/dygmamba/dygmamba/internal/paper"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

type evalDoc struct {
	Model       string            `json:"model"`
	Task        protocol.Task     `json:"task,omitempty"` // "" is link prediction
	Data        eval.DataRecord   `json:"data"`
	Sampling    protocol.Sampling `json:"sampling"`
	Split       eval.SplitRecord  `json:"split"`
	BatchSize   int               `json:"batch_size"`
	PerPositive int               `json:"num_negatives"`
	Aggregation string            `json:"metric_aggregation"`
	Order       protocol.Order    `json:"order,omitempty"` // in which a memory learned of events
	// what scores depend on beside what happened before their own time
	Conditions  []string `json:"conditions,omitempty"`
	Checkpoints []string `json:"checkpoints,omitempty"`
	// how first meetings stand to returning pairs in the scores of models of the task next, chosen on validation data
	Relations []eval.Relation `json:"relations,omitempty"`
	Results   []resultDoc     `json:"results"`
	Summary   []summaryDoc    `json:"summary,omitempty"` // of several seeds
	Kinds     []kindsDoc      `json:"kinds,omitempty"`   // of models that tell kinds of events apart

	// of --protocol tgb
	Protocol  string `json:"protocol,omitempty"`
	Opponents string `json:"opponents,omitempty"` // whom destinations were ranked among
	Limit     int    `json:"limit,omitempty"`     // how many of the test events were asked about

	seenOnly bool
}

func (e *evaluation) describe(set *dataset.Set, split *dataset.Split) *evalDoc {
	return &evalDoc{
		Model: e.model, Task: e.task(), Data: eval.RecordData(set), Sampling: set.Sampling,
		Split: eval.RecordSplit(split), BatchSize: e.spec.Training.BatchSize, PerPositive: e.options.PerPositive,
		Aggregation: e.aggregation, Order: e.spec.Order, Conditions: e.spec.Conditions(), seenOnly: e.options.SeenOnly,
	}
}

// splitText tells people how the events were cut.
func splitText(d eval.SplitRecord) string {
	return fmt.Sprintf("train %s · val %s · test %s · new-node test %s",
		term.Count(d.Train), term.Count(d.Val), term.Count(d.Test), term.Count(d.NewTest))
}

// resultDoc is one row of the results. Measures are fractions, null where there was nothing to measure.
type resultDoc struct {
	Scenario  protocol.Scenario  `json:"setting"`
	Negatives protocol.Negatives `json:"negatives"`
	Variant   string             `json:"variant"`
	Best      bool               `json:"best"` // of the variants
	AP        number             `json:"ap"`
	AUC       number             `json:"auc"`
	ECE       *float64           `json:"ece,omitempty"` // calibration error; absent for scores that are no log-odds
	Ranking   *eval.Ranking      `json:"ranking,omitempty"`
	Batches   int                `json:"batches"`
	Positives int                `json:"positives"`
	Events    int                `json:"events,omitempty"`  // that were classified
	Moments   int                `json:"moments,omitempty"` // time negatives that were asked about
	// the same of first meetings alone: see eval.Result
	FirstAP        *float64 `json:"first_ap,omitempty"`
	FirstAUC       *float64 `json:"first_auc,omitempty"`
	FirstPositives *int     `json:"first_positives,omitempty"`
	NegativesHash  string   `json:"negatives_hash"`
	// of classes with names, and of values: see eval.Result
	Accuracy *float64          `json:"accuracy,omitempty"`
	MacroF1  *float64          `json:"macro_f1,omitempty"`
	Classes  []eval.ClassScore `json:"classes,omitempty"`
	MAE      *float64          `json:"mae,omitempty"`
	RMSE     *float64          `json:"rmse,omitempty"`
	Rules    []eval.RuleScore  `json:"rules,omitempty"`
	Paper    *paperDoc         `json:"paper,omitempty"`

	Reliability *calibration.Reliability `json:"reliability,omitempty"`

	// of --protocol tgb
	MRR       *float64           `json:"mrr,omitempty"`
	Hits      map[string]float64 `json:"hits,omitempty"`      // shares of places up to 1, 3 and 10
	Opponents float64            `json:"opponents,omitempty"` // of each event, in the mean

	few bool // events: nothing can be concluded
}

// missing is a measure that was not taken.
var missing = number(math.NaN())

// paperDoc is the published number, which is that of the best variant.
type paperDoc struct {
	AP  float64 `json:"ap"`
	AUC float64 `json:"auc"`
}

func resultOf(r eval.Row, aggregation string) resultDoc {
	doc := resultDoc{
		Scenario: r.Scenario, Negatives: r.Strategy, Variant: r.Contender, AP: number(r.AP), AUC: number(r.AUC),
		Ranking: r.Ranking, Batches: r.Batches, Positives: r.Positives, Events: r.Events, Moments: r.Moments,
		NegativesHash: r.Negatives, ECE: r.ECE, Reliability: r.Reliability, few: r.TooFew(),
		FirstAP: r.FirstAP, FirstAUC: r.FirstAUC, FirstPositives: r.FirstPositives,
		Accuracy: r.Accuracy, MacroF1: r.MacroF1, Classes: r.Classes, MAE: r.MAE, RMSE: r.RMSE, Rules: r.Rules,
	}
	if aggregation == global {
		doc.AP, doc.AUC = number(r.GlobalAP), number(r.GlobalAUC)
	}
	if r.Batches == 0 || r.RMSE != nil {
		doc.AP, doc.AUC = missing, missing
	}
	return doc
}

// published is the paper's number, if results were measured as its were.
func (d *evalDoc) published(scenario protocol.Scenario, negatives protocol.Negatives) *paperDoc {
	r, ok := paper.Lookup(scenario, negatives, d.Data.Name, d.Model)
	if !ok || r.Timeout || !d.comparable() {
		return nil
	}
	return &paperDoc{r.AP.Mean / 100, r.AUC.Mean / 100}
}

// comparable says whether results were measured as the published ones.
func (d *evalDoc) comparable() bool {
	return d.Sampling == protocol.Reference && d.BatchSize == eval.BatchSize && d.PerPositive == 1 &&
		d.Aggregation == batchMean && !d.seenOnly
}

// replaceable refuses a directory whose result.json is none of eval's, such as that of a training.
func replaceable(dir string) error {
	path := filepath.Join(dir, run.ResultFile)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var was struct {
		Split       any
		Aggregation string `json:"metric_aggregation"`
	}
	if json.Unmarshal(raw, &was) != nil || was.Split == nil || was.Aggregation == "" {
		return usagef("--out %s: its %s was not written by eval and would be overwritten, want another directory", dir,
			run.ResultFile)
	}
	return nil
}

// save keeps the document in a directory; "" for none.
func (d *evalDoc) save(dir string) error {
	if dir == "" {
		return nil
	}
	write := func(w io.Writer) error { return encode(w, d) }
	if err := replaceFile(filepath.Join(dir, run.ResultFile), write); err != nil {
		return err
	}
	return d.draw(filepath.Join(dir, reliabilityFile))
}

func (d *evalDoc) write(w io.Writer, s term.Style) error {
	if d.Protocol == protocolTGB {
		return d.writeTGB(w, s)
	}
	fmt.Fprintf(w, "%s on %s: %s events, %s nodes, %s sampling\n\n", s.Strong(d.Model), s.Strong(d.Data.Name),
		term.Count(d.Data.Events), term.Count(d.Data.Nodes), d.Sampling)
	if answers := d.answers(); answers != nil {
		return answers.writeWith(w, s, splitText(d.Split))
	}
	if err := d.table().Write(w, s); err != nil {
		return err
	}
	how := "mean over batches"
	if d.Aggregation == global || d.Results[0].Negatives == protocol.TimeNegatives {
		how = "over all scores"
	}
	how += fewNote(slices.ContainsFunc(d.Results, func(r resultDoc) bool { return r.few && r.Batches > 0 }))
	if d.PerPositive > 1 {
		how += fmt.Sprintf("; MRR and Hits@K in percent, among %s negatives", term.Count(d.PerPositive))
	}
	fmt.Fprintf(w, "\n  %s\n\n", s.Dim(fmt.Sprintf("AP and AUC in percent, %s; batches of %d", how, d.BatchSize)))
	if err := d.writeKinds(w, s); err != nil {
		return err
	}
	var f term.Facts
	f.Add("split", splitText(d.Split))
	f.Add("", "sha256 "+d.Split.Hash)
	for _, r := range d.Relations {
		f.Add("relation", fmt.Sprintf("order of first meetings × %v, returning against first × %v (by validation)",
			r.First, r.Between))
	}
	name := "first meetings"
	for _, r := range d.Results {
		if text := r.firstText(); text != "" {
			f.Add(name, text)
			name = ""
		}
	}
	name = "negatives"
	for i, r := range d.Results {
		if d.opens(i) && d.Task != protocol.NodeClassification {
			f.Add(name, fmt.Sprintf("sha256 %s  %s, %s", r.NegativesHash, r.Scenario, r.Negatives))
			name = ""
		}
	}
	return f.Write(w, s)
}

// firstText tells of pairs that had not interacted before, "" where there are none.
func (r resultDoc) firstText() string {
	if r.FirstPositives == nil || *r.FirstPositives == 0 {
		return ""
	}
	text := fmt.Sprintf("AP %s, AUC %s  %s, %s, %s of %s positives", term.Percent(*r.FirstAP),
		term.Percent(*r.FirstAUC), r.Scenario, r.Negatives, term.Count(*r.FirstPositives), term.Count(r.Positives))
	if r.Variant != "" {
		text += ", " + r.Variant
	}
	return text
}

// opens says whether result i is the first of its scenario and negatives.
func (d *evalDoc) opens(i int) bool {
	return i == 0 || d.Results[i-1].Scenario != d.Results[i].Scenario ||
		d.Results[i-1].Negatives != d.Results[i].Negatives
}

func (d *evalDoc) table() *term.Table {
	published, ranked := false, d.PerPositive > 1
	for _, r := range d.Results {
		published = published || r.Paper != nil
	}
	for _, m := range d.Summary {
		published = published || m.Paper != nil
	}
	several := slices.ContainsFunc(d.Results, func(r resultDoc) bool { return r.Variant != "" || r.Batches == 0 })
	columns := []term.Column{term.Left("setting"), term.Left("negatives")}
	if d.Task == protocol.NodeClassification {
		columns[1] = term.Left("labels")
	}
	if several {
		columns = append(columns, term.Left("variant"), term.Left(""))
	}
	columns = append(columns, term.Right("AP"), term.Right("AUC"))
	reliable := slices.ContainsFunc(d.Results, func(r resultDoc) bool { return r.ECE != nil })
	if reliable {
		columns = append(columns, term.Right("ECE"))
	}
	if published {
		columns = append(columns, term.Right("paper AP"), term.Right("AUC"))
	}
	if ranked {
		columns = append(columns, term.Right("MRR"), term.Right("Hits@1"), term.Right("@3"), term.Right("@10"))
	}
	t := term.NewTable(columns...)
	for i, r := range d.Results {
		head := []string{"", ""}
		if d.opens(i) {
			if several {
				t.Gap()
			}
			head = []string{string(r.Scenario), string(r.Negatives)}
			if d.Task == protocol.NodeClassification {
				head[1] = fmt.Sprintf("%s of %s events", term.Count(r.Positives), term.Count(r.Events))
			}
		}
		if r.Batches == 0 {
			if d.opens(i) {
				t.Row(append(head, "no events to ask about")...)
			}
			continue
		}
		cells := head
		if several {
			cells = append(cells, r.Variant, "")
		}
		cells = append(cells, doubted(term.Percent(float64(r.AP)), r.few), doubted(term.Percent(float64(r.AUC)), r.few))
		if reliable {
			cells = append(cells, eceCell(r.ECE))
		}
		if published {
			cells = append(cells, r.Paper.cells()...)
		}
		if ranked {
			cells = append(cells, rankingCells(r.Ranking)...)
		}
		if r.Best && r.Variant != "" {
			cells[3] = "best"
			t.Mark(cells...)
		} else {
			t.Row(cells...)
		}
		if mean := d.summaryOf(r, reliable, published); mean != nil && (i+1 == len(d.Results) || d.opens(i+1)) {
			t.Mark(mean...)
		}
	}
	return t
}

func eceCell(ece *float64) string {
	if ece == nil {
		return ""
	}
	return term.Percent(*ece)
}

func (p *paperDoc) cells() []string {
	if p == nil {
		return []string{"", ""}
	}
	return []string{term.Percent(p.AP), term.Percent(p.AUC)}
}

func rankingCells(r *eval.Ranking) []string {
	if r == nil {
		return []string{"–", "–", "–", "–"}
	}
	return []string{term.Percent(r.MRR), term.Percent(r.Hits1), term.Percent(r.Hits3), term.Percent(r.Hits10)}
}

// reliabilityFile is the plot that eval leaves beside its document.
const reliabilityFile = "reliability.svg"

// draw plots what came true beside what was said, a figure for each kind of negatives of the first setting and the
// first seed. Where scores are no log-odds there is nothing to draw, and a plot of an earlier evaluation goes away.
func (d *evalDoc) draw(path string) error {
	var picture page.Picture
	for i, r := range d.Results {
		if d.opens(i) && r.Scenario == d.Results[0].Scenario && r.Reliability != nil {
			picture = append(picture, page.ReliabilityFigure(string(r.Negatives)+" negatives", *r.Reliability))
		}
	}
	if picture == nil {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return replaceFile(path, picture.Write)
}
