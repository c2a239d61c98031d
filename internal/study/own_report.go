package study

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/audit"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/atomicfile"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// OwnFile is what a study of one's own writes, with each of the endings in Formats.
const OwnFile = "study"

// OwnDocument is a study of one's own: its tables, and every number that they are made of.
type OwnDocument struct {
	Document
	Conditions string      `json:"conditions"`
	Machine    Machine     `json:"machine"`
	Version    string      `json:"version"`
	Cells      []Result    `json:"cells"`
	Runs       []Command   `json:"runs"`
	Data       []StudyData `json:"data"`
}

// StudyData is a data set of a study.
type StudyData struct {
	Name string `json:"name"`
	Hash string `json:"hash"`
	// Events of it, and those of the training.
	Events      int `json:"events"`
	TrainEvents int `json:"train_events"`
}

// Result is one test of one run, or of a rule, which has no seed.
type Result struct {
	Data      string             `json:"data"`
	Model     string             `json:"model"`
	Seed      *uint64            `json:"seed,omitempty"`
	Scenario  protocol.Scenario  `json:"setting"`
	Negatives protocol.Negatives `json:"negatives"`
	AP        float64            `json:"ap"`
	AUC       float64            `json:"auc"`
	FirstAP   *float64           `json:"first_ap"`
	State     string             `json:"state"`
	Settings  []string           `json:"settings,omitempty"` // chosen by validation
}

// Command is a run of a study and how to make it again.
type Command struct {
	Run     string          `json:"run"`
	State   string          `json:"state"`
	Command string          `json:"command"`
	Hashes  json.RawMessage `json:"hashes,omitempty"`
}

// ownRow is a model or a rule on all data sets of a study: what it has on each.
type ownRow struct {
	name string
	jobs [][]*Job     // of a model: the chosen training of each data set, by seed
	rows [][]eval.Row // of a rule: on each data set
	// others says that a rule looks at other queries: nothing is to be compared with it.
	others bool
}

// chosen are the runs of the training of a model that does best on the validation data of a set: without axes the only
// one.
func (r *runner) chosen(set *source, name string) (best []*Job) {
	top := -1.0
	for _, j := range r.jobs {
		if j.Data != set.Name || j.Model != name || j.Seed != 0 {
			continue
		}
		seeds := r.trainings[j.Name]
		n, sum := 0, 0.0
		for _, s := range seeds {
			if v := s.found.Result.Val; s.counts() && v != nil {
				n, sum = n+1, sum+v.AP
			}
		}
		if mean := sum / float64(max(1, n)); best == nil || mean > top {
			best, top = seeds, mean
		}
	}
	return best
}

// counts says whether tables show the run.
func (j *Job) counts() bool { return j.found.state == Done || j.found.state == Cut }

// ownRows are the rows of all tables: models, EdgeBank, rules.
func (r *runner) ownRows() (list []ownRow) {
	for _, m := range r.Own.Models {
		x := ownRow{name: m}
		for _, set := range r.sources {
			x.jobs = append(x.jobs, r.chosen(set, m))
		}
		list = append(list, x)
	}
	x := ownRow{name: "EdgeBank"}
	rules := map[string]*ownRow{}
	var names []string
	for k, set := range r.sources {
		x.rows = append(x.rows, nil)
		if f := r.measures.rules[on{set.Name, bank()}]; f != nil {
			for _, scenario := range protocol.Scenarios() {
				for _, negatives := range protocol.Published() {
					if best, ok := f.best(scenario, negatives); ok {
						x.rows[k] = append(x.rows[k], best)
					}
				}
			}
		}
		if f := r.measures.rules[on{set.Name, rulesName}]; f != nil {
			for _, x := range f.Rules {
				if rules[x.Contender] == nil {
					rules[x.Contender] = &ownRow{name: "rule: " + x.Contender, rows: make([][]eval.Row, len(r.sources)),
						others: x.Others}
					names = append(names, x.Contender)
				}
				of := rules[x.Contender].rows
				of[k] = append(of[k], x.Row)
			}
		}
	}
	list = append(list, x)
	for _, name := range names {
		list = append(list, *rules[name])
	}
	return list
}

// ownTest is one of the tests of a study, and what a table shows of it.
type ownTest struct {
	scenario  protocol.Scenario
	negatives protocol.Negatives
	metric    string
}

func (t ownTest) title() string {
	return fmt.Sprintf("%s in percent, %s, %s negatives", t.metric, t.scenario, t.negatives)
}

