package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/dygmamba/dygmamba/internal/page"
	"github.com/dygmamba/dygmamba/internal/rate"
	"github.com/dygmamba/dygmamba/internal/term"
)

// NextNumbers are the first results to look at.
func (v view) NextNumbers() (list page.Numbers) {
	n := v.Next
	add := func(value, exact float64, name string, tone page.Tone) {
		list = append(list, page.Number{Value: fmt.Sprintf("%.2f", value),
			Exact: strconv.FormatFloat(exact, 'g', -1, 64), Name: name, Tone: tone})
	}
	add(n.WhoBits, n.WhoBits, fmt.Sprintf("bits per event for the destination: as hard as a choice among %s equally "+
		"likely ones", choices(n.WhoBits)), page.First)
	if n.MRR != nil {
		add(100**n.MRR, *n.MRR, "mean reciprocal rank of the destination, in percent", page.First)
		add(100**n.Hits10, *n.Hits10, "percent of the destinations among the ten most likely", page.Plain)
	}
	for _, rule := range n.Rules {
		if rule.Rule == "cache" {
			add(rule.All, rule.All, "bits per event of the rule cache, which only counts", page.Third)
		}
	}
	return list
}

// choices is 2 to the power of bits, with the digits that mean something.
func choices(bits float64) string {
	n := math.Exp2(bits)
	if n < 10 {
		return fmt.Sprintf("%.1f", n)
	}
	return term.Count(int(math.Round(n)))
}

// NextLearning shows loss and bits over the epochs.
func (v view) NextLearning() page.Figures {
	loss := []page.Series{{Name: "training", Tone: page.Third}}
	bits := []page.Series{{Name: "all", Tone: page.First}, {Name: "returning", Tone: page.Third},
		{Name: "first meetings", Tone: page.Second}}
	for _, e := range v.Epochs {
		loss[0].Add(float64(e.Epoch), e.Loss)
		if e.Next == nil {
			continue
		}
		bits[0].Add(float64(e.Epoch), e.Next.WhoBits)
		if e.Next.Share < 1 {
			bits[1].Add(float64(e.Epoch), e.Next.Returning)
		}
		if e.Next.Share > 0 {
			bits[2].Add(float64(e.Epoch), e.Next.First)
		}
	}
	chart := func(list []page.Series) page.Lines {
		return page.Lines{X: v.epochs(), Y: page.Around(list, 0.05), Series: list, Dots: len(v.Epochs) <= 40,
			Marks: []float64{float64(v.BestEpoch)}}
	}
	return page.Figures{
		{Title: "Loss", Note: "nats per event, with a few sampled candidates; lower is better", Key: page.Keys(loss),
			Chart: chart(loss)},
		{Title: "Bits on validation events", Note: "among all destinations; lower is better", Key: page.Keys(bits),
			Chart: chart(bits)},
	}
}

// NextResults compares the model with rules that only count.
func (v view) NextResults() page.Table {
	n := v.Next
	t := page.Table{Head: []string{"", "all", "returning pairs", "first meetings", "MRR %", "among the best 10 %"}}
	row := func(name string, all, returning, first float64, more ...string) {
		cells := []string{name, bitsOrDash(all, 1), bitsOrDash(returning, 1-n.Share), bitsOrDash(first, n.Share),
			"–", "–"}
		copy(cells[4:], more)
		t.Rows = append(t.Rows, cells)
	}
	var ranks []string
	if n.MRR != nil {
		ranks = []string{term.Percent(*n.MRR), term.Percent(*n.Hits10)}
	}
	row(v.Model, n.WhoBits, n.Returning, n.First, ranks...)
	for _, r := range n.Rules {
		row(r.Rule, r.All, r.Returning, r.First)
	}
	return t
}

// bitsOrDash is a dash where no event is of the kind.
func bitsOrDash(bits, share float64) string {
	if share <= 0 {
		return "–"
	}
	return fmt.Sprintf("%.3f", bits)
}

