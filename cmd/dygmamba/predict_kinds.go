package main

import (
	"math"
	"slices"
	"strconv"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/queries"
)

// Columns of answers by kind.
const (
	kindColumn  = "kind"
	shareColumn = "kind_share"
)

// askKinds lets the questions ask by kind, where the model was trained to tell kinds apart: by the one that a row or
// --kind names, or else by every kind of the data set, which tells the share of each.
func (p *prediction) askKinds(byKind bool) error {
	switch {
	case !byKind && p.kind != "":
		return usagef("--kind %s: the model was not trained with --task %s", p.kind, taskKind)
	case !byKind:
		return nil
	case p.kind != "":
		kind := p.set.Kind(p.kind)
		if kind == 0 {
			return &dataset.InputError{File: "command line", Row: -1, Column: "--kind", Found: strconv.Quote(p.kind),
				Want: p.set.WantKind()}
		}
		for i := range p.questions {
			p.questions[i].Kind = kind
		}
		return nil
	case p.table != nil && slices.ContainsFunc(p.extra, p.isKindColumn):
		return p.asker.AskKinds(p.queries, p.table) // the questions are those of the table
	case p.rank.asked:
		return usagef("--best needs --kind, or a column %s in --queries: the model was trained with --task %s",
			kindColumn, taskKind)
	}
	var all []queries.Question
	for _, q := range p.questions {
		for k, name := range p.set.Kinds {
			one := q
			one.Kind, one.Extra = event.Kind(k+1), append(slices.Clone(q.Extra), name, "")
			all = append(all, one)
		}
	}
	p.questions, p.extra, p.everyKind = all, append(slices.Clone(p.extra), kindColumn, shareColumn), true
	return nil
}

func (p *prediction) isKindColumn(name string) bool {
	return name == kindColumn || p.set.Recipe != nil && p.set.Recipe.Kind != "" && name == p.set.Recipe.Kind
}

// tellShares writes the share of each kind beside its score, where all were asked about.
func (p *prediction) tellShares() {
	n := len(p.set.Kinds)
	for lo := 0; p.everyKind && lo < len(p.questions); lo += n {
		logits := p.logits[lo : lo+n]
		most, sum := float64(slices.Max(logits)), 0.0
		for _, x := range logits {
			sum += math.Exp(float64(x) - most)
		}
		for i, x := range logits {
			extra := p.questions[lo+i].Extra
			extra[len(extra)-1] = strconv.FormatFloat(math.Exp(float64(x)-most)/sum, 'g', -1, 64)
		}
	}
}
