package predict

import (
	"context"
	"errors"
	"fmt"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/model"
)

// ErrSeveralClasses says that a model does not answer with one logit.
var ErrSeveralClasses = errors.New("the model tells several classes apart and says a logit for each")

// Classes are the names of the classes that a classifier of labels tells apart; nil: two without names, or another
// task.
func (p *Predictor) Classes() []string { return p.spec.Classes }

// Target is the value that a model of regression tells; nil: another task.
func (p *Predictor) Target() *model.Target { return p.spec.Target }

// Said is all that the model says of every query, in their order: a logit, or one for each of more than two classes.
// Otherwise it is Score.
func (p *Predictor) Said(ctx context.Context, qs []Query) ([][]float32, error) {
	if err := checkQueries(qs); err != nil {
		return nil, err
	}
	width := p.spec.Outputs()
	return byGroup(ctx, p, qs, func(some []Query, done int) ([][]float32, error) {
		all := make([]float32, width*len(some))
		rows := make([][]float32, len(some))
		for i := range rows {
			rows[i] = all[i*width : (i+1)*width : (i+1)*width]
		}
		return rows, p.score(ctx, some, all, done, len(qs))
	})
}

// Classified is a class and how likely each is.
type Classified struct {
	Class  string             `json:"class"` // the likeliest, the first of equal ones
	Shares map[string]float64 `json:"classes"`
}

// Classify is what the model says of a query, Said, in classes. They must have names.
func (p *Predictor) Classify(said []float32) Classified {
	names := p.spec.Classes
	shares := make([]float64, len(names))
	eval.ClassShares(shares, said)
	c := Classified{Shares: make(map[string]float64, len(names))}
	best := 0
	for i, name := range names {
		c.Shares[name] = shares[i]
		if shares[i] > shares[best] {
			best = i
		}
	}
	c.Class = names[best]
	return c
}

// oneLogit refuses what is about one logit that means a probability.
func (p *Predictor) oneLogit(what string) error {
	if p.spec.Outputs() > 1 || p.spec.Target != nil {
		return fmt.Errorf("%s: %s tells %s, want a model of links or of two labels", what, p.name, p.tells())
	}
	return nil
}

// tells names what is predicted.
func (p *Predictor) tells() string {
	if p.spec.Target != nil {
		return "values of " + p.spec.Target.Column
	}
	return fmt.Sprintf("%d classes", len(p.spec.Classes))
}
