package main

import (
	"bytes"
	"io"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/internal/term"
)

func newCompletion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:       "completion bash|zsh|fish|powershell",
		Short:     "Print a shell completion script",
		Args:      cobra.MatchAll(takes("the name of a shell"), cobra.OnlyValidArgs),
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		RunE: func(cmd *cobra.Command, args []string) error {
			var script bytes.Buffer
			if err := writeCompletion(cmd.Root(), args[0], &script); err != nil {
				return err
			}
			doc := struct {
				Shell  string `json:"shell"`
				Script string `json:"script"`
			}{args[0], script.String()}
			return a.emit(doc, func(w io.Writer, _ term.Style) error {
				_, err := script.WriteTo(w)
				return err
			})
		},
	}
}

func writeCompletion(root *cobra.Command, shell string, w io.Writer) error {
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(w, true)
	case "zsh":
		return root.GenZshCompletion(w)
	case "fish":
		return root.GenFishCompletion(w, true)
	}
	return root.GenPowerShellCompletionWithDesc(w)
}
