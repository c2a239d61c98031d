package term

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Width is the number of columns of the terminal that w is; 0 if it is none.
func Width(w io.Writer) int {
	if !IsTerminal(w) {
		return 0
	}
	return width(w)
}

// Wrap breaks text into lines of at most cols characters, where words allow. Lines that begin at the left edge flow
// together up to the next empty or indented one; what follows an indented line goes on below its last column, so that
// names stay apart from what is said about them.
func Wrap(text string, cols int) string {
	var b strings.Builder
	flow := ""
	flush := func() {
		if flow != "" {
			wrapLine(&b, flow, 0, cols)
			flow = ""
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		switch {
		case line == "":
			flush()
			b.WriteByte('\n')
		case line[0] != ' ':
			flow = strings.TrimPrefix(flow+" "+line, " ")
		default:
			flush()
			wrapLine(&b, line, hang(line, cols), cols)
		}
	}
	flush()
	return b.String()
}

// hang is where an indented line goes on: below the text after its last wide gap, if that leaves room.
func hang(line string, cols int) int {
	const gap = "  "
	at := 0
	for i := strings.Index(line, gap); i >= 0 && i < len(line); {
		for i < len(line) && line[i] == ' ' {
			i++
		}
		if column := utf8.RuneCountInString(line[:i]); column <= cols*2/3 {
			at = column
		}
		next := strings.Index(line[i:], gap)
		if next < 0 {
			break
		}
		i += next
	}
	return at
}

func wrapLine(b *strings.Builder, line string, hang, cols int) {
	for utf8.RuneCountInString(line) > cols {
		runes := []rune(line)
		cut := cols
		for cut > hang && runes[cut] != ' ' {
			cut--
		}
		if cut <= hang || strings.TrimSpace(string(runes[hang:cut])) == "" {
			break // a word that is longer than the line
		}
		b.WriteString(strings.TrimRight(string(runes[:cut]), " ") + "\n")
		line = strings.Repeat(" ", hang) + strings.TrimLeft(string(runes[cut:]), " ")
	}
	b.WriteString(line + "\n")
}
