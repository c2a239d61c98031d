package main

import (
	"strings"
	"testing"
)

func TestEverySettingIsExplained(t *testing.T) {
	for _, name := range builtIn() {
		doc, err := modelDocOf(name, "", "")
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range doc.Settings {
			if s.About == "" {
				t.Errorf("%s: nothing is said about %s", name, s.Key)
			}
		}
	}
}

// Examples are pasted: no line of them may be broken.
func TestHelpWrapsAllButExamples(t *testing.T) {
	long := "  dygmamba " + strings.Repeat("--flag value ", 10) + "end"
	got := wrapHelp("What it does, in so many words that they do not fit.\n\nExamples:\n"+long+
		"\n\nFlags:\n      --x   "+strings.Repeat("word ", 10)+"\n", 30)
	if !strings.Contains(got, "\n\nExamples:\n"+long+"\n\nFlags:\n") {
		t.Errorf("examples changed:\n%s", got)
	}
	for line := range strings.Lines(strings.Replace(got, long, "", 1)) {
		if n := len(strings.TrimRight(line, "\n")); n > 30 {
			t.Errorf("a line of %d characters: %q", n, line)
		}
	}
}
