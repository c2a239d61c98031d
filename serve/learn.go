package serve

import "context"

// Learning says whether and how the model goes on learning from what comes in.
type Learning struct {
	On  bool
	Dir string // where models that were learned lie; "": a temporary directory
}

// learner fine-tunes a copy of the model in the background.
type learner struct{}

type learnedDoc struct{}

func newLearner(*Server, Learning) (*learner, error) { return &learner{}, nil }

func (l *learner) watch(context.Context) {}
func (l *learner) doc() *learnedDoc      { return nil }
