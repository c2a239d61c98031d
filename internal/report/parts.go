package report

import (
	"fmt"

	"github.com/dygmamba/dygmamba/calibration"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/term"
)

// Slice is a stretch of the test's time. Measures of links are means over its batches, as in the whole; those of
// labels are of all its events at once, and nil where all have the same label.
type Slice struct {
	From     event.Time `json:"from"`
	To       event.Time `json:"to"`
	Events   int        `json:"events"`
	AP       *float64   `json:"ap"`
	AUC      *float64   `json:"auc"`
	Baseline *float64   `json:"baseline_ap,omitempty"`
}

const mostSlices = 12

// period cuts the test into stretches of about as many batches each.
func (t *test) period() []Slice {
	var list []Slice
	for _, cut := range cutEvenly(len(t.batches), min(mostSlices, len(t.batches))) {
		part := t.batches[cut[0]:cut[1]]
		s := Slice{From: part[0].first, To: part[len(part)-1].last}
		var ap, auc []float64
		for _, b := range part {
			s.Events += b.events
			s.From, s.To = min(s.From, b.first), max(s.To, b.last)
			ap, auc = append(ap, b.ap), append(auc, b.auc)
		}
		if t.report.Labels() {
			s.AP, s.AUC = measure(split(t.answers[part[0].from:part[len(part)-1].to]))
		} else {
			a, b := mean(ap), mean(auc)
			s.AP, s.AUC = &a, &b
		}
		list = append(list, s)
	}
	return list
}

// measure is nil where there is only one kind.
func measure(right, wrong []float32) (ap, auc *float64) {
	if len(right) == 0 || len(wrong) == 0 {
		return nil, nil
	}
	var m eval.Meter
	a, b := m.Score(right, wrong)
	return &a, &b
}

// Group is the events of pairs that had met about as often before, or of sources that had this many events where labels
// are told. Each event of a pair is compared with the negative that was drawn for it.
type Group struct {
	Least  int      `json:"least"`
	Most   *int     `json:"most"` // nil: any number
	Events int      `json:"events"`
	Share  float64  `json:"share"` // of all events
	AP     *float64 `json:"ap"`
	AUC    *float64 `json:"auc"`
	Mean   float64  `json:"mean_probability"` // that events were given
}

var groupStarts = []int{0, 1, 2, 5, 20, 100, 1000}

func (g Group) name(labels bool) string {
	unit := "times"
	if labels {
		unit = "events"
	}
	switch {
	case g.Most == nil:
		return fmt.Sprintf("%s %s or more", term.Count(g.Least), unit)
	case g.Least == 0 && labels:
		return "no event"
	case g.Least == 0:
		return "never before"
	case *g.Most == 1 && labels:
		return "1 event"
	case *g.Most == 1:
		return "once"
	}
	return fmt.Sprintf("%s to %s %s", term.Count(g.Least), term.Count(*g.Most), unit)
}

// groups leaves out those without events.
func (t *test) groups() []Group {
	var list []Group
	total := 0
	for k, least := range groupStarts {
		g := Group{Least: least}
		if k+1 < len(groupStarts) {
			most := groupStarts[k+1] - 1
			g.Most = &most
		}
		var part []answer
		sum := 0.0
		for _, a := range t.answers {
			asked := a.pair >= 0 || t.report.Labels() // not a negative
			if !asked || int(a.seen) < least || g.Most != nil && int(a.seen) > *g.Most {
				continue
			}
			g.Events++
			sum += a.probability
			part = append(part, a)
			if a.pair >= 0 {
				part = append(part, t.answers[a.pair])
			}
		}
		if g.Events == 0 {
			continue
		}
		g.Mean = sum / float64(g.Events)
		g.AP, g.AUC = measure(split(part))
		total += g.Events
		list = append(list, g)
	}
	for i := range list {
		list[i].Share = float64(list[i].Events) / float64(total)
	}
	return list
}

func reliability(list []answer) calibration.Reliability {
	var t calibration.Tally
	for _, a := range list {
		t.Add(a.probability, a.right)
	}
	return t.Reliability()
}
