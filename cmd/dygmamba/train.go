package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/internal/memory"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// trainFlags are all that a training is told on the command line.
type trainFlags struct {
	data      dataFlags
	what      modelFlags
	where     deviceFlags
	runs      runFlags
	ranks     rankFlags
	negatives protocol.Negatives // --negatives
	limit     string             // --memory-limit
	options   dygmamba.TrainOptions

	config string   // --config
	fit    string   // --fit
	sweep  []string // --sweep
	trials int      // --trials
	full   bool     // --full
	spread spreadFlags
}

func newTrain(a *app) *cobra.Command {
	var f trainFlags
	cmd := &cobra.Command{
		Use:   "train",
		Short: "Train a model on a data set, with one or more seeds",
		Args:  takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.ranks.run(cmd, a, func(ctx context.Context) error { return f.train(ctx, cmd, a) })
		},
	}
	f.add(cmd)
	return cmd
}

// train does what the flags say, alone or as one of several ranks.
func (f *trainFlags) train(ctx context.Context, cmd *cobra.Command, a *app) (err error) {
	o := &f.options
	o.Began = time.Now()
	if o.Resume && f.runs.out == "" {
		return usagef("--resume needs --out, the directory of the run to continue")
	}
	if err := f.checkSweep(); err != nil {
		return err
	}
	if err := f.remember(cmd.Flags().Changed); err != nil {
		return err
	}
	if err := f.chooseTask(cmd.Flags().Changed); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	if err := f.takeRanks(); err != nil {
		return err
	}
	defer memory.Limit(o.MemoryLimit)()
	if o.Set, err = f.data.open(ctx, a); err != nil {
		return err
	}
	defer o.Set.Close()
	f.chooseByData(cmd.Flags().Changed, a)
	if o.Device, err = f.where.open(a); err != nil {
		return err
	}
	defer o.Device.Close()
	o.Model, o.Preset, o.Settings = f.what.name, f.what.preset, f.what.set
	o.Dir, o.Threads = f.runs.out, f.where.threads
	if err := f.configure(a); err != nil {
		return err
	}
	if len(f.sweep) > 0 {
		return f.runSweep(ctx, a)
	}
	progress := watch(a, o)
	summary, err := dygmamba.Train(ctx, *o)
	progress.done()
	if errors.Is(err, context.Canceled) {
		a.log().Info(afterwards(o.Dir))
	}
	if err != nil {
		return err
	}
	for _, r := range summary.Runs {
		a.warnFew(r.Results)
	}
	return a.emit(summary, func(w io.Writer, s term.Style) error {
		return writeSummary(w, s, o.Set, o.Dir, summary)
	})
}

func (f *trainFlags) add(cmd *cobra.Command) {
	o := &f.options
	f.data.add(cmd)
	f.what.add(cmd, modelNames, dygmamba.DefaultModel)
	f.where.add(cmd)
	f.where.addRounding(cmd)
	f.runs.add(cmd)
	flags := cmd.Flags()
	addOrder(cmd, &o.Order)
	choiceVar(flags, &o.Task, "task", protocol.LinkPrediction,
		"'link': predict events; 'node-classification': predict the label of an event's source; "+
			"'next': predict the next destination of a source among all (default model: countnet); "+
			"'kind': predict events by kind, and which kind an event will be (data import --kind); "+
			"'regression': predict the value of an event (data import --value)")
	flags.StringVar(&o.Backbone, "backbone", "", "with --task node-classification: run `directory` of the same model "+
		"trained on links (default: train it first)")
	completeWith(cmd, "task", append(protocol.Tasks(), taskKind)...)
	dirVar(cmd, &o.From, "from", "run `directory` to begin with: its weights, model and settings, and what it "+
		"remembered where that fits; for newer data")
	flags.StringVar(&f.fit, "fit", "", "'all': then train once more on all events, test included, for the number of "+
		"epochs that validation chose; for deployment (default: keep validation and test events apart)")
	completeWith(cmd, "fit", run.FitAll)
	flags.BoolVar(&o.Resume, "resume", false, "continue the run in --out, or start it if there is none")
	durationVar(flags, &o.MaxTime, "max-time", 0,
		"end within this time, such as 10m, start-up and test included; uses parts of the events if all do not fit; "+
			"--resume continues (default: no limit)")
	durationVar(flags, &o.SaveEvery, "save-every", 30*time.Second, "time between saves within an epoch")
	flags.StringVar(&f.limit, "memory-limit", "",
		"do not start if training needs more memory than this, such as 8GB: data and indexes in main memory, and what "+
			"the device takes (default: the free memory, within the limits of container and process)")
	choiceVar(flags, &f.negatives, "negatives", protocol.RandomNegatives,
		"negatives of the final evaluation: random, historical, inductive or all; training uses random negatives, and "+
			"others with --set negatives_historical or negatives_time")
	flags.BoolVar(&o.ByAP, "select-by-ap", false,
		"choose the best epoch by validation AP alone, as all presets but 'released' and 'paper' do (with these, AP "+
			"and AUC must both be at least the best so far)")
	flags.IntVar(&o.TestEvery, "test-every", 0,
		"number of epochs between test measurements; shown, never used to choose an epoch (default: never)")
	flags.BoolVar(&o.TensorBoard, "tensorboard", false, "write TensorBoard event files to --out")
	completeWith(cmd, "negatives", append(protocol.Published(), protocol.All)...)
	f.ranks.add(cmd)
	f.addSweep(cmd)
}

