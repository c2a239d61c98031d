package main

import (
	"embed"
	"strings"

	"github.com/spf13/cobra"
)

// helpFiles has the long help of each command in a file of its own: help/data_import.txt for 'dygmamba data import',
// and help/dygmamba.txt for the program. Examples follow a line that says "Examples:".
//
//go:embed help/*.txt
var helpFiles embed.FS

// helpText returns the long help of a command, and "" if there is no file with that name.
func helpText(name string) string {
	text, err := helpFiles.ReadFile("help/" + name + ".txt")
	if err != nil {
		return ""
	}
	return string(text)
}

// describe sets the long help and the examples of a command and of all its subcommands. A command without a file keeps
// what its constructor set.
func describe(cmd *cobra.Command) {
	name := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
	if text := helpText(strings.ReplaceAll(name, " ", "_")); text != "" {
		long, examples, _ := strings.Cut("\n"+text, "\nExamples:\n")
		cmd.Long, cmd.Example = strings.TrimSpace(long), strings.TrimRight(examples, "\n")
	}
	for _, c := range cmd.Commands() {
		describe(c)
	}
}
