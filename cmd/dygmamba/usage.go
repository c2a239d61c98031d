package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dygmamba/dygmamba/internal/suggest"
)

// usageError is a mistake on the command line.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// knownCommand is the argument check of commands that only have subcommands.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	return usagef("unknown command %q%s", cmd.CommandPath()+" "+args[0], suggest.Hint(args[0], names))
}

// takes is the argument check of commands with one argument for each word, all of them required: what each of them is.
func takes(words ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(words) == 0 && len(args) > 0:
			return usagef("%s takes no arguments, found %q", cmd.CommandPath(), args[0])
		case len(args) < len(words):
			return usagef("%s needs %s", cmd.CommandPath(), words[len(args)])
		case len(args) > len(words):
			return usagef("%s needs %s only, found %q too",
				cmd.CommandPath(), strings.Join(words, " and "), args[len(words)])
		}
		return nil
	}
}

// explainFlag adds to a complaint about an unknown flag the one that was probably meant.
func explainFlag(cmd *cobra.Command, err error) error {
	wrong, found := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !found {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if meant := suggest.Match(wrong, names); meant != "" {
		return usagef("unknown flag --%s; did you mean --%s?", wrong, meant)
	}
	return usagef("unknown flag --%s", wrong)
}
