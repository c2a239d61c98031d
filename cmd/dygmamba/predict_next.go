package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/queries"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/predict"
)

// nextDoc is the document of predict with a model of the task "next".
type nextDoc struct {
	Model      string      `json:"model"`
	Checkpoint string      `json:"checkpoint"`
	Data       string      `json:"data"`
	Device     string      `json:"device"`
	Questions  int         `json:"questions"`
	Unknown    unknownDoc  `json:"unknown_nodes"`
	Out        string      `json:"out,omitempty"` // where the answers are
	*sharesDoc             // with --best, of one question
	Rankings   []sharesDoc `json:"rankings,omitzero"` // with --best, of a file of questions
	// Results are answers in the order of the queries: []surpriseDoc with --surprise, []pairDoc without it.
	Results any `json:"results,omitzero"`
}

// sharesDoc answers who is next, the most likely first. The shares of items, others and new sum to 1.
type sharesDoc struct {
	U          string         `json:"u"`
	TS         any            `json:"ts"`
	Candidates int            `json:"candidates"` // destinations seen before ts
	Items      []shareItemDoc `json:"items"`
	Others     float64        `json:"others"` // of all candidates that are not listed
	New        float64        `json:"new"`    // someone who has never been a destination

	when  string            // ts as it was asked
	Extra map[string]string `json:"extra,omitempty"` // what stood beside the question
	extra []string          // the same, in order
}

type shareItemDoc struct {
	I        string   `json:"i"`
	Share    float64  `json:"share"`
	Rate     *float64 `json:"rate,omitempty"` // events per second where days are known, otherwise per unit of time
	Meetings int      `json:"meetings"`       // of the two before ts, in either direction
}

// shareDoc is the document about one pair: how likely is this destination?
type shareDoc struct {
	questionDoc
	Model      string     `json:"model"`
	Checkpoint string     `json:"checkpoint"`
	Data       string     `json:"data"`
	Unknown    unknownDoc `json:"unknown_nodes"`
	Share      float64    `json:"share"`
	Bits       float64    `json:"who_bits"`
	Reasons    []string   `json:"reasons"`

	when string
}

// surpriseDoc is how many bits an event carried.
type surpriseDoc struct {
	questionDoc
	Bits    float64           `json:"who_bits"`
	Nats    *float64          `json:"when_nats,omitempty"` // −ln of the source's rate, per day where days are known
	Reasons []string          `json:"reasons"`
	Extra   map[string]string `json:"extra,omitempty"`

	when  string
	extra []string
}

// checkSurprise looks at the flags alone.
func (p *prediction) checkSurprise(given func(flag string) bool) error {
	if !p.surprise {
		return nil
	}
	for _, flag := range []string{"best", "candidates", "explain", "plot", "top", "curve", "u", "i", "ts"} {
		if given(flag) {
			return usagef("--surprise cannot be used with --%s: it judges the events of --queries", flag)
		}
	}
	return nil
}

// runNext answers with a model of the task "next".
func (p *prediction) runNext(ctx context.Context, a *app, o *openedRun, progress *term.Progress) error {
	switch {
	case p.why != "" || p.plot != "":
		return usagef("a model of the task next does not explain pairs; --surprise gives reasons")
	case p.rank.candidates != "":
		return usagef("--candidates is for models of links: the shares of a model of the task next are among all " +
			"destinations")
	}
	c, err := predict.LoadChooser(o.files[0], o.load)
	if err != nil {
		return loadError(err)
	}
	defer c.Close()
	if p.timing.asked() {
		return p.answerWhen(ctx, a, c, o)
	}
	doc := &nextDoc{Model: c.Model(), Checkpoint: o.files[0], Data: p.set.Name, Device: o.dev.Name(),
		Questions: len(p.questions), Unknown: p.unknown(c)}
	doc.Unknown.warn(a)
	switch {
	case p.rank.every.asked:
		if err := c.Reach(ctx, p.rank.every.at); err != nil {
			return err
		}
		by := answeredBy{doc.Model, doc.Checkpoint, doc.Data, doc.Device}
		return p.rank.every.run(ctx, a, p, by, p.rank.every.shares(c))
	case p.rank.asked:
		return p.answerShares(ctx, a, c, doc, progress)
	case !p.surprise && !p.alone:
		return p.answerPairs(ctx, a, c, doc, progress)
	}
	found, err := c.Surprises(ctx, queries.Of(p.questions), func(done int) {
		progress.Set(int64(done), int64(len(p.questions)), "")
	})
	if err != nil {
		return err
	}
	progress.Done()
	if p.alone {
		one := p.surpriseDoc(p.questions[0], found[0])
		share := shareDoc{one.questionDoc, doc.Model, doc.Checkpoint, doc.Data, doc.Unknown, math.Exp2(-one.Bits),
			one.Bits, one.Reasons, one.when}
		return a.emit(share, share.write)
	}
	all := make([]surpriseDoc, len(found))
	for i, q := range p.questions {
		all[i] = p.surpriseDoc(q, found[i])
	}
	return p.finishSurprises(a, doc, all)
}