// of is a measure of a test; nothing where that was not measured.
func (t ownTest) of(m eval.Result) (float64, bool) {
	switch {
	case t.metric == "AUC":
		return m.AUC, true
	case t.metric == "AP":
		return m.AP, true
	case m.FirstAP == nil || m.FirstPositives == nil || *m.FirstPositives == 0:
		return 0, false
	}
	return *m.FirstAP, true
}

// firstMetric is AP among first meetings.
const firstMetric = "AP of first meetings"

// number is what a row has on data set k.
func (r *runner) ownNumber(x ownRow, k int, t ownTest) (n number) {
	if x.jobs == nil {
		if x.others {
			n.marks = "x"
		}
		for _, row := range x.rows[k] {
			if row.Scenario == t.scenario && row.Strategy == t.negatives {
				if v, ok := t.of(row.Result); ok {
					n.values = []float64{v}
				}
			}
		}
		return n
	}
	for _, j := range x.jobs[k] {
		if !j.counts() {
			n.words = cmp.Or(n.words, r.brief(j))
			continue
		}
		for _, m := range j.found.Result.Results {
			if v, ok := t.of(m.Result); ok && m.Scenario == t.scenario && m.Strategy == t.negatives {
				n.values, n.runs = append(n.values, v), append(n.runs, j.found.Record)
			}
		}
	}
	if n.runs != nil {
		n.marks, n.context = strings.ReplaceAll(n.runs.letters(), "u", "b"), conditions(n.runs[0].spec)
	}
	return n
}

// ownTable has a row for each model and rule and a column for each data set.
func (r *runner) ownTable(rows []ownRow, test ownTest) Table {
	t := Table{Title: test.title(), Columns: []string{"model"}}
	for _, x := range rows {
		t.Rows = append(t.Rows, row(x.name))
	}
	for k, set := range r.sources {
		for i, x := range rows {
			t.Rows[i] = append(t.Rows[i], r.cell(r.ownNumber(x, k, test)))
		}
		t.rank(k + 1)
		t.Columns = append(t.Columns, set.Name)
	}
	t.explain()
	return t
}

// batchesFile has the AP of every batch of a run's tests, so that runs can be compared batch by batch.
const batchesFile = "test-batches.json"

// batches are those of one test.
type batches struct {
	Scenario protocol.Scenario  `json:"setting"`
	Strategy protocol.Negatives `json:"negatives"`
	Hash     string             `json:"negatives_hash"`
	AP       []float64          `json:"ap"`
}

// writeBatches keeps the batches of a run that was just tested.
func writeBatches(dir string, s run.Summary) error {
	var list []batches
	for _, r := range s.Runs {
		for _, m := range r.Results {
			if m.BatchAP != nil {
				list = append(list, batches{m.Scenario, m.Strategy, m.Negatives, m.BatchAP})
			}
		}
	}
	if list == nil { // it was over before
		return nil
	}
	return atomicfile.WriteJSON(filepath.Join(dir, batchesFile), list)
}

// ownBatches is the mean over seeds of the AP of every batch of a row's random test on data set k; nil where some are
// not known, or were asked otherwise.
func ownBatches(x ownRow, k int) (mean []float64, hash string) {
	if x.jobs == nil {
		for _, row := range x.rows[k] {
			if row.Scenario == protocol.Transductive && row.Strategy == protocol.RandomNegatives {
				return row.BatchAP, row.Negatives
			}
		}
		return nil, ""
	}
	n := 0.0
	for _, j := range x.jobs[k] {
		var list []batches
		raw, err := os.ReadFile(filepath.Join(j.found.Path, batchesFile))
		if !j.counts() || err != nil || json.Unmarshal(raw, &list) != nil {
			continue
		}
		for _, b := range list {
			if b.Scenario != protocol.Transductive || b.Strategy != protocol.RandomNegatives {
				continue
			}
			if mean == nil {
				mean, hash = make([]float64, len(b.AP)), b.Hash
			}
			if b.Hash != hash || len(b.AP) != len(mean) {
				return nil, ""
			}
			n++
			for i, v := range b.AP {
				mean[i] += v
			}
		}
	}
	for i := range mean {
		mean[i] /= n
	}
	return mean, hash
}