func modelNames() []string {
	list := append(models.Names(true), model.MadeFor(protocol.Next)...)
	slices.Sort(list)
	return list
}

// taskKind is link prediction whose questions tell the kind of the event: half of the negatives have another
// destination, half another kind, and validation with both chooses the epoch.
const taskKind = protocol.ByKind

func kindSettings() []string {
	return []string{"negatives_random=0.5", "negatives_kind=0.5", "select_by=" + string(protocol.KindNegatives)}
}

// chooseTask finds out what is learned by which model, where the command line names only one of them.
func (f *trainFlags) chooseTask(given func(flag string) bool) (err error) {
	o := &f.options
	if err := oneOf("task", o.Task, append(protocol.Tasks(), taskKind)...); err != nil {
		return err
	}
	if o.Task == taskKind { // links, with questions that tell the kind
		o.Task = protocol.LinkPrediction
		f.what.set = append(kindSettings(), f.what.set...)
		if !given("negatives") {
			f.negatives = protocol.KindNegatives
		}
	}
	if !given("model") && o.Task == protocol.Next {
		f.what.name = dygmamba.ModelFor(o.Task)
	}
	if _, err := model.Find(f.what.name); err != nil {
		return usagef("%v", err)
	}
	asked := o.Task
	if !given("task") && asked == protocol.LinkPrediction {
		asked = ""
	}
	if asked, err = dygmamba.TaskOf(f.what.name, asked); err != nil {
		return usagef("%v", err)
	}
	o.Task = cmp.Or(asked, protocol.LinkPrediction)
	return nil
}

// linkFlags say what is learned, or are about links alone: who uses one of them trains the default model on links.
var linkFlags = []string{"model", "task", "preset", "set", "sweep", "order", "negatives", "backbone", "select-by-ap",
	"fit", "from", "config", "resume", "ranks"}

// chooseByData learns the task next on imported data, where the command line leaves open what is learned: its answers
// are probabilities that sum to 1, and it is the better model of links too after a few minutes on two cores
// (docs/MODELS.md).
func (f *trainFlags) chooseByData(given func(flag string) bool, a *app) {
	if slices.ContainsFunc(linkFlags, given) || !model.DataOf(f.options.Set).Imported ||
		f.options.Ranks != nil {
		return
	}
	f.options.Task, f.what.name = protocol.Next, dygmamba.ModelFor(protocol.Next)
	a.log().Info(fmt.Sprintf("learning who is next, and when, with %s: the default for imported data; "+
		"to learn links: --task %s", f.what.name, protocol.LinkPrediction))
}

// check looks at the flags alone, before anything is read, and puts them into the options.
func (f *trainFlags) check() (err error) {
	o := &f.options
	o.Strategies, err = oneOrAll("negatives", f.negatives, protocol.Published(), protocol.KindNegatives)
	if err != nil {
		return err
	}
	if f.negatives == protocol.KindNegatives {
		o.Strategies = []protocol.Negatives{protocol.RandomNegatives, protocol.KindNegatives}
	}
	if o.MemoryLimit, err = parseBytes("memory-limit", f.limit); err != nil {
		return err
	}
	if o.Seeds, err = f.runs.seeds(); err != nil {
		return err
	}
	switch {
	case o.MaxTime < 0:
		return usagef("--max-time is %v, must be a duration such as 10m or 2h", o.MaxTime)
	case o.SaveEvery <= 0:
		return usagef("--save-every is %v, must be a duration such as 30s or 5m", o.SaveEvery)
	case o.TestEvery < 0:
		return usagef("--test-every is %d, must be a number of epochs, or 0 for never", o.TestEvery)
	case o.TensorBoard && f.runs.out == "":
		return usagef("--tensorboard needs --out, the directory to write event files to")
	}
	if err := f.checkFit(); err != nil {
		return err
	}
	factory, err := model.Find(f.what.name)
	if err != nil {
		return usagef("%v", err)
	}
	if err := checkOrder(o.Order); err != nil {
		return err
	}
	if o.Backbone != "" && o.Task != protocol.NodeClassification {
		return usagef("--backbone is for --task %s", protocol.NodeClassification)
	}
	if o.Order != "" && !factory.Remembers {
		return usagef("--order %s needs a model with memory; %s has none", o.Order, f.what.name)
	}
	_, err = factory.SpecFor(o.Task, f.what.preset, model.Data{}, f.what.set...)
	return err
}