// NextSeeds are the results of all seeds.
func (v view) NextSeeds() page.Table {
	t := page.Table{Head: []string{"seed", "", "all", "returning pairs", "first meetings", "best epoch"}, Words: 2}
	for _, s := range v.Seeds {
		cells := []string{fmt.Sprintf("seed %d", s.Seed), s.Mark, "–", "–", "–",
			fmt.Sprintf("%d of %d", s.BestEpoch, s.Epochs)}
		if n := s.Next; n != nil {
			copy(cells[2:], []string{bitsOrDash(n.WhoBits, 1), bitsOrDash(n.Returning, 1-n.Share),
				bitsOrDash(n.First, n.Share)})
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// NextHours compares expected with observed events by the hour of the day and the day of the week.
func (v view) NextHours() (list page.Figures) {
	days := []string{"Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"} // time 0 is a Thursday
	hour := func(i int) string {
		if i%3 == 0 {
			return strconv.Itoa(i)
		}
		return ""
	}
	day := func(i int) string {
		if v.dates {
			return days[i]
		}
		return strconv.Itoa(i + 1)
	}
	title, note := "Events by the hour of the day", "of the test period, in UTC"
	if !v.dates {
		note = "of the test period, counted from time 0"
	}
	for _, x := range []struct {
		title  string
		counts []rate.Counts
		name   func(int) string
	}{{title, v.Next.Hours, hour}, {"Events by the day of the week", v.Next.Weekdays, day}} {
		if x.counts != nil {
			list = append(list, countsFigure(x.title, note, x.counts, x.name))
		}
	}
	return list
}

// countsFigure has two columns for each part of a day or week.
func countsFigure(title, note string, counts []rate.Counts, name func(int) string) page.Figure {
	var c page.Columns
	for i, x := range counts {
		what := fmt.Sprintf("%s: %.0f expected, %.0f observed", title, x.Expected, x.Observed)
		c.List = append(c.List,
			page.Column{Value: x.Expected, Tone: page.First, Title: what, Below: [2]string{name(i)}},
			page.Column{Value: x.Observed, Tone: page.Fact, Title: what})
	}
	return page.Figure{Title: title, Note: note, Chart: c,
		Key: []page.Key{{Name: "expected", Tone: page.First}, {Name: "observed", Tone: page.Fact}}}
}

// NextWindows is how well probabilities of an event within some time are calibrated.
func (v view) NextWindows() page.Table {
	t := page.Table{Head: []string{"within", "events expected", "observed", "calibration error %", "Brier score",
		"of the base rate"}}
	for _, w := range v.Next.Windows {
		t.Rows = append(t.Rows, []string{w.Length(v.Next.Hours != nil), fmt.Sprintf("%.1f", w.Expected),
			fmt.Sprintf("%.0f", w.Observed), term.Percent(w.ECE),
			fmt.Sprintf("%.5f", w.Brier), fmt.Sprintf("%.5f", w.Base)})
	}
	return t
}

// NextSurprises are the most surprising of the latest events.
func (v view) NextSurprises() page.Table {
	t := page.Table{Head: []string{"source", "destination", "at", "why", "bits"}, Words: 4}
	for _, x := range v.Next.Surprising {
		t.Rows = append(t.Rows, []string{x.U, x.I, v.moment(x.Time), strings.Join(x.Reasons, "; "),
			fmt.Sprintf("%.1f", x.Bits)})
	}
	return t
}

// NextUpcoming are the likeliest destinations after the end of the data.
func (v view) NextUpcoming() page.Table {
	t := page.Table{Head: []string{"source", "destination", "share %", "met before"}, Words: 2}
	unit := "per unit of time"
	if v.Next.Hours != nil {
		unit = "per day"
	}
	for _, x := range v.Next.Upcoming {
		name := x.U
		if x.Rate != nil {
			name += fmt.Sprintf(" (%.3g events %s)", *x.Rate, unit)
		}
		for _, s := range x.Items {
			t.Rows = append(t.Rows, []string{name, s.I, term.Percent(s.Share), fmt.Sprintf("%s ×", term.Count(s.Met))})
			name = ""
		}
		t.Rows = append(t.Rows, []string{name, "others", term.Percent(x.Others), ""},
			[]string{"", "a destination that is new", term.Percent(x.New), ""})
	}
	return t
}
