// Package protocol names the choices of an experiment: in which order a memory learns of events, who draws what is
// random, which negatives are asked about, which nodes a result is about, and what is learned. Texts of these types are
// the same on the command line, in JSON and in messages.
package protocol

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/internal/suggest"
)

// Order is the order in which a memory learns of events, in units of a batch (see package replay).
type Order string

// The orders. In strict order a query at t sees the units that end before t, nothing of its own instant. In the order
// of arrival a unit is remembered once it was asked about, as in the reference programs: what comes after it at the
// same instant sees it.
const (
	Strict  Order = "strict"
	Arrival Order = "arrival"
)

// Orders lists them.
func Orders() []Order { return []Order{Strict, Arrival} }

// Sampling says who draws splits, unseen nodes, negatives and random neighbours.
type Sampling string

// The generators.
const (
	Reference Sampling = "reference" // the same draws as the reference programs, bit for bit
	Native    Sampling = "native"    // our own: seeded, fast, and without the reference's accidents of order
)

// Samplings lists them.
func Samplings() []Sampling { return []Sampling{Reference, Native} }

// Scenario says which test events a result is about. Users know it as setting, a word that Go code keeps for those of
// a model.
type Scenario string

// The scenarios that results are published for.
const (
	Transductive Scenario = "transductive" // all test events, of seen and of unseen nodes
	Inductive    Scenario = "inductive"    // those with a node that training did not show
)

// Scenarios lists them.
func Scenarios() []Scenario { return []Scenario{Transductive, Inductive} }

// Task is what is learned.
type Task string

// The tasks.
const (
	LinkPrediction     Task = "link"                // will the two interact?
	NodeClassification Task = "node-classification" // which label has the source of this event?
	Next               Task = "next"                // who is the next destination of this source, among all?
	Regression         Task = "regression"          // which value has this event?
	// ByKind is what link prediction is called on the command line and in results where questions name the kind of the
	// event. Settings make it, no other code: it is not among Tasks.
	ByKind Task = "kind"
)

// Tasks lists them.
func Tasks() []Task { return []Task{LinkPrediction, NodeClassification, Next, Regression} }

// OfEvents says whether the task asks about events that do happen: there are no negatives, and nodes are not hidden.
func (t Task) OfEvents() bool { return t == NodeClassification || t == Regression }

// Error says that a text names none of the possible choices.
type Error struct {
	What  string // that is chosen, such as "order"
	Found string
	Want  []string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s %q, must be %s%s", e.What, e.Found, oneOf(e.Want), suggest.Hint(e.Found, e.Want))
}

// oneOf is a list for people: "a, b or c".
func oneOf(list []string) string {
	last := len(list) - 1
	if last < 1 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:last], ", ") + " or " + list[last]
}

// Check returns an *Error unless the choice is one of those that are possible.
func Check[T ~string](what string, choice T, possible []T) error {
	if slices.Contains(possible, choice) {
		return nil
	}
	return &Error{what, string(choice), Texts(possible)}
}

// Texts are choices as plain text.
func Texts[T ~string](list []T) []string {
	texts := make([]string, len(list))
	for i, x := range list {
		texts[i] = string(x)
	}
	return texts
}
