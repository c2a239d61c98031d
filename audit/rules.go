package audit

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/pairs"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
)

// moment is a node at a time, or a pair, by its number.
type moment struct {
	of int32
	at event.Time
}

// longestRow is as far as the rule of row lengths counts where no model says how far it looks: the longest rows of
// published settings.
const longestRow = 2048

// explain says how much of the tests of a scenario can be told without learning; of the first, how many of its
// negatives happened, and how its AP moves with the size of batches.
func explain(r *Report, tests []test, set *dataset.Set, p *eval.Protocol, size int) {
	past, t := index.Freeze(p.Split().Full), tests[0]
	var measured [][]rule // of each test, in the same order
	for _, t := range tests {
		measured = append(measured, rules(t, set.Log, past))
	}
	for i, rule := range measured[0] {
		var found []string
		for k, t := range tests {
			ap, auc := batchMean(measured[k][i].batches)
			found = append(found, fmt.Sprintf("%s AP %s, AUC %s, the result %s",
				t.noted.Strategy, term.Percent(ap), term.Percent(auc), term.Percent(t.reached())))
		}
		r.tell("rule: "+rule.name, string(t.noted.Scenario)+": "+strings.Join(found, "; "))
	}
	of := t.noted.Name() + ": "
	happened, drawn, now := realNegatives(t.questions, set.Log)
	r.tell("negatives that are positives", fmt.Sprintf("%s%d of %d happen at their very time, %d within their batch",
		of, now, drawn, happened))
	if t.answers == nil {
		return
	}
	var moves []string
	for _, n := range []int{size / 8, size / 4, size / 2, size, 2 * size, 4 * size} {
		if n > 0 {
			ap, _ := batchMean(regroup(t.answers, n))
			moves = append(moves, fmt.Sprintf("%d: %s", n, term.Percent(ap)))
		}
	}
	r.tell(batchSizes,
		fmt.Sprintf("%sAP in batches of %s; measured in batches of %d", of, strings.Join(moves, ", "), size))
}

// reached is the AP of a test, as it is written down where nobody could be asked again.
func (t test) reached() float64 {
	if t.answers == nil {
		return t.noted.AP
	}
	ap, _ := batchMean(t.answers)
	return ap
}

// rule is what can be told without learning.
type rule struct {
	name    string
	batches []scored
	others  bool // it looks at the other queries of a call, or at their order: it tells how a protocol leaks
}

func rules(t test, log *event.Log, past index.View) []rule {
	longest := cmp.Or(t.longest, longestRow)
	met, recent := edgeBank(t.questions, log), recentActivity(t.questions, past, log.At(0).Time)
	return []rule{
		{"EdgeBank (the pair had met before)", met, false},
		{"recent activity (how long ago both last did anything)", recent, false},
		{"recent activity, unmet pairs first (the pair had never met)", unmetFirst(t.questions, recent, met),
			false},
		{"what comes next (whom sources met after the source's latest two partners)", nextItem(t.questions, log),
			false},
		{fmt.Sprintf("row length (the longest history among the destinations of its call, up to %d)", longest),
			rowLength(t.questions, past, longest), true},
		{"seen at this instant (in an earlier batch)", seenNow(t.questions), true},
	}
}

// RuleResult is what a rule that learns nothing reached in a test.
type RuleResult struct {
	eval.Row      // Contender is the rule's name
	Others   bool // it looks at the other queries of a call: it tells how much the way of asking gives away
}

// Rules measures what can be told without learning: each rule on the questions of a test, asked in batches of a size.
// EdgeBank is not among them: it is a model.
func Rules(
	ctx context.Context, set *dataset.Set, p *eval.Protocol, scenario protocol.Scenario, strategy protocol.Negatives,
	size int,
) (list []RuleResult, err error) {
	part, err := eval.PartOf(scenario)
	if err != nil {
		return nil, err
	}
	questions, hash, err := draw(p, part, strategy, size)
	if err != nil || len(questions) == 0 {
		return nil, err
	}
	for _, r := range rules(test{questions: questions}, set.Log, index.Freeze(p.Split().Full))[1:] { // not EdgeBank
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name, _, _ := strings.Cut(r.name, " (")
		list = append(list, RuleResult{eval.Row{Scenario: scenario, Strategy: strategy, Contender: name,
			Result: r.result(p.FirstMeetings(part), hash)}, r.others})
	}
	return list, nil
}

