// Package paper answers: what was published? It holds every table of the DyGMamba paper (TMLR 2025) that our own
// results are shown beside: AP and AUC on seven continuous-time, six discrete-time and three synthetic data sets, in
// percent, and its studies of parts, sizes, times, memory and data; and a list of its tables and figures with what each
// needs.
package paper

import (
	_ "embed"
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/dygmamba/dygmamba/protocol"
)

//go:embed results.csv
var table string

//go:embed synthetic.csv
var synthetic string // fewer models, one scenario

// Value is a mean and its sample standard deviation over five runs, in percent.
type Value struct{ Mean, Std float64 }

// Result is one cell of the published tables.
type Result struct {
	AP, AUC Value
	Timeout bool // the model did not finish; there are no values
}

// key is scenario, negatives, data set and model.
type key [4]string

type published struct {
	results          map[key]Result
	datasets, models []string
}

// Lookup finds a published result. Names are those of this program in any case: scenario transductive or inductive,
// negatives random, historical or inductive, a data set such as uci or CanParl, a model such as dygmamba.
func Lookup(scenario protocol.Scenario, negatives protocol.Negatives, dataset, model string) (Result, bool) {
	r, ok := load().results[fold(string(scenario), string(negatives), dataset, model)]
	return r, ok
}

// Datasets lists the published data sets, other than the synthetic ones, in the order of the paper.
func Datasets() []string { return slices.Clone(load().datasets) }

// Models lists the models that were compared on them, in the order of the paper.
func Models() []string { return slices.Clone(load().models) }

// load reads the tables once. They are part of the program, and a test reads them whole: they cannot be wrong here.
var load = sync.OnceValue(func() published {
	p := published{results: map[key]Result{}}
	for _, row := range append(rows(table), rows(synthetic)...) {
		p.results[fold(row[0], row[1], row[2], row[3])] = result(row[4:])
	}
	for _, row := range rows(table) {
		if !slices.Contains(p.datasets, row[2]) {
			p.datasets = append(p.datasets, row[2])
		}
		if !slices.Contains(p.models, row[3]) {
			p.models = append(p.models, row[3])
		}
	}
	return p
})

// rows are those of a table without its head.
func rows(table string) [][]string {
	all, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil {
		panic(err)
	}
	return all[1:]
}

func result(cells []string) Result {
	if cells[0] == "" {
		return Result{Timeout: true}
	}
	var v [4]float64
	for i, c := range cells {
		x, err := strconv.ParseFloat(c, 64)
		if err != nil {
			panic(err)
		}
		v[i] = x
	}
	return Result{AP: Value{v[0], v[1]}, AUC: Value{v[2], v[3]}}
}

func fold(names ...string) (k key) {
	for i, n := range names {
		k[i] = strings.ToLower(n)
	}
	return k
}
