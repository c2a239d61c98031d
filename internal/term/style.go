package term

import (
	"io"
	"os"
)

// Style colours words where that helps the eye. The zero Style leaves them as they are.
type Style struct{ on bool }

// StyleOf is the style for a stream: colours on a terminal unless NO_COLOR is set, none elsewhere.
func StyleOf(w io.Writer) Style {
	_, refused := os.LookupEnv("NO_COLOR")
	return Style{on: !refused && IsTerminal(w)}
}

// Strong is for what the eye should find first.
func (s Style) Strong(text string) string { return s.wrap("1", text) }

// Dim is for what may be overlooked.
func (s Style) Dim(text string) string { return s.wrap("2", text) }

// Good is for the best of several, and for success.
func (s Style) Good(text string) string { return s.wrap("32", text) }

// Warn is for warnings.
func (s Style) Warn(text string) string { return s.wrap("33", text) }

// Bad is for errors.
func (s Style) Bad(text string) string { return s.wrap("31", text) }

func (s Style) wrap(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