// result measures a rule as a model is measured.
func (r rule) result(first []bool, hash string) (m eval.Result) {
	m.Batches, m.Negatives = len(r.batches), hash
	m.AP, m.AUC = batchMean(r.batches)
	var firsts scored
	for _, b := range r.batches {
		ap, _ := measure(b.pos, b.neg)
		m.BatchAP = append(m.BatchAP, ap)
		for i, score := range b.pos {
			if first[m.Positives+i] {
				firsts.pos, firsts.neg = append(firsts.pos, score), append(firsts.neg, b.neg[i])
			}
		}
		m.Positives += len(b.pos)
	}
	ap, auc := measure(firsts.pos, firsts.neg)
	n := len(firsts.pos)
	m.FirstAP, m.FirstAUC, m.FirstPositives = &ap, &auc, &n
	return m
}

// edgeBank scores 1 for pairs that met strictly before the query.
func edgeBank(questions []question, log *event.Log) []scored {
	asked := newAsked(questions)
	first := make([]event.Time, asked.pairs.Len())
	for i := range first {
		first[i] = math.Inf(1)
	}
	all := log.All()
	asked.pairs.FindPairs(all.Src, all.Dst, func(from int, numbers []int32) {
		for i, n := range numbers {
			if n != pairs.None {
				first[n] = min(first[n], all.Time[from+i])
			}
		}
	})
	return by(questions, func(k, i int) float32 {
		if first[asked.number[k][i]] < questions[k].queries[i].Time {
			return 1
		}
		return 0
	})
}

// asked are the pairs of all queries. What is found in a log for them takes memory for each of them, not for the log.
type asked struct {
	pairs  pairs.Table
	number [][]int32 // of question k's query i
}

func newAsked(questions []question) *asked {
	a := &asked{number: make([][]int32, len(questions))}
	var keys []uint64
	for k, q := range questions {
		keys = keys[:0]
		for _, x := range q.queries {
			keys = append(keys, pairs.Key(x.Src, x.Dst))
		}
		a.number[k] = make([]int32, len(keys))
		a.pairs.Add(keys, a.number[k])
	}
	return a
}

// recentActivity scores by the product of the times since the last event of each node, strictly before the query. A
// product does not depend on the unit of time. A node without events counts as last active when the stream began.
func recentActivity(questions []question, past index.View, start event.Time) []scored {
	return by(questions, func(k, i int) (score float32) {
		x := questions[k].queries[i]
		for _, n := range []event.Node{x.Src, x.Dst} {
			last := start
			if h := past.Before(n, x.Time); h.Len() > 0 {
				last = h.Time[h.Len()-1]
			}
			score -= float32(math.Log(max(x.Time-last, math.SmallestNonzeroFloat32)))
		}
		return score
	})
}

// unmetFirst ranks pairs that never met before all others, and keeps the order within both groups. A historical
// negative is a pair that met.
func unmetFirst(questions []question, scores, met []scored) []scored {
	return by(questions, func(k, i int) float32 { return scores[k].at(i) + 512*(1-met[k].at(i)) })
}

// nextItem is a Markov chain of second order: how often did sources meet the destination after the source's latest two
// partners? The share after both is smoothed, with the weight of five events, by the share after the last one, and that
// by the destination's share of all events. All events are strictly before the query.
func nextItem(questions []question, log *event.Log) []scored {
	met := newFollowing(log)
	return inTime(questions, func(x *sample.Query) float32 {
		met.advance(x.Time)
		share := 0.0
		for _, c := range met.contexts(x.Src) {
			share = (float64(met.count(c, x.Dst)) + 5*share) / (float64(met.count(c, 0)) + 5)
		}
		return float32(share)
	})
}