// pairs compares, on data set k, the best model with all others, batch by batch.
func (r *runner) pairs(rows []ownRow, k int) Table {
	test := ownTest{protocol.Transductive, protocol.RandomNegatives, "AP"}
	t := Table{Title: "Models on " + r.sources[k].Name + ", batch by batch",
		Columns: []string{"model", "AP", firstMetric, "difference", "better in", "p"}}
	best, top := -1, -1.0
	for i, x := range rows {
		if n := r.ownNumber(x, k, test); len(n.values) > 0 && n.mean() > top && x.jobs != nil {
			best, top = i, n.mean()
		}
	}
	for i, x := range rows {
		cells := append(row(x.name), r.cell(r.ownNumber(x, k, test)),
			r.ownNumber(x, k, ownTest{test.scenario, test.negatives, firstMetric}).cell())
		t.Rows = append(t.Rows, append(cells, r.difference(rows, k, best, i)...))
	}
	t.rank(1)
	t.rank(2)
	t.explain()
	t.prune()
	if best >= 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("Transductive, random negatives. Differences are to %s, batch by batch, "+
			"of means over seeds; p is how often flipping their signs at random gives as much. Batches follow each "+
			"other in time: p speaks about this test, not about other data.", rows[best].name))
	}
	return t
}

// efforts is, for data set k, how far the trainings of each model came.
func (r *runner) efforts(rows []ownRow, k int) Table {
	t := Table{Title: "Trainings on " + r.sources[k].Name, Columns: []string{"model", "seeds", "validation AP",
		"epochs", "best epoch", "epoch, s", "total, s", "parameters"}}
	for _, x := range rows {
		var val number
		var of [5][]float64
		for _, j := range slices.Concat(x.jobs...) {
			if j.Data != r.sources[k].Name || !j.counts() {
				continue
			}
			res := j.found.Result
			if res.Val != nil {
				val.values = append(val.values, res.Val.AP)
			}
			for i, v := range []float64{float64(res.Epochs), float64(res.BestEpoch), res.PerEpoch, res.Seconds,
				float64(res.Params)} {
				of[i] = append(of[i], v)
			}
		}
		if of[0] == nil {
			continue
		}
		cells := append(row(x.name, fmt.Sprint(len(of[0]))), val.cell())
		for _, list := range of {
			mean, _ := meanStd(list)
			cells = append(cells, Cell{Text: fmt.Sprintf("%.*f", digitsOf(mean), mean), Value: &mean})
		}
		t.Rows = append(t.Rows, cells)
	}
	t.Notes = []string{"Means over seeds. No epoch: the time was up in the first one."}
	return t
}

// digitsOf is how many digits a number needs after its point, to have about three.
func digitsOf(v float64) int {
	switch {
	case v == float64(int(v)) || v >= 100:
		return 0
	case v >= 10:
		return 1
	}
	return 2
}

// difference has the cells that compare row i with the best one.
func (r *runner) difference(rows []ownRow, k, best, i int) []Cell {
	none := make([]Cell, 3)
	if best < 0 || best == i {
		return none
	}
	a, hash := ownBatches(rows[i], k)
	b, want := ownBatches(rows[best], k)
	if a == nil || hash != want || len(a) != len(b) {
		return none
	}
	d := audit.Paired(a, b)
	return []Cell{{Text: fmt.Sprintf("%+.2f", 100*d.AP), Value: &d.AP},
		{Text: fmt.Sprintf("%d of %d", d.Better, d.Batches)}, {Text: d.Chance()}}
}

// equality says under which conditions the models of a study are compared.
func (r *runner) equality() string {
	var text string
	switch {
	case r.timed():
		text = fmt.Sprintf("Equal time: every training had %.0f s on %s, reading, validation and test included",
			r.state.Share, cmp.Or(r.device, "the same device"))
	case r.Epochs > 0:
		text = fmt.Sprintf("Equal epochs: every training had at most %d epochs", r.Epochs)
	default:
		text = "Every training ran to its end: as many epochs as its preset has, or until validation got no better"
	}
	if len(r.Own.Axes) > 0 {
		text += fmt.Sprintf(". Equal trials: every model was tried with the same number of combinations of %s, and "+
			"the one with the best mean validation AP is shown", run.AxesText(r.Own.Axes))
	}
	var presets []string
	for _, m := range r.Own.Models {
		for _, j := range r.jobs {
			if j.Model == m {
				presets = append(presets, m+" "+j.Preset)
				break
			}
		}
	}
	return text + ". Presets: " + strings.Join(presets, ", ") + ". The best epoch is chosen by validation data alone."
}