// answerShares says who is next, for every question.
func (p *prediction) answerShares(ctx context.Context, a *app, c *predict.Chooser, doc *nextDoc,
	progress *term.Progress,
) error {
	all := make([]sharesDoc, len(p.questions))
	for done, i := range inTime(p.questions) { // the past is gone through once
		if err := c.Reach(ctx, p.questions[i].Time); err != nil {
			return err
		}
		found, err := c.Next(p.questions[i].Src, p.questions[i].Time)
		if err != nil {
			return err
		}
		all[i] = p.sharesDoc(p.questions[i], found)
		if err := all[i].addRates(c, p.questions[i]); err != nil {
			return err
		}
		progress.Set(int64(done+1), int64(len(p.questions)), "")
	}
	progress.Done()
	write := func(w io.Writer) error { return p.writeShares(w, all) }
	if err := p.keep(write, &doc.Out); err != nil {
		return err
	}
	switch {
	case p.alone:
		doc.sharesDoc = &all[0]
	case p.out == "":
		doc.Rankings = all
	}
	return a.emit(doc, func(w io.Writer, s term.Style) error {
		switch {
		case p.out != "":
			return p.writeWhere(w, s, doc)
		case !p.alone:
			return write(w)
		}
		return all[0].write(w, s, doc)
	})
}

// keep writes a table to --out, if there is one.
func (p *prediction) keep(write func(io.Writer) error, name *string) error {
	if p.out == "" {
		return nil
	}
	out, err := newPending(p.out)
	if err != nil {
		return err
	}
	defer out.discard()
	if err := write(out); err != nil {
		return err
	}
	*name = p.out
	return out.commit()
}

func (p *prediction) writeWhere(w io.Writer, s term.Style, doc *nextDoc) error {
	var f term.Facts
	f.Add("wrote", fmt.Sprintf("%s, %s questions answered by %s on %s", p.out, term.Count(len(p.questions)), doc.Model,
		doc.Data))
	return f.Write(w, s)
}

// sharesDoc names the most likely destinations.
func (p *prediction) sharesDoc(q queries.Question, found predict.Shares) sharesDoc {
	asked := questionDocOf(q)
	doc := sharesDoc{U: asked.U, TS: asked.TS, Candidates: len(found.Items), Items: []shareItemDoc{}, New: found.New,
		when: q.TS, Extra: p.extraOf(q), extra: q.Extra}
	for i, x := range found.Items {
		if i < p.rank.best {
			doc.Items = append(doc.Items, shareItemDoc{I: p.set.Names.Name(x.Node), Share: x.Share, Meetings: x.Met})
		} else {
			doc.Others += x.Share
		}
	}
	return doc
}

// writeShares writes a row for each answer.
func (p *prediction) writeShares(w io.Writer, all []sharesDoc) error {
	type answer struct {
		*sharesDoc
		shareItemDoc
		place int
	}
	var list []answer
	for i := range all {
		for k, x := range all[i].Items {
			list = append(list, answer{&all[i], x, k + 1})
		}
	}
	columns := []dataset.Column{
		dataset.TextColumn("u", func(row int) string { return list[row].U }),
		dataset.TextColumn("ts", func(row int) string { return list[row].when }),
		dataset.IntColumn("place", func(row int) int { return list[row].place }),
		dataset.TextColumn("i", func(row int) string { return list[row].I }),
		dataset.FloatColumn("share", func(row int) float64 { return list[row].Share })}
	if len(list) > 0 && list[0].Rate != nil {
		columns = append(columns, dataset.FloatColumn("rate", func(row int) float64 { return *list[row].Rate }))
	}
	columns = append(columns, dataset.IntColumn("meetings", func(row int) int { return list[row].Meetings }))
	return p.writeColumns(w, len(list), func(row int) []string { return list[row].extra }, columns...)
}