// inTime scores all queries with a rule that is asked in the order of time.
func inTime(questions []question, rule func(*sample.Query) float32) []scored {
	type place struct{ k, i int }
	var order []place
	scores := make([][]float32, len(questions))
	for k, q := range questions {
		scores[k] = make([]float32, len(q.queries))
		for i := range q.queries {
			order = append(order, place{k, i})
		}
	}
	at := func(p place) *sample.Query { return &questions[p.k].queries[p.i] }
	slices.SortStableFunc(order, func(a, b place) int { return cmp.Compare(at(a).Time, at(b).Time) })
	for _, p := range order {
		scores[p.k][p.i] = rule(at(p))
	}
	return by(questions, func(k, i int) float32 { return scores[k][i] })
}

// rowLength scores by the longest history among the destinations of a call: positives are one call, negatives another.
// Which way it tells is the one thing that is fitted.
func rowLength(questions []question, past index.View, most int) []scored {
	longest := make([][2]int, len(questions))
	for k, q := range questions {
		for i, x := range q.queries {
			row := &longest[k][i/q.events.Len()]
			*row = max(*row, min(most, past.Before(x.Dst, x.Time).Len()))
		}
	}
	rule := func(sign int) ([]scored, float64) {
		list := by(questions, func(k, i int) float32 {
			return float32(sign * longest[k][i/questions[k].events.Len()])
		})
		ap, _ := batchMean(list)
		return list, ap
	}
	up, a := rule(1)
	if down, b := rule(-1); b > a {
		return down
	}
	return up
}

// seenNow scores how many of the two were in an earlier batch at the very time of the query.
func seenNow(questions []question) []scored {
	seen := map[moment]bool{}
	return by(questions, func(k, i int) (score float32) {
		if i == 0 && k > 0 {
			before := questions[k-1].events
			for e, at := range before.Time {
				seen[moment{before.Src[e], at}], seen[moment{before.Dst[e], at}] = true, true
			}
		}
		x := questions[k].queries[i]
		for _, n := range []event.Node{x.Src, x.Dst} {
			if seen[moment{n, x.Time}] {
				score++
			}
		}
		return score
	})
}

// by scores query i of question k with a rule, one after the other.
func by(questions []question, rule func(k, i int) float32) []scored {
	list := make([]scored, len(questions))
	for k, q := range questions {
		for i := range q.queries {
			if s := rule(k, i); i < q.events.Len() {
				list[k].pos = append(list[k].pos, s)
			} else {
				list[k].neg = append(list[k].neg, s)
			}
		}
	}
	return list
}

// realNegatives counts negatives that happen in their batch, and that happen at their very time anywhere.
func realNegatives(questions []question, log *event.Log) (within, drawn, now int) {
	asked := newAsked(questions)
	order := func(a, b moment) int { return cmp.Or(cmp.Compare(a.of, b.of), cmp.Compare(a.at, b.at)) }
	var negatives []moment
	for k, q := range questions {
		n := q.events.Len()
		batch := map[int32]bool{}
		for i := range n {
			batch[asked.number[k][i]] = true
		}
		for i, x := range q.queries[n:] {
			pair := asked.number[k][n+i]
			negatives = append(negatives, moment{pair, x.Time})
			if drawn++; batch[pair] {
				within++
			}
		}
	}
	slices.SortFunc(negatives, order)
	happened := make([]bool, len(negatives)) // of the first of those that are alike
	all := log.All()
	asked.pairs.FindPairs(all.Src, all.Dst, func(from int, numbers []int32) {
		for i, n := range numbers {
			if n == pairs.None {
				continue
			}
			if at, found := slices.BinarySearchFunc(negatives, moment{n, all.Time[from+i]}, order); found {
				happened[at] = true
			}
		}
	})
	for i := range negatives {
		if i > 0 && negatives[i] == negatives[i-1] {
			happened[i] = happened[i-1]
		}
		if happened[i] {
			now++
		}
	}
	return within, drawn, now
}
