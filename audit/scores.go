package audit

import (
	"fmt"
	"math"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/queries"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
)

// ScoresOptions say what scores are about. The first four are needed.
type ScoresOptions struct {
	Scores   []queries.Score // batches of eval.BatchSize positives, each followed by its negatives
	Set      *dataset.Set
	Scenario protocol.Scenario
	Strategy protocol.Negatives // kind of negatives
}

// Scores looks at what any program has said of the test of a data set: are these the events, the negatives and the
// metrics of the protocol, and are equal questions given equal answers?
func Scores(o ScoresOptions) (*Report, error) {
	part, err := eval.PartOf(o.Scenario)
	if err != nil {
		return nil, err
	}
	proto, err := eval.Open(o.Set, eval.Options{})
	if err != nil {
		return nil, err
	}
	t := test{part: part}
	t.noted.Scenario, t.noted.Strategy = o.Scenario, o.Strategy
	hash := ""
	if t.questions, hash, err = draw(proto, part, o.Strategy, eval.BatchSize); err != nil {
		return nil, err
	}
	var r Report
	r.tell("data", fmt.Sprintf("%s, %s", o.Set.Name, o.Set.Hash()))
	r.tell("split", proto.Split().Hash)
	r.tell("negatives of the protocol", hash)
	t.noted.Positives = proto.Events(part).Len()
	r.enough(t.noted)
	if t.align(&r, o.Scores) {
		t.given(&r)
		explain(&r, []test{t}, o.Set, proto, eval.BatchSize)
	}
	equalAnswers(&r, o.Scores)
	r.judge()
	return &r, nil
}

// align finds the answer to each question, and says where the rows ask something else.
func (t *test) align(r *Report, rows []queries.Score) bool {
	want := 0
	for _, q := range t.questions {
		want += len(q.queries)
	}
	shape := len(rows) == want && want > 0
	r.add("rows", shape, fmt.Sprint(len(rows)),
		fmt.Sprintf("%d, batches of %d events, each followed by its negatives", want, eval.BatchSize))
	if !shape {
		const why = "could not be made: other rows"
		for _, name := range []string{"labels", "events", "negatives", "metrics"} {
			r.add(name, false, why, "those of the protocol")
		}
		return false
	}
	labels, events, negatives := mismatch{what: "labels"}, mismatch{what: "events"}, mismatch{what: "negatives"}
	t.answers = by(t.questions, func(k, i int) float32 {
		row, x, about := rows[0], t.questions[k].queries[i], &events
		rows = rows[1:]
		positive := i < t.questions[k].events.Len()
		if !positive {
			about = &negatives
		}
		labels.count(row, x, row.Label == positive)
		about.count(row, x, sameQuery(row.Query, x))
		return float32(row.Score)
	})
	for _, m := range []mismatch{labels, events, negatives} {
		m.report(r)
	}
	return true
}

// sameQuery lets times be rounded to float32, as many programs keep them.
func sameQuery(a, b sample.Query) bool {
	return a.Src == b.Src && a.Dst == b.Dst && (a.Time == b.Time || float32(a.Time) == float32(b.Time))
}

// mismatch counts rows that ask something else than the protocol.
type mismatch struct {
	what         string
	of, others   int
	found, wants string // at the first
}

func (m *mismatch) count(row queries.Score, want sample.Query, ok bool) {
	if m.of++; ok {
		return
	}
	if m.others++; m.others == 1 {
		label := map[bool]int{true: 1}[row.Label]
		m.found = fmt.Sprintf("row %d has %s, %s, %s with label %d", row.Row, row.U, row.I, row.TS, label)
		m.wants = fmt.Sprintf("node %d, node %d, %v", want.Src, want.Dst, want.Time)
	}
}

func (m *mismatch) report(r *Report) {
	found, want := fmt.Sprintf("%d, all as in the protocol", m.of), "those of the protocol"
	if m.others > 0 {
		found, want = fmt.Sprintf("%d of %d differ: %s", m.others, m.of, m.found), want+": "+m.wants
	}
	r.add(m.what, m.others == 0, found, want)
}

// given says what the scores amount to.
func (t *test) given(r *Report) {
	ap, auc := batchMean(t.answers)
	r.tell("metrics", fmt.Sprintf("AP %.6f, AUC %.6f: means over batches of %d", ap, auc, eval.BatchSize))
	all := joined(t.answers)
	ap, auc = measure(all.pos, all.neg)
	r.tell("metrics of all scores at once", fmt.Sprintf("AP %.6f, AUC %.6f", ap, auc))
}

// equalAnswers looks for a question that is asked twice: its score must not depend on where it stands. Logits have no
// bounds, so changes are taken relative to the range of all scores.
func equalAnswers(r *Report, rows []queries.Score) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, s := range rows {
		low, high = min(low, s.Score), max(high, s.Score)
	}
	asked := map[sample.Query]queries.Score{}
	again, moved, where, most := 0, 0, "", 0.0
	for _, s := range rows {
		before, known := asked[s.Query]
		if !known {
			asked[s.Query] = s
			continue
		}
		again++
		if d := math.Abs(s.Score-before.Score) / max(high-low, math.SmallestNonzeroFloat64); d > mostChange {
			if moved++; d > most {
				most = d
				where = fmt.Sprintf(": rows %d and %d, %v and %v", before.Row, s.Row, before.Score, s.Score)
			}
		}
	}
	r.leak("equal questions, equal scores", moved == 0,
		fmt.Sprintf("%s asked again, %d with another score%s", term.Count(again), moved, where),
		"the same score, wherever a question stands")
}
