package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/open"
	"github.com/dygmamba/dygmamba/internal/suggest"
	"github.com/dygmamba/dygmamba/protocol"
)

// The flags that commands share come in four groups. A command adds those it needs:
//
//	var data dataFlags
//	data.add(cmd)
//	… in RunE: set, err := data.open(cmd.Context(), a)

// dataFlags choose the events.
type dataFlags struct {
	name     string            // --data
	dir      string            // --data-dir
	sampling protocol.Sampling // --sampling; "": as the data prefers
	recalled bool              // the name is that of a run's data, not given as a flag
	missing  string            // where these were and are no more
}

func (f *dataFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.name, "data", "",
		"data set: a name ('data list'), a directory in the ml_* layout, or a file made by 'data import'")
	choiceVar(flags, &f.sampling, "sampling", "", "how to draw splits and negatives: 'reference' as the reference "+
		"programs do, or 'native' (default: reference for the ml_* layout, native for imported files)")
	addDataDir(cmd, &f.dir)
	complete(cmd, "data", func() []string { return dataNames(f.dir) })
	completeWith(cmd, "sampling", protocol.Samplings()...)
}

func addDataDir(cmd *cobra.Command, dir *string) {
	dirVar(cmd, dir, "data-dir", "directory with named data sets (default: ./data, then the user cache)")
}

func dirVar(cmd *cobra.Command, to *string, name, usage string) {
	cmd.Flags().StringVar(to, name, "", usage)
	if err := cmd.MarkFlagDirname(name); err != nil {
		panic(err)
	}
}

// open reads the data set and passes its warnings on. The caller closes it.
func (f *dataFlags) open(ctx context.Context, a *app) (*dataset.Set, error) {
	if f.name == "" {
		return nil, usagef("--data is missing: want a name shown by 'dygmamba data list', a directory, " +
			"or a file made by 'dygmamba data import'")
	}
	if err := oneOf("sampling", f.sampling, append(protocol.Samplings(), "")...); err != nil {
		return nil, err
	}
	set, err := a.openSet(ctx, f.name, f.dir, f.sampling)
	if f.recalled && errors.Is(err, dataset.ErrUnknown) {
		if f.missing != "" {
			return nil, usagef("data set %s was read from %s, which does not exist; name it with --data",
				f.name, f.missing)
		}
		return nil, usagef("%v; name it with --data", err)
	}
	return set, err
}

// openSet is open for commands that take the name as an argument.
func (a *app) openSet(ctx context.Context, name, dir string, sampling protocol.Sampling) (*dataset.Set, error) {
	set, err := dataset.Open(ctx, name, dataset.Options{DataDir: dir})
	if err != nil {
		return nil, err
	}
	for _, w := range set.Warnings {
		a.log().Warn(w)
	}
	if sampling != "" {
		set.Sampling = sampling
	}
	return set, nil
}

// modelFlags choose what scores.
type modelFlags struct {
	name   string   // --model
	preset string   // --preset
	set    []string // --set key=value, in order
}

func (f *modelFlags) add(cmd *cobra.Command, names func() []string, standard string) {
	flags := cmd.Flags()
	flags.StringVar(&f.name, "model", standard, "name of the model, as 'dygmamba models' lists it")
	flags.StringVar(&f.preset, "preset", "", "name of a set of hyper-parameters, as 'dygmamba models NAME' lists them "+
		"(default: the best on validation data)")
	flags.StringArrayVar(&f.set, "set", nil, "change one hyper-parameter, as `key=value`; repeatable")
	complete(cmd, "model", names)
	completePresets(cmd, func([]string) string { return f.name })
	completeSettings(cmd, func() string { return f.name })
}

func addOrder(cmd *cobra.Command, order *protocol.Order) {
	choiceVar(cmd.Flags(), order, "order", "", "when the memory of a model is updated: 'strict', a query at t uses "+
		"only events before t, or 'arrival', as in the reference programs (default: the order of the checkpoint or "+
		"the preset)")
	completeWith(cmd, "order", protocol.Orders()...)
}

func checkOrder(order protocol.Order) error {
	if order == "" {
		return nil
	}
	return oneOf("order", order, protocol.Orders()...)
}

// deviceFlags choose what computes.
type deviceFlags struct {
	name    string // --device
	threads int    // --threads
	tf32    bool   // --tf32, of commands that learn

	rounding *pflag.Flag // --tf32, where there is one
	gpu      int         // number of the GPU on this machine
}

func (f *deviceFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.name, "device", "auto", "device to compute on: "+strings.Join(open.Names, ", "))
	flags.IntVar(&f.threads, "threads", 0,
		"number of CPU threads; results do not depend on it (default: one per processor)")
	completeWith(cmd, "device", open.Names...)
}

