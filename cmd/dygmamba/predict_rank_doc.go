package main

import (
	"fmt"
	"io"
	"strconv"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/predict"
)

// rankDoc is the document of predict --best: one ranking, or a list of them for a file of questions.
type rankDoc struct {
	answeredBy
	Questions int        `json:"questions"`
	Unknown   unknownDoc `json:"unknown_nodes"`
	Out       string     `json:"out,omitempty"` // where the answers are
	*rankingDoc
	Rankings []rankingDoc `json:"rankings,omitzero"` // in the order of the questions; none with --out
}

// rankingDoc answers one question, the most likely partner first.
type rankingDoc struct {
	U          string    `json:"u"`
	TS         any       `json:"ts"`
	Candidates int       `json:"candidates"` // that there were
	Scored     int       `json:"scored"`     // of them by the model
	Items      []itemDoc `json:"items"`

	when  string            // ts as it was asked
	Extra map[string]string `json:"extra,omitempty"` // what stood beside the question
	extra []string          // the same, in order
}

type itemDoc struct {
	I           string  `json:"i"`
	Logit       float32 `json:"logit"`
	Probability float64 `json:"probability"`
	Meetings    int     `json:"meetings"` // of the two before ts
}

func (p *prediction) writeRankings(w io.Writer, rankings []rankingDoc) error {
	type answer struct {
		rankingDoc
		itemDoc
		place int
	}
	var list []answer
	for _, r := range rankings {
		for i, x := range r.Items {
			list = append(list, answer{r, x, i + 1})
		}
	}
	return p.writeColumns(w, len(list), func(row int) []string { return list[row].extra },
		dataset.TextColumn("u", func(row int) string { return list[row].U }),
		dataset.TextColumn("ts", func(row int) string { return list[row].when }),
		dataset.IntColumn("place", func(row int) int { return list[row].place }),
		dataset.TextColumn("i", func(row int) string { return list[row].I }),
		dataset.Float32Column("logit", func(row int) float32 { return list[row].Logit }),
		dataset.FloatColumn("probability", func(row int) float64 { return list[row].Probability }),
		dataset.IntColumn("meetings", func(row int) int { return list[row].Meetings }))
}

// write is the answer for people: one ranking as a table to look at, several as one to work with, or where they are.
func (r *ranking) write(w io.Writer, s term.Style, p *prediction, rankings []rankingDoc) error {
	switch {
	case p.out != "":
		var f term.Facts
		f.Add("wrote", fmt.Sprintf("%s, the best %s for %s questions, by %s on %s", p.out, term.Count(r.best),
			term.Count(len(rankings)), r.doc.Model, r.doc.Data))
		return f.Write(w, s)
	case !p.alone:
		return p.writeRankings(w, rankings)
	}
	one := rankings[0]
	if one.Candidates == 0 {
		_, err := fmt.Fprintf(w, "%s at %s: there are no destinations before this time\n", s.Strong(one.U), one.when)
		return err
	}
	of := term.Count(one.Candidates) + " candidates"
	if one.Scored < one.Candidates {
		of += fmt.Sprintf(" (%s scored; --exact scores all)", term.Count(one.Scored))
	}
	fmt.Fprintf(w, "%s at %s: the most likely of %s  %s\n\n", s.Strong(one.U), one.when, of,
		s.Dim(fmt.Sprintf("by %s on %s", r.doc.Model, r.doc.Data)))
	t := term.NewTable(term.Right(""), term.Left("partner"), term.Right("probability %"), term.Right("logit"),
		term.Right("met before"))
	for place, x := range one.Items {
		met := "never"
		if x.Meetings > 0 {
			met = term.Count(x.Meetings) + "×"
		}
		t.Row(strconv.Itoa(place+1), x.I, term.Percent(x.Probability), fmt.Sprintf("%.4f", x.Logit), met)
	}
	if err := t.Write(w, s); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n  %s\n", s.Dim("probability: "+predict.LinkMeans))
	return err
}
