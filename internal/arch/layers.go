// Package arch answers: which package may import which, and how large may lines, functions and packages be?
//
// Two towers, data and maths, rise from the same ground and never import each other; they meet at package model.
// Imports only go down. A new package adds its line to Layers.
package arch

// Tower tells which side of the house a package stands on.
type Tower uint8

// The towers. Both may be imported from everywhere above, and stands on whatever is below it.
const (
	Both  Tower = iota
	Data        // ids and times, no tensors
	Maths       // shapes and buffers, no nodes or events
)

// Layer is one storey: packages that may import every lower storey of their own tower and of Both, but not each other.
type Layer struct {
	Tower    Tower
	Packages []string // paths below the module; "models/*" stands for every package directly in models
}

// Layers is the house, from the ground up.
var Layers = []Layer{
	{Both, []string{
		"internal/arch", "internal/atomicfile", "internal/await", "internal/brokertest", "internal/collective",
		"internal/disk",
		"internal/golden", "internal/idset", "internal/jsonobject", "internal/memory", "internal/mersenne",
		"internal/npy", "internal/parallel", "internal/pcg64", "internal/pyset",
		"internal/release", "internal/rng", "internal/suggest", "internal/tensorboard", "internal/term",
		"internal/torchtest",
	}},

	{Both, []string{"calibration", "internal/pairs", "internal/vectors", "protocol"}},
	{Both, []string{"internal/collectivetest", "internal/page", "internal/paper"}},
	{Both, []string{"client", "eventlog"}},
	{Both, []string{"internal/eventlogtest", "eventlog/*"}},

	{Data, []string{"event"}},
	{Data, []string{"internal/streamtest"}},
	{Data, []string{"index", "internal/walk"}},
	{Data, []string{"internal/bestlist", "internal/shortlist", "sample"}},
	{Data, []string{"internal/tally"}},
	{Data, []string{"dataset/internal/input", "dataset/internal/repo"}},
	{Data, []string{"dataset/internal/feature", "dataset/internal/input/inputtest"}},
	{Data, []string{"dataset/internal/data"}},
	{Data, []string{"dataset/internal/layout", "dataset/internal/native", "dataset/internal/synth"}},
	{Data, []string{"dataset/internal/table"}},
	{Data, []string{"dataset"}},
	{Data, []string{"internal/cache", "internal/next", "internal/queries", "internal/rate"}},

	{Maths, []string{"device"}},
	{Maths, []string{"internal/hook"}},
	{Maths, []string{"device/cpu", "device/cuda", "internal/devicetest", "internal/dry", "internal/recorded",
		"internal/trace"}},
	{Maths, []string{"internal/kernelbench", "device/open"}},
	{Maths, []string{"tensor"}},
	{Maths, []string{"grad"}},
	{Maths, []string{"nn"}},
	{Maths, []string{"internal/optim"}},

	{Both, []string{"checkpoint"}},
	{Both, []string{"model"}},
	{Both, []string{"models/internal/dyglib"}},
	{Both, []string{"models/internal/attention", "models/internal/messages", "models/internal/sequence"}},
	{Both, []string{"replay"}},
	{Both, []string{"eval"}},
	{Both, []string{"run"}},
	{Both, []string{"train"}},
	{Both, []string{"internal/bench", "model/modeltest"}},
	{Both, []string{"models/internal/*"}},
	{Both, []string{"models"}},
	{Both, []string{"predict"}},
	{Both, []string{"."}},
	{Both, []string{"audit", "internal/demo", "internal/report", "serve"}},
	{Both, []string{"internal/rankbench", "internal/servebench", "internal/study"}},
	{Both, []string{"internal/queue"}},
	{Both, []string{"cmd/*"}},
}

// Beyond lists what a package leaves to others although it lies below, in tests too. A program fills in options of the
// library and prints what comes back: what needs tapes, batches or a certain model is the library's work.
var Beyond = map[string][]string{
	"cmd/*": {"index", "sample", "tensor", "grad", "nn", "internal/optim", "replay"},
}

// Catalogue is the file that lists all models. Whatever else names one in a string knows too much.
const Catalogue = "models/models.go"

// DefaultModel may be named: it is what a user gets who names none.
const DefaultModel = "dygmamba"

// NamesModels lists who may name models all the same: the models themselves, the tour, the paper's own tables, and a
// format of files that is called like the model it was published with.
var NamesModels = []string{"models", "models/internal/*", "internal/demo", "internal/paper",
	"dataset/internal/layout"}

// Outside lists what may be imported from other modules, and by whom. Nothing else comes in without its line here.
// Test files may import every module of this table.
var Outside = map[string][]string{
	"golang.org/x/sys":                    {"dataset/internal/native", "device/cpu", "device/cuda", "internal/term"},
	"golang.org/x/term":                   {"internal/term"},
	"github.com/spf13/cobra":              {"cmd/*"},
	"github.com/spf13/pflag":              {"cmd/*"},
	"github.com/parquet-go/parquet-go":    {"dataset/internal/table", "internal/vectors"},
	"github.com/nlpodyssey/gopickle":      {"checkpoint"},
	"github.com/ebitengine/purego":        {"device/cuda", "internal/collective"},
	"gonum.org/v1/plot":                   {"cmd/*"},
	"github.com/nats-io/nats.go":          {"eventlog/jetstream", "internal/brokertest", "internal/queue"},
	"github.com/nats-io/nats-server/v2":   {"internal/brokertest"}, // tests alone
	"github.com/prometheus/client_golang": {"serve"},
	"go.etcd.io/bbolt":                    {"eventlog/embedded"},
	"go.opentelemetry.io/otel":            {"serve", "cmd/*"},
	"github.com/google/go-cmp":            {"dataset/internal/input/inputtest"},
	"pgregory.net/rapid":                  {"internal/streamtest"},
}
