package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/queries"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/protocol"
)

// Protocols of eval.
const (
	protocolDyGLib = "dyglib" // AP and AUC against one negative for each event
	protocolTGB    = "tgb"    // the place of each event's destination among many
)

type tgbFlags struct {
	protocol  string // --protocol
	opponents string // --opponents
	limit     int    // --limit
	draw      int    // --num-negatives, if that was given
	given     bool   // --protocol
	swap      int    // --swap
}

func (f *tgbFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.protocol, "protocol", protocolDyGLib,
		"'dyglib': AP and AUC with one negative per event; "+
			"'tgb': MRR and Hits@K of the destination among many; "+
			"'next': bits per event, of a run of the task next (default there)")
	flags.StringVar(&f.opponents, "opponents", "",
		"with --protocol tgb: `file` with the columns u, i, ts and negatives: the other destinations of each test "+
			"event (default: all others for wikipedia; for other data a random sample of --num-negatives, 100)")
	flags.IntVar(&f.limit, "limit", 0,
		"with --protocol tgb or next: number of test events to use, drawn with a fixed seed (default: all)")
	flags.IntVar(&f.swap, "swap", 0,
		"with --protocol next: exchange the destinations of this `number` of test events and measure how well they "+
			"are found by their bits, among --limit others (5,000)")
	completeWith(cmd, "protocol", protocolDyGLib, protocolTGB, protocolNext)
}

func (f *tgbFlags) asked() bool { return f.protocol == protocolTGB }

func (f *tgbFlags) check(cmd *cobra.Command, e *evaluation) error {
	if err := oneOf("protocol", f.protocol, protocolDyGLib, protocolTGB, protocolNext); err != nil {
		return err
	}
	given := cmd.Flags().Changed
	f.given = given("protocol")
	if given("opponents") && !f.asked() {
		return usagef("--opponents is for --protocol %s", protocolTGB)
	}
	if f.protocol == protocolDyGLib && (f.given || !e.from.given()) {
		if given("limit") {
			return usagef("--limit is for --protocol %s and %s", protocolTGB, protocolNext)
		}
		return nil
	}
	if f.protocol != protocolDyGLib {
		for _, flag := range []string{"setting", "negatives", "metric-aggregation", "seen-only", "avoid-positives"} {
			if given(flag) {
				return usagef("--%s cannot be used with --protocol %s", flag, f.protocol)
			}
		}
	}
	if f.swap < 0 || given("swap") && f.swap < 2 {
		return usagef("--swap is %d, must be at least 2", f.swap)
	}
	if f.limit < 0 || given("limit") && f.limit == 0 {
		return usagef("--limit is %d, must be at least 1", f.limit)
	}
	if !f.asked() {
		return nil
	}
	if given("num-negatives") {
		if f.draw = e.options.PerPositive; f.opponents != "" {
			return usagef("--opponents and --num-negatives cannot be used together")
		}
	}
	e.options.PerPositive = 1
	return nil
}

// allOthers are the data sets of which TGB's own lists amount to all other destinations.
var allOthers = []string{"wikipedia", "tgbl-wiki"}

// usualDraw is how many opponents are drawn where nothing else is said.
const usualDraw = 100

// against finds the opponents, and says in words who they are.
func (f *tgbFlags) against(ctx context.Context, a *app, set *dataset.Set, p *eval.Protocol,
) (eval.Opponents, string, error) {
	if f.opponents != "" {
		list, err := queries.NewReader(set).ReadOpponents(ctx, f.opponents, a.in)
		return eval.ListedOthers(list), "those of " + f.opponents, err
	}
	if f.draw == 0 {
		for _, name := range allOthers {
			if strings.EqualFold(set.Name, name) {
				return p.Others(0), "all other destinations", nil
			}
		}
		f.draw = usualDraw
	}
	return p.Others(f.draw), fmt.Sprintf("our own draw of %s other destinations", term.Count(f.draw)), nil
}

