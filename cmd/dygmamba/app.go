package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/dygmamba/dygmamba/internal/term"
)

// app is what every command shares: the three streams and how to use them.
type app struct {
	in       io.Reader
	out      *term.Output
	err      io.Writer
	json     bool // --json: one document on out, and nothing else there
	quiet    bool // --quiet: no progress, warnings only
	console  *term.Console
	running  bool // flags and arguments were fine
	answered bool // out has its document
	args     []string

	slow atomic.Pointer[func()] // says that an interruption takes its time; nil: as for a step
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *app {
	return &app{in: stdin, out: term.NewOutput(stdout), err: stderr, console: term.NewConsole(stderr, false)}
}

// asksForJSON looks for --json before flags are parsed, so that a mistake in them is reported in the form that was
// asked for.
func asksForJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.ContainsFunc(args, func(arg string) bool { return arg == "--json" || arg == "--json=true" })
}

// start is called when flags and arguments have been accepted.
func (a *app) start() {
	a.running = true
	a.console = term.NewConsole(a.err, a.quiet)
}

// log writes to standard error, above the live progress line.
func (a *app) log() *slog.Logger { return a.console.Logger() }

// emit ends a command: doc goes to standard output as JSON with --json; otherwise human writes there what people read.
// It is called once.
func (a *app) emit(doc any, human func(w io.Writer, s term.Style) error) error {
	a.answered = true
	if !a.json {
		return human(a.out, term.StyleOf(a.out))
	}
	return encode(a.out, doc)
}

func encode(w io.Writer, doc any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(doc)
}

// number is a float that JSON shows as null where there is none: a metric over an empty set.
type number float64

func (n number) MarshalJSON() ([]byte, error) {
	if v := float64(n); !math.IsNaN(v) && !math.IsInf(v, 0) {
		return strconv.AppendFloat(nil, v, 'g', -1, 64), nil
	}
	return []byte("null"), nil
}
