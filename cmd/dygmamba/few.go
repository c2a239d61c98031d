package main

import (
	"fmt"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// warnFew says of every test with a handful of events that its numbers mean nothing.
func (a *app) warnFew(results []run.Measured) {
	said := map[protocol.Scenario]bool{}
	for _, r := range results {
		if r.Batches == 0 || !r.TooFew() || said[r.Scenario] {
			continue
		}
		said[r.Scenario] = true
		enough := eval.EnoughPositives
		if r.Events > 0 {
			enough = eval.EnoughLabels
		}
		a.log().Warn(fmt.Sprintf("%s: too few test events to conclude: %s, want at least %d; AP and AUC are mostly "+
			"chance",
			r.Scenario, term.Count(r.Positives), enough))
	}
}

// doubted puts a number in brackets that is of too few events.
func doubted(cell string, few bool) string {
	if few && cell != "" {
		return "(" + cell + ")"
	}
	return cell
}

// fewNote explains the brackets.
func fewNote(any bool) string {
	if any {
		return "; ( ): too few test events to conclude"
	}
	return ""
}