// checkFit looks at --fit and --from.
func (f *trainFlags) checkFit() error {
	o := &f.options
	o.FitAll = f.fit == run.FitAll
	switch {
	case f.fit != "" && !o.FitAll:
		return usagef("--fit is %q, must be %s", f.fit, run.FitAll)
	case o.FitAll && f.runs.out == "":
		return usagef("--fit all needs --out, the directory to keep both trainings in")
	case o.FitAll && (o.MaxTime > 0 || len(f.sweep) > 0):
		return usagef("--fit all cannot be used with --max-time or --sweep")
	case o.FitAll && o.Task != protocol.LinkPrediction:
		return usagef("--fit all is for --task %s", protocol.LinkPrediction)
	case o.From != "" && len(f.sweep) > 0:
		return usagef("--from cannot be used with --sweep")
	case o.From != "" && o.Task == protocol.NodeClassification:
		return usagef("--from cannot be used with --task %s: --backbone names a trained model", o.Task)
	}
	return nil
}

// recall takes over from the runs in --out what the command line leaves open, so that --resume needs no other flag.
// What is given on it stays, and the training will object if that is something else.
func (f *trainFlags) recall(given func(flag string) bool) error {
	out := f.runs.out
	begun := run.Seeds(out)
	if chosen := filepath.Join(out, dygmamba.ChosenDir); len(begun) == 0 && len(run.Seeds(chosen)) > 0 {
		out, begun = chosen, run.Seeds(chosen) // --fit all, which has not come to its second training
		if !given("fit") {
			f.fit = run.FitAll
		}
	}
	if len(begun) == 0 {
		return nil
	}
	if !given("seed") {
		f.runs.seed = begun[0]
		if !given("runs") {
			f.runs.begun = begun
		}
	}
	record, err := run.OpenSeed(out, f.runs.seed)
	if err != nil {
		return err
	}
	if from := record.Config.From; from != nil && !given("from") {
		f.options.From = record.Path(from.Run)
	}
	if fit := record.Config.Fit; fit != nil {
		if !given("fit") {
			f.fit = fit.To
		}
		if record, err = run.Open(record.Path(fit.Chosen)); err != nil { // whose settings are those that were asked for
			return err
		}
	}
	return f.take(record, given)
}

// take takes over from a run what the command line leaves open.
func (f *trainFlags) take(record run.Run, given func(flag string) bool) error {
	preset, order, settings, err := record.Settings()
	if err != nil {
		return err
	}
	c := record.Config
	f.what.set = append(settings, f.what.set...)
	if !given("model") {
		f.what.name = c.Model
	}
	if !given("preset") {
		f.what.preset = preset
	}
	f.data.complete(record.Source())
	if !given("select-by-ap") {
		f.options.ByAP, f.options.ByBoth = c.ByAP, !c.ByAP
	}
	if !given("tf32") {
		f.where.tf32 = c.TF32
	}
	if !given("order") {
		f.options.Order = order
	}
	if !given("task") && record.Task() != "" {
		f.options.Task, f.options.Backbone = record.Task(), cmp.Or(f.options.Backbone, record.Backbone())
	}
	if !given("negatives") && len(c.Final) > 0 {
		if f.negatives = c.Final[0]; len(c.Final) > 1 {
			f.negatives = protocol.All
		}
	}
	return nil
}

// afterwards says what an interrupted training leaves.
func afterwards(dir string) string {
	if dir == "" {
		return "nothing was saved; use --out to be able to resume"
	}
	return "saved in " + dir + "; continue with the same command and --resume"
}

// parseBytes reads sizes such as 8GB, 512MiB or 1000000.
func parseBytes(flag, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	units := []struct {
		suffix string
		size   float64
	}{{"KIB", 1 << 10}, {"MIB", 1 << 20}, {"GIB", 1 << 30}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"K", 1 << 10},
		{"M", 1 << 20}, {"G", 1 << 30}, {"B", 1}}
	number, size := strings.ToUpper(strings.TrimSpace(text)), 1.0
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.suffix); ok {
			number, size = strings.TrimSpace(rest), u.size
			break
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v*size >= 1) || v*size > 1<<60 {
		return 0, usagef("--%s is %q, must be a size such as 8GB or 512MiB", flag, text)
	}
	return int64(v * size), nil
}
