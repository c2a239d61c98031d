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

// ErrNotOne says that something is about one logit that means a probability, which a model does not say.
var ErrNotOne = errors.New("not possible with this model")

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

// Answer is what a model says of a query in words. Which fields it has depends on the task.
type Answer struct {
	Logit       float32  `json:"logit"`                 // of several classes, that of the likeliest
	Probability *float64 `json:"probability,omitempty"` // of the likeliest of several classes, of the second of two
	// Of a classifier whose classes have names: the likeliest, the first of equal ones, and how likely each is.
	Class   string             `json:"class,omitempty"`
	Classes map[string]float64 `json:"classes,omitempty"`
	// Of regression, in the unit of the column. The logit is in deviations from the mean.
	Value *float64 `json:"value,omitempty"`
}

// Answer puts what the model says of a query, Said, into words.
func (p *Predictor) Answer(said []float32) Answer {
	a := Answer{Logit: said[0]}
	if t := p.spec.Target; t != nil {
		value := t.Value(said[0])
		a.Value = &value
		return a
	}
	names := p.spec.Classes
	if names == nil {
		probability := p.Probability(said[0])
		a.Probability = &probability
		return a
	}
	shares := make([]float64, len(names))
	eval.ClassShares(shares, said)
	best := 0
	a.Classes = make(map[string]float64, len(names))
	for i, name := range names {
		a.Classes[name] = shares[i]
		if shares[i] > shares[best] {
			best = i
		}
	}
	a.Class, a.Probability = names[best], &shares[best]
	if len(said) > 1 {
		a.Logit = said[best]
	} else {
		a.Probability = &shares[1]
	}
	return a
}

// InWords says whether answers are more than a logit and a probability: see Answer.
func (p *Predictor) InWords() bool { return p.spec.Classes != nil || p.spec.Target != nil }

// oneLogit refuses what is about one logit that means a probability.
func (p *Predictor) oneLogit(what string) error {
	if p.spec.Outputs() > 1 || p.spec.Target != nil {
		return fmt.Errorf("%s: %w: %s tells %s, want a model of links or of two labels", what, ErrNotOne,
			p.name, p.tells())
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
