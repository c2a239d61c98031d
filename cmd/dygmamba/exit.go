package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/collective"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/run"
)

// What the exit code says.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitBadInput    = 3
	exitInterrupted = 130
)

var exitNames = map[int]string{
	exitFailed:      "failed",
	exitUsage:       "wrong usage",
	exitBadInput:    "bad input",
	exitInterrupted: "interrupted",
}

// inputError marks any other complaint about someone's data; those of package dataset need no mark.
type inputError struct{ error }

func (e *inputError) Unwrap() error { return e.error }

// exitCode maps errors to exit codes, here and nowhere else.
func (a *app) exitCode(err error) int {
	var usage *usageError
	var found *dataset.InputError
	var input *inputError
	var records *run.Error
	var lost *collective.LostError
	var launched *launchError
	var place *fs.PathError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &launched):
		return launched.exit()
	case errors.As(err, &lost):
		return exitFailed
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case !a.running, errors.As(err, &usage), errors.Is(err, model.ErrSetting), errors.Is(err, dataset.ErrUnknown),
		errors.Is(err, eval.ErrArrival):
		return exitUsage
	case errors.As(err, &place) && place.Op == "mkdir": // not an input
		return exitFailed
	case errors.As(err, &found), errors.As(err, &input), errors.As(err, &records),
		errors.Is(err, fs.ErrNotExist), errors.Is(err, checkpoint.ErrCorrupt), errors.Is(err, predict.ErrTooEarly),
		errors.Is(err, eval.ErrNoLabels), errors.Is(err, dataset.ErrManyClasses),
		errors.Is(err, eval.ErrNoValues), errors.Is(err, eval.ErrNoKinds), errors.Is(err, predict.ErrTrainedOn),
		errors.Is(err, run.ErrForeign):
		return exitBadInput
	}
	return exitFailed
}

// finish reports an error, once: as a line on standard error, and with --json also as the document on standard output
// unless the command has written its own.
func (a *app) finish(cmd *cobra.Command, err error) int {
	if lost := a.out.Err(); lost != nil && (err == nil || errors.Is(err, lost)) {
		err, a.answered, a.running = fmt.Errorf("the output was lost: %w", lost), true, true
	}
	code := a.exitCode(err)
	if code == exitDone {
		return code
	}
	said := explained(err)
	if code == exitInterrupted {
		said = strings.TrimSuffix(said, ": "+context.Canceled.Error())
	}
	message := said
	var many *dataset.Problems
	switch {
	case errors.As(err, &many) && many.Total > 1:
		message = fmt.Sprintf("%s problems in the input:\n  %s",
			term.Count(many.Total), strings.ReplaceAll(message, "\n", "\n  "))
	case code == exitInterrupted:
		message = "interrupted: " + message
	case code == exitUsage:
		message += fmt.Sprintf("\nRun '%s --help' for usage and examples.", cmd.CommandPath())
	}
	a.log().Error(message)
	if a.json && !a.answered {
		a.emit(failure{errorDoc{code, exitNames[code], said, complaints(err)}}, nil)
	}
	return code
}

// failure is the JSON document of a command that did not come to its own.
type failure struct {
	Error errorDoc `json:"error"`
}

type errorDoc struct {
	Exit     int            `json:"exit"`
	Kind     string         `json:"kind"`
	Message  string         `json:"message"`
	Problems []complaintDoc `json:"problems,omitempty"`
}

// complaintDoc is one thing wrong with some data.
type complaintDoc struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	Row    *int   `json:"row,omitempty"`
	Column string `json:"column,omitempty"`
	Found  string `json:"found"`
	Want   string `json:"want"`
}

func complaints(err error) []complaintDoc {
	var list []*dataset.InputError
	var many *dataset.Problems
	var one *dataset.InputError
	if errors.As(err, &many) {
		list = many.List
	} else if errors.As(err, &one) {
		list = append(list, one)
	}
	docs := make([]complaintDoc, len(list))
	for i, p := range list {
		docs[i] = complaintDoc{File: p.File, Line: p.Line, Column: p.Column, Found: withFlags(p.Found),
			Want: withFlags(p.Want)}
		if p.Row >= 0 {
			docs[i].Row = &p.Row
		}
	}
	return docs
}

// explained is the message of an error, with the flags that help.
func explained(err error) string {
	message := withFlags(err.Error())
	for _, h := range flagHints {
		if errors.Is(err, h.of) && !strings.Contains(message, h.hint) {
			message += ": " + h.hint
		}
	}
	return message
}

// flagHints are the flags that help with an error of the library.
var flagHints = []struct {
	of   error
	hint string
}{
	{run.ErrExists, "continue it with --resume, or choose another directory with --out"},
	{run.ErrNoChoice, "continue it with 'train --resume', or name one of its trials"},
}

// withFlags says in terms of this program what the library says in its own: which flag sets an option, which command
// calls a function.
func withFlags(message string) string { return flagNames.Replace(message) }

var flagNames = strings.NewReplacer(
	"the options Features and NodeFeatures", "--features and --node-features",
	"the option Source", "--src", "the option Target", "--dst", "the option TimeLayout", "--time-format",
	"the option Time", "--time",
	"the option Schema", "--schema", "the option Dir", "--data-dir",
	"the option Kind", "--kind", "the option ID", "--id", "the option Label", "--label",
	"the option Value", "--value",
	"the option EdgeFeatures", "--edge-features", "the option Features", "--features",
	"the option NoHeader", "--no-header", "the option NodeFile", "--nodes", "the option NodeID", "--node-id",
	"the option NodeSide", "--node-side", "the option NodeTime", "--node-time",
	"the option NodeLabels.Node", "--node-label-id", "the option NodeLabels.Side", "--node-label-side",
	"the option NodeLabels.Time", "--node-label-time", "the option NodeLabels.Label", "--node-label",
	"the option NodeFeatures", "--node-features", "the option Again", "--again",
	"with the option Format csv", "--format csv", ": dataset.Open opens ", ", with --data ",
	"dataset.Import", "data import", "dataset.Fetch", "data fetch")

// warn logs what the library warns of, and returns it as this program says it.
func (a *app) warn(warnings []string) (said []string) {
	for _, w := range warnings {
		said = append(said, withFlags(w))
		a.log().Warn(said[len(said)-1])
	}
	return said
}

// crashed reports a bug of ours with what is needed to find it. Without it Go would exit with 2, which means wrong
// usage here.
func (a *app) crashed(p any) int {
	a.log().Error(fmt.Sprintf("this is a bug in dygmamba, please report it: %v\n%s", p, debug.Stack()))
	if a.json && !a.answered {
		a.emit(failure{errorDoc{exitFailed, "bug", fmt.Sprint(p), nil}}, nil)
	}
	return exitFailed
}
