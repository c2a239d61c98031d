package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/protocol"
)

// kindsDoc says how well models and rules tell which kind an event will be.
type kindsDoc struct {
	Scenario protocol.Scenario `json:"setting"`
	Kinds    []string          `json:"kinds"`
	Models   []kindModelDoc    `json:"models"`
	Rules    []eval.KindRule   `json:"rules"`
}

type kindModelDoc struct {
	Variant string `json:"variant"`
	eval.KindResult
}

// chooseKinds adds the negatives of another kind for models that were trained to tell kinds apart.
func (e *evaluation) chooseKinds() error {
	asked := slices.Contains(e.strategies, protocol.KindNegatives)
	switch {
	case asked && !e.spec.Training.ByKind():
		return usagef("--negatives %s is for runs of --task %s", protocol.KindNegatives, taskKind)
	case !asked && e.spec.Training.ByKind() && slices.Equal(e.strategies, protocol.Published()):
		e.strategies = append(slices.Clip(e.strategies), protocol.KindNegatives)
	}
	return nil
}

// task is that of the run, as documents name it.
func (e *evaluation) task() protocol.Task {
	if e.spec.Training.ByKind() {
		return taskKind
	}
	return e.spec.Task
}

// tellKinds asks models that were trained to tell kinds apart which kind each event of the test will be.
func (e *evaluation) tellKinds(ctx context.Context, a *app, s *eval.Session, names []string) ([]kindsDoc, error) {
	if !e.spec.Training.ByKind() {
		return nil, nil
	}
	if len(names) > eval.MostKinds {
		a.log().Warn(fmt.Sprintf("which kind an event will be is not measured: there are %d kinds, at most %d are "+
			"possible", len(names), eval.MostKinds))
		return nil, nil
	}
	var list []kindsDoc
	for _, scenario := range e.scenarios {
		part, err := eval.PartOf(scenario)
		if err != nil {
			return nil, err
		}
		if s.Protocol().Events(part).Len() == 0 {
			continue
		}
		doc := kindsDoc{Scenario: scenario, Kinds: names, Rules: s.Protocol().KindRules(part)}
		for _, one := range s.Contenders() {
			r, err := s.Protocol().WhichKind(ctx, one.Scorer, part)
			if err != nil {
				return nil, err
			}
			doc.Models = append(doc.Models, kindModelDoc{one.Name, r})
		}
		list = append(list, doc)
	}
	return list, nil
}

// writeKinds shows how well kinds are told.
func (d *evalDoc) writeKinds(w io.Writer, s term.Style) error {
	for _, doc := range d.Kinds {
		fmt.Fprintf(w, "which kind? %s events of the %s test\n\n", term.Count(doc.Rules[0].Events), doc.Scenario)
		head := []term.Column{term.Left(""), term.Right("accuracy"), term.Right("mean AP")}
		shown := doc.Kinds[:min(6, len(doc.Kinds))]
		for _, kind := range shown {
			head = append(head, term.Right("AP "+kind))
		}
		t := term.NewTable(head...)
		row := func(name string, r eval.KindResult) {
			cells := []string{name, term.Percent(r.Accuracy), term.Percent(r.MeanAP)}
			for k := range shown {
				cells = append(cells, term.Percent(r.AP[k]))
			}
			t.Row(cells...)
		}
		for _, m := range doc.Models {
			row(d.Model+suffix(m.Variant), m.KindResult)
		}
		for _, r := range doc.Rules {
			row(r.Rule, r.KindResult)
		}
		if err := t.Write(w, s); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return nil
}

func suffix(variant string) string {
	if variant == "" {
		return ""
	}
	return " " + variant
}
