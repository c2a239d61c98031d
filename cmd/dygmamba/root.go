package main

import (
	"bytes"
	"embed"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/internal/term"
)

// newRoot is the command tree. A new command is one file and one line here.
func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:               "dygmamba",
		Short:             "Learn from timed events and predict who interacts with whom, and when",
		Args:              knownCommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRun:  func(*cobra.Command, []string) { a.start() },
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print one JSON document on standard output")
	root.PersistentFlags().BoolVarP(&a.quiet, "quiet", "q", false, "show no progress, only warnings and errors")
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(explainFlag)
	plain := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) { a.help(cmd, func() { plain(cmd, args) }) })

	root.AddCommand(
		newDemo(a),
		newData(a),
		newEval(a),
		newTrain(a),
		newPredict(a),
		newServe(a),
		newReport(a),
		newAudit(a),
		newCalibrate(a),
		newCompare(a),
		newReproduce(a),
		newStudy(a),
		newWorker(a),
		newReproduceWorker(a),
		newEmbed(a),
		newConvert(a),
		newBench(a),
		newModels(a),
		newVersion(a),
		newCompletion(a),
	)
	root.SetHelpCommand(newHelp())
	describe(root)
	return root
}

// help answers --help: on a terminal as wide as that is; with --json as a document like everything else.
func (a *app) help(cmd *cobra.Command, plain func()) {
	if !a.json {
		cols := term.Width(a.out)
		if cols == 0 {
			plain()
			return
		}
		var b bytes.Buffer
		cmd.SetOut(&b)
		plain()
		cmd.SetOut(a.out)
		io.WriteString(a.out, wrapHelp(b.String(), min(cols, widestHelp)))
		return
	}
	doc := struct {
		Command string `json:"command"`
		Summary string `json:"summary"`
		Usage   string `json:"usage"`
		Example string `json:"example"`
	}{cmd.CommandPath(), cmd.Short, cmd.UsageString(), cmd.Example}
	a.emit(doc, nil)
}

// widestHelp is how long a line can be and still be read with ease.
const widestHelp = 120

// wrapHelp breaks long lines, but for the examples: those are there to be pasted.
func wrapHelp(text string, cols int) string {
	const heading = "\nExamples:\n"
	before, rest, found := strings.Cut(text, heading)
	if !found {
		return term.Wrap(text, cols)
	}
	examples, after, _ := strings.Cut(rest, "\n\n")
	return term.Wrap(before+"\n", cols) + heading[1:] + examples + "\n\n" + term.Wrap(after, cols)
}

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:     "help [command]",
		Short:   "Show the help of a command",
		Example: "  dygmamba help data import",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			about, _, err := cmd.Root().Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, c := range about.Commands() {
				if !c.Hidden {
					names = append(names, c.Name()+"\t"+c.Short)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return knownCommand(about, rest)
			}
			return about.Help()
		},
	}
}

// helpFiles has the long help of each command in a file of its own: help/data_import.txt for 'dygmamba data import',
// and help/dygmamba.txt for the program. Examples follow a line that says "Examples:".
//
//go:embed help/*.txt
var helpFiles embed.FS

// helpText returns the long help of a command, and "" if there is no file with that name.
func helpText(name string) string {
	text, _ := helpFiles.ReadFile("help/" + name + ".txt")
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

func newData(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "data",
		Short: "Import, inspect, check, extend, export, generate and download data sets",
		Args:  knownCommand,
		RunE: func(*cobra.Command, []string) error {
			return usagef("data needs a command: list, info, check, import, append, retract, forget, export, slice, " +
				"synth or fetch")
		},
	}
	cmd.AddCommand(
		newDataList(a),
		newDataInfo(a),
		newDataCheck(a),
		newDataImport(a),
		newDataAppend(a),
		newDataRetract(a),
		newDataForget(a),
		newDataExport(a),
		newDataSlice(a),
		newDataSynth(a),
		newDataFetch(a),
	)
	return cmd
}