func (e *evaluation) runTGB(ctx context.Context, a *app, set *dataset.Set,
	open func(eval.Options) (*eval.Session, error),
) (*evalDoc, error) {
	e.options.NoneHidden = true
	progress := a.console.Progress("eval", "events")
	defer progress.Done()
	e.options.OnBatch = func(done, total int) { progress.Set(int64(done), int64(total), "ranked") }
	session, err := open(e.options)
	if err != nil {
		return nil, err
	}
	opponents, who, err := e.tgb.against(ctx, a, set, session.Protocol())
	if err != nil {
		return nil, err
	}
	doc := e.describe(set, session.Protocol().Split())
	doc.Protocol, doc.Opponents, doc.Limit, doc.PerPositive = protocolTGB, who, e.tgb.limit, 0
	best := -1.0
	for _, c := range session.Contenders() {
		r, err := session.Rank(ctx, c, eval.RankOptions{Opponents: opponents, Limit: e.tgb.limit})
		if errors.Is(err, eval.ErrNoOpponents) {
			return nil, &inputError{fmt.Errorf("--opponents %s: %w", e.tgb.opponents, err)}
		}
		if err != nil {
			return nil, err
		}
		best = max(best, r.MRR)
		doc.Results = append(doc.Results, rankedOf(c.Name, r))
	}
	for i := range doc.Results {
		r := &doc.Results[i]
		r.Best = r.Positives > 0 && *r.MRR == best
	}
	return doc, nil
}

func rankedOf(variant string, r eval.Ranked) resultDoc {
	return resultDoc{
		Scenario: protocol.Transductive, Negatives: protocolTGB, Variant: variant, AP: missing, AUC: missing,
		MRR:     &r.MRR,
		Hits:    map[string]float64{"1": r.Hits1, "3": r.Hits3, "10": r.Hits10},
		Batches: r.Batches, Positives: r.Positives, Opponents: r.Candidates, NegativesHash: r.Opponents,
	}
}

func (d *evalDoc) writeTGB(w io.Writer, s term.Style) error {
	fmt.Fprintf(w, "%s on %s, as TGB measures: %s events, %s nodes\n\n", s.Strong(d.Model), s.Strong(d.Data.Name),
		term.Count(d.Data.Events), term.Count(d.Data.Nodes))
	several := slices.ContainsFunc(d.Results, func(r resultDoc) bool { return r.Variant != "" })
	columns := []term.Column{term.Right("MRR"), term.Right("Hits@1"), term.Right("@3"), term.Right("@10")}
	if several {
		columns = append([]term.Column{term.Left("variant"), term.Left("")}, columns...)
	}
	t := term.NewTable(columns...)
	for _, r := range d.Results {
		best, row := "", t.Row
		if r.Best && len(d.Results) > 1 && d.Checkpoints == nil {
			best, row = "best", t.Mark
		}
		var cells []string
		if several {
			cells = append(cells, r.Variant, best)
		}
		cells = append(cells, term.Percent(*r.MRR))
		for _, k := range []string{"1", "3", "10"} {
			cells = append(cells, term.Percent(r.Hits[k]))
		}
		row(cells...)
	}
	if err := t.Write(w, s); err != nil {
		return err
	}
	asked := "all test events"
	if first := d.Results[0]; d.Limit > 0 {
		asked = fmt.Sprintf("a draw of %s of %s test events", term.Count(first.Positives), term.Count(d.Split.Test))
	}
	fmt.Fprintf(w, "\n  %s\n\n", s.Dim("in percent, of "+asked))
	var f term.Facts
	f.Add("among", fmt.Sprintf("%s, %.1f in the mean", d.Opponents, d.Results[0].Opponents))
	f.Add("", "sha256 "+d.Results[0].NegativesHash)
	f.Add("split", fmt.Sprintf("train %s · val %s · test %s, no node hidden", term.Count(d.Split.Train),
		term.Count(d.Split.Val), term.Count(d.Split.Test)))
	return f.Write(w, s)
}