// command is how to make a run again.
func (r *runner) command(j *Job) string {
	words := []string{"dygmamba", "train", "--data", cmp.Or(j.Path, j.Data), "--model", j.Model, "--preset", j.Preset}
	for _, s := range j.Settings {
		words = append(words, "--set", s)
	}
	words = append(words, "--seed", fmt.Sprint(j.Seed), "--negatives", "all", "--device", r.Device)
	if r.timed() {
		words = append(words, "--max-time", fmt.Sprintf("%.0fs", r.state.Share))
	}
	for i, w := range words {
		if strings.ContainsAny(w, " '\"$") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// ownDocument makes the tables of a study.
func (r *runner) ownDocument(report *Report) *OwnDocument {
	rows := r.ownRows()
	d := &OwnDocument{Conditions: r.equality(), Machine: report.Machine, Version: report.Version}
	d.Title, d.Lead, d.Foot = "Study", report.lead(), "dygmamba "+report.Version
	d.Notes = []string{d.Conditions, ownConventions}
	for _, metric := range []string{"AP", firstMetric, "AUC"} {
		part := Shown{Exhibit: Exhibit{ID: plainName(strings.ToLower(metric)), Title: upper(metric)}}
		for _, scenario := range protocol.Scenarios() {
			for _, negatives := range protocol.Published() {
				if metric == firstMetric && negatives != protocol.RandomNegatives {
					continue
				}
				t := r.ownTable(rows, ownTest{scenario, negatives, metric})
				if slices.ContainsFunc(t.Rows, func(row []Cell) bool {
					return slices.ContainsFunc(row, func(c Cell) bool { return c.Value != nil })
				}) {
					part.Tables = append(part.Tables, t)
				}
			}
		}
		d.Parts = append(d.Parts, part)
	}
	for k, set := range r.sources {
		d.Parts = append(d.Parts, Shown{Exhibit: Exhibit{ID: "on-" + set.Name, Title: "On " + set.Name},
			Tables: []Table{r.pairs(rows, k), r.efforts(rows, k)}})
		train, _, _ := set.sizes()
		d.Data = append(d.Data, StudyData{set.Name, set.hash, set.Set.Log.Len(), int(train)})
		for _, x := range rows {
			d.Cells = append(d.Cells, x.results(set.Name, k)...)
		}
	}
	d.Parts = append(d.Parts, r.commands(d))
	return d
}

const ownConventions = "Numbers are means over seeds, with the sample standard deviation and the number of seeds " +
	"where there are several. The best of a column is bold, the second underlined. EdgeBank and the rules learn " +
	"nothing; what does no better than they do has learned nothing that is worth its time."

// results are the single numbers of a row on a data set.
func (x ownRow) results(data string, k int) (list []Result) {
	if x.jobs == nil {
		for _, row := range x.rows[k] {
			list = append(list, Result{data, strings.ToLower(x.name), nil, row.Scenario, row.Strategy, row.AP, row.AUC,
				row.FirstAP, Done, nil})
		}
		return list
	}
	for _, j := range x.jobs[k] {
		if !j.counts() {
			continue
		}
		for _, m := range j.found.Result.Results {
			list = append(list, Result{data, x.name, &j.Seed, m.Scenario, m.Strategy, m.AP, m.AUC, m.FirstAP,
				j.found.state, j.Settings})
		}
	}
	return list
}

// commands is the part of a study that says how to make its runs again.
func (r *runner) commands(d *OwnDocument) Shown {
	s := Shown{Exhibit: Exhibit{ID: "runs", Title: "Runs"}}
	t := Table{Title: "Every run and how to make it again", Columns: []string{"run", "state", "settings"}}
	for _, j := range r.jobs {
		c := Command{Run: j.id(), State: j.found.state, Command: r.command(j)}
		if j.found.Path != "" {
			c.Hashes, _ = json.Marshal(j.found.Config.Hashes)
		}
		d.Runs = append(d.Runs, c)
		cells := row(c.Run, cmp.Or(j.found.why, c.State), "`"+c.Command+"`")
		cells[0].Link, cells[1].Conditions = r.relative(j.found.Path), string(c.Hashes)
		t.Rows = append(t.Rows, cells)
	}
	s.Tables = []Table{t}
	return s
}

// writeOwn writes a study of one's own in all formats. LaTeX has its results alone.
func (r *runner) writeOwn(report *Report) error {
	doc := r.ownDocument(report)
	report.Exhibits = append(report.Exhibits, doc.Parts[3:len(doc.Parts)-1]...) // for the terminal: each data set's
	var failed error
	for _, ending := range Formats {
		path := filepath.Join(r.Out, OwnFile+ending)
		shown := doc.Document
		if ending == ".tex" || ending == ".csv" {
			shown.Parts = shown.Parts[:len(shown.Parts)-1]
		}
		failed = errors.Join(failed, atomicfile.Write(path, func(w io.Writer) error {
			if ending == ".json" {
				enc := json.NewEncoder(w)
				enc.SetIndent("", "  ")
				return enc.Encode(doc)
			}
			return shown.Write(w, ending)
		}))
	}
	return failed
}
