package run

import (
	"fmt"
	"strconv"

	"github.com/dygmamba/dygmamba/dataset"
)

// Comparison says how data compare with those that a model was trained on.
type Comparison struct {
	Same     bool     // every event and feature is
	Grown    int      // they are the same, and this many events more have come since
	Warnings []string // what a model may misunderstand, a line each
}

// Compare compares a data set with the one that the run was trained on: by hash, and where that differs by what its
// configuration knows.
func (r Run) Compare(set *dataset.Set) Comparison {
	c := Comparison{Same: r.Config.Hashes.Data == set.Hash()}
	was, is := r.Config.Facts, FactsOf(set)
	if c.Same {
		return c
	}
	if was != nil {
		if c.Grown = grownBy(set, *was, r.Config.Hashes.Data); c.Grown > 0 {
			return c
		}
	}
	c.Warnings = append(c.Warnings,
		fmt.Sprintf("the events or features of %s are not those that the model was trained on", set.Name))
	if was != nil {
		c.Warnings = append(c.Warnings, misfits(*was, is)...)
	}
	return c
}

// misfits are what a model that was trained on other data does not expect.
func misfits(was, is Facts) (list []string) {
	for _, f := range []struct {
		what     string
		was, are int
	}{{"events", was.EdgeFeatures, is.EdgeFeatures}, {"nodes", was.NodeFeatures, is.NodeFeatures}} {
		switch {
		case f.was == f.are:
		case f.are == 0:
			list = append(list, fmt.Sprintf("these data have no features of %s, the model was trained with %d: "+
				"import them with the same columns", f.what, f.was))
		default:
			list = append(list, fmt.Sprintf("these data have %d features of %s, the model was trained with %d",
				f.are, f.what, f.was))
		}
	}
	if was.TimeFormat != is.TimeFormat {
		return append(list, fmt.Sprintf("times are %ss here and were %ss in training", is.TimeFormat, was.TimeFormat))
	}
	const much = 30 // seconds and minutes are 60 apart
	before, now := was.Pace(), is.Pace()
	if before > 0 && now > 0 && (now > much*before || before > much*now) {
		list = append(list, fmt.Sprintf("events come every %s on average and came every %s in training: "+
			"is time in the same unit?",
			strconv.FormatFloat(now, 'g', 3, 64), strconv.FormatFloat(before, 'g', 3, 64)))
	}
	return list
}

// grownBy is by how many events a set is longer than one of a hash whose events it begins with, 0 if it is not.
// Features of nodes may not have changed: they would be others for the old events too. Where they change over time,
// rows may have come after all that were there.
func grownBy(set *dataset.Set, was Facts, hash string) int {
	more := set.Log.Len() - was.Events
	if more <= 0 || was.Events == 0 {
		return 0
	}
	first := *set
	first.Log = set.Log.Select(func(i int) bool { return i < was.Events })
	if first.Edge.Data != nil {
		last, all := int32(0), first.Log.All()
		for i := range all.Len() {
			last = max(last, all.Edge(i))
		}
		rows := 1 + int(last)
		first.Edge.Rows, first.Edge.Data = rows, first.Edge.Data[:rows*first.Edge.Cols]
	}
	if t := set.Timeline; t.Len() > was.NodeRows { // later rows come last
		n := was.NodeRows
		early := &dataset.Timeline{Features: dataset.Features{Rows: n, Cols: t.Features.Cols,
			Data: t.Features.Data[:n*t.Features.Cols]}}
		early.Node, early.Time = t.Node[:n], t.Time[:n]
		first.Timeline = early
	}
	if first.Hash() != hash {
		return 0
	}
	return more
}
