package main

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
)

// Every file in help/ belongs to a command, and its lines fit on a narrow terminal.
func TestHelpFiles(t *testing.T) {
	known := map[string]bool{}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		words := strings.Fields(cmd.CommandPath())
		known[strings.Join(words[min(1, len(words)-1):], "_")] = true
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(newRoot(newApp(nil, nil, nil)))
	files, err := fs.Glob(helpFiles, "help/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "help/"), ".txt")
		if !known[name] {
			t.Errorf("%s: there is no such command", file)
		}
		long, examples, found := strings.Cut("\n"+helpText(name), "\nExamples:\n")
		if !found || !strings.HasPrefix(examples, "  ") {
			t.Errorf("%s: no examples, each indented by two spaces, after a line 'Examples:'", file)
		}
		for line := range strings.Lines(long) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
				t.Errorf("%s: a line of %d characters, want at most 80: %s", file, n, line)
			}
		}
	}
}

// What the help says about dates and the archive is what the program does.
func TestHelpQuotesTheProgram(t *testing.T) {
	for name, want := range map[string]string{"data_import": dataset.DateForms, "data_fetch": dataset.ArchiveURL} {
		if flowing := strings.Join(strings.Fields(helpText(name)), " "); !strings.Contains(flowing, want) {
			t.Errorf("help/%s.txt does not say %q", name, want)
		}
	}
}