// write is one answer as a table.
func (d *sharesDoc) write(w io.Writer, s term.Style, doc *nextDoc) error {
	fmt.Fprintf(w, "%s acts at %s: who is it with?  %s\n\n", s.Strong(d.U), d.when,
		s.Dim(fmt.Sprintf("by %s on %s", doc.Model, doc.Data)))
	t := term.NewTable(term.Right(""), term.Left("destination"), term.Right("share %"), term.Right("met before"))
	for place, x := range d.Items {
		met := "never"
		if x.Meetings > 0 {
			met = term.Count(x.Meetings) + "×"
		}
		t.Row(strconv.Itoa(place+1), x.I, term.Percent(x.Share), met)
	}
	t.Gap()
	if rest := d.Candidates - len(d.Items); rest > 0 {
		t.Row("", fmt.Sprintf("the other %s destinations", term.Count(rest)), term.Percent(d.Others), "")
	}
	t.Row("", "someone new", term.Percent(d.New), "")
	if err := t.Write(w, s); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n  %s\n", s.Dim(shareMeans))
	return err
}

// surpriseDoc says in words why an event is surprising, or not.
func (p *prediction) surpriseDoc(q queries.Question, x predict.Surprise) surpriseDoc {
	doc := surpriseDoc{questionDoc: questionDocOf(q), Bits: x.Bits, Nats: x.Nats, Extra: p.extraOf(q), when: q.TS,
		extra: q.Extra}
	doc.Reasons = x.Reasons(q.Dst, p.set.Names.Name, p.at)
	return doc
}

// finishSurprises writes the table of all events, or shows the most surprising.
func (p *prediction) finishSurprises(a *app, doc *nextDoc, all []surpriseDoc) error {
	err := p.keep(func(w io.Writer) error {
		columns := []dataset.Column{
			dataset.TextColumn("u", func(row int) string { return all[row].U }),
			dataset.TextColumn("i", func(row int) string { return all[row].I }),
			dataset.TextColumn("ts", func(row int) string { return all[row].when }),
			dataset.FloatColumn("who_bits", func(row int) float64 { return all[row].Bits }),
		}
		if len(all) > 0 && all[0].Nats != nil {
			columns = append(columns, dataset.FloatColumn("when_nats", func(row int) float64 { return *all[row].Nats }))
		}
		return p.writeColumns(w, len(all), func(row int) []string { return all[row].extra }, columns...)
	}, &doc.Out)
	if err != nil {
		return err
	}
	if p.out == "" {
		doc.Results = all
	}
	return a.emit(doc, func(w io.Writer, s term.Style) error {
		if p.out != "" {
			if err := p.writeWhere(w, s, doc); err != nil {
				return err
			}
			fmt.Fprintln(w)
		}
		return writeSurprises(w, s, all)
	})
}

// writeSurprises shows the most surprising events, with reasons.
func writeSurprises(w io.Writer, s term.Style, all []surpriseDoc) error {
	const most = 20
	order := slices.Clone(all)
	slices.SortStableFunc(order, func(a, b surpriseDoc) int { return cmp.Compare(b.Bits, a.Bits) })
	sum := 0.0
	for _, x := range all {
		sum += x.Bits
	}
	fmt.Fprintf(w, "%s carried %.2f bits on average; the most surprising first\n\n", term.Counted(len(all), "event"),
		sum/max(1, float64(len(all))))
	return surpriseTable(order[:min(most, len(order))]).Write(w, s)
}

// surpriseTable has events with the bits they carried, and why.
func surpriseTable(list []surpriseDoc) *term.Table {
	t := term.NewTable(term.Right("bits"), term.Left("source"), term.Left("destination"), term.Left("at"),
		term.Left("why"))
	for _, x := range list {
		t.Row(fmt.Sprintf("%.2f", x.Bits), x.U, x.I, x.when, strings.Join(x.Reasons, "; "))
	}
	return t
}

// write is the answer for people.
func (d shareDoc) write(w io.Writer, s term.Style) error {
	_, err := fmt.Fprintf(w, "%s acts at %s: %s with %s  %s\n  %s\n  %s\n", s.Strong(d.U), d.when, s.Strong(d.I),
		s.Strong(term.Percent(d.Share)+" %"), s.Dim(fmt.Sprintf("%.2f bits, by %s on %s", d.Bits, d.Model, d.Data)),
		strings.Join(d.Reasons, "; "), s.Dim(shareMeans))
	return err
}

// shareMeans explains a share.
const shareMeans = "share: the probability of this destination, given that the source acts at that time; " +
	"all shares sum to 100 %"
