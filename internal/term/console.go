// Package term answers: how does it look on a terminal?
//
// Tables and facts go to standard output, log lines and one live progress line to standard error; nothing here knows
// what the words and numbers mean.
package term

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// Console shares one stream between log lines and a live progress line, so that neither breaks the other. It is safe
// for concurrent use.
type Console struct {
	mu    sync.Mutex // guards the stream and line
	w     io.Writer
	line  string // the live line now on the screen
	live  bool   // the stream is a terminal
	style Style
	level slog.Level
	width func() int
	now   func() time.Time
}

// NewConsole is a console on w, with a live line where w is a terminal. A quiet one shows warnings and errors only.
func NewConsole(w io.Writer, quiet bool) *Console {
	c := &Console{w: w, live: !quiet && IsTerminal(w), style: StyleOf(w), width: func() int { return width(w) },
		now: time.Now}
	if quiet {
		c.level = slog.LevelWarn
	}
	return c
}

// IsKeyboard reports whether r is a terminal that someone may type at.
func IsKeyboard(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// IsTerminal reports whether w is a terminal that understands control sequences.
func IsTerminal(w io.Writer) bool {
	f, ok := fileOf(w)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" && enableControl(f)
}

func width(w io.Writer) int {
	if f, ok := fileOf(w); ok {
		if cols, _, err := term.GetSize(int(f.Fd())); err == nil && cols > 20 {
			return cols
		}
	}
	return 80
}

// Logger writes to the console: the message, then its attributes, with the level in front from warnings on.
func (c *Console) Logger() *slog.Logger { return slog.New(&handler{console: c}) }

// print writes whole lines above the live line.
func (c *Console) print(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
	io.WriteString(c.w, strings.TrimRight(text, "\n")+"\n")
	c.draw()
}

// show replaces the live line; an empty one removes it.
func (c *Console) show(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
	c.line = line
	c.draw()
}

func (c *Console) erase() {
	if c.line != "" {
		io.WriteString(c.w, "\r\x1b[K")
	}
}

func (c *Console) draw() {
	if c.line != "" {
		io.WriteString(c.w, c.line)
	}
}

type handler struct {
	console *Console
	prefix  string // of groups
	attrs   string // rendered once
}

func (h *handler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.console.level }

func (h *handler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	switch {
	case r.Level >= slog.LevelError:
		b.WriteString(h.console.style.Bad("error: "))
	case r.Level >= slog.LevelWarn:
		b.WriteString(h.console.style.Warn("warning: "))
	}
	b.WriteString(r.Message)
	b.WriteString(h.attrs)
	r.Attrs(func(a slog.Attr) bool { b.WriteString(h.render(a)); return true })
	h.console.print(b.String())
	return nil
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	for _, a := range attrs {
		next.attrs += h.render(a)
	}
	return &next
}

func (h *handler) WithGroup(name string) slog.Handler {
	next := *h
	next.prefix += name + "."
	return &next
}

func (h *handler) render(a slog.Attr) string {
	v := fmt.Sprint(a.Value.Resolve().Any())
	if strings.ContainsAny(v, " \t\n\"") {
		v = fmt.Sprintf("%q", v)
	}
	return h.console.style.Dim("  "+h.prefix+a.Key+"=") + v
}