func (f *deviceFlags) addRounding(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.tf32, "tf32", true, "use TF32 (10 bits of mantissa instead of 23) for matrix products in "+
		"training on a GPU; it is faster and as accurate; evaluation, prediction and CPUs always use float32")
	f.rounding = cmd.Flags().Lookup("tf32")
}

// check looks at the flags alone; threads is then at least 1.
func (f *deviceFlags) check() error {
	const most = 1 << 12
	if f.threads < 0 || f.threads > most {
		return usagef("--threads is %d, must be from 1 to %d", f.threads, most)
	}
	if f.threads == 0 {
		f.threads = runtime.GOMAXPROCS(0)
	}
	return oneOf("device", f.name, open.Names...)
}

// open starts the device. The caller closes it.
func (f *deviceFlags) open(a *app) (device.Device, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	dev, note, err := open.Device(f.name, open.Options{Threads: f.threads, GPU: f.gpu, Exact: !f.tf32})
	if err != nil {
		return nil, err
	}
	if note != "" {
		a.log().Info("computing on the CPU: " + note)
	}
	if f.tf32 && f.rounding.Changed && !device.Rounds(dev) {
		a.log().Info("--tf32 has no effect: " + dev.Name() + " uses float32 only")
	}
	return dev, nil
}

// runFlags choose where results go and which seeds make them.
type runFlags struct {
	out  string // --out
	seed uint64 // --seed
	runs int    // --runs

	begun []uint64 // the seeds of a training that goes on, when neither of these is given
}

func (f *runFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	dirVar(cmd, &f.out, "out", "output directory")
	flags.Uint64Var(&f.seed, "seed", 0, "random seed of the first run")
	flags.IntVar(&f.runs, "runs", 1, "number of runs, with the seeds --seed, --seed+1, …")
}

// mostRuns is far more than anyone waits for.
const mostRuns = 1_000_000

func (f *runFlags) seeds() ([]uint64, error) {
	if f.begun != nil {
		return f.begun, nil
	}
	if f.runs < 1 || f.runs > mostRuns {
		return nil, usagef("--runs is %d, must be from 1 to %d", f.runs, mostRuns)
	}
	if f.seed > math.MaxUint64-uint64(f.runs-1) {
		return nil, usagef("--seed %d leaves no room for the seeds of %d runs", f.seed, f.runs)
	}
	seeds := make([]uint64, f.runs)
	for i := range seeds {
		seeds[i] = f.seed + uint64(i)
	}
	return seeds, nil
}

// oneOf checks a flag that has a fixed set of values.
func oneOf[T ~string](flag string, value T, values ...T) error {
	if slices.Contains(values, value) {
		return nil
	}
	list := protocol.Texts(slices.DeleteFunc(slices.Clone(values), func(v T) bool { return v == "" }))
	last := len(list) - 1
	return usagef("--%s is %q, must be %s or %s", flag, value, strings.Join(list[:last], ", "), list[last])
}

// choiceVar adds a flag whose value is one of several.
func choiceVar[T ~string](flags *pflag.FlagSet, to *T, name string, value T, usage string) {
	*to = value
	flags.Var(choice[T]{to}, name, usage)
}

// choice is the value of such a flag.
type choice[T ~string] struct{ to *T }

func (c choice[T]) Set(text string) error { *c.to = T(text); return nil }
func (c choice[T]) Type() string          { return "string" }
func (c choice[T]) String() string {
	if c.to == nil { // of a zero value, which pflag compares with
		return ""
	}
	return string(*c.to)
}

// complete offers values of a flag to the shell; files are offered as well.
func complete(cmd *cobra.Command, flag string, values func() []string) {
	offer(cmd, flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values(), cobra.ShellCompDirectiveDefault
	})
}

// completeWith offers a fixed set of values and nothing else.
func completeWith[T ~string](cmd *cobra.Command, flag string, values ...T) {
	offer(cmd, flag, cobra.FixedCompletions(protocol.Texts(values), cobra.ShellCompDirectiveNoFileComp))
}

func offer(cmd *cobra.Command, flag string, values cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, values); err != nil {
		panic(fmt.Sprintf("flag %s: %v", flag, err))
	}
}

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
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		return explainValue(invalid)
	}
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

// explainValue says what a flag takes.
func explainValue(err *pflag.InvalidValueError) error {
	want, found := strings.CutPrefix(err.Unwrap().Error(), "want ")
	switch err.GetFlag().Value.Type() {
	case "bool":
		want = "true or false"
	case "int", "int64":
		want = "a whole number"
	case "uint64":
		want = "a whole number of at least 0"
	case "float64":
		want = "a number"
	case "intSlice":
		want = "whole numbers, separated by commas"
	default:
		if !found {
			return usagef("--%s %s: %v", err.GetFlag().Name, err.GetValue(), err.Unwrap())
		}
	}
	return usagef("--%s is %q, must be %s", err.GetFlag().Name, err.GetValue(), want)
}
