// Package paper answers: what was published? It holds the link prediction tables of the DyGMamba paper (TMLR 2025) beside which
// our own results are shown: AP and AUC on seven continuous-time and six discrete-time data sets, in percent.
package paper

import (
	_ "embed"
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed results.csv
var table string

// Value is a mean and its sample standard deviation over five runs, in percent.
type Value struct{ Mean, Std float64 }

// Result is one cell of the published tables.
type Result struct {
	AP, AUC Value
	Timeout bool // the model did not finish; there are no values
}

// key is setting, negatives, data set and model.
type key [4]string

type published struct {
	results          map[key]Result
	datasets, models []string
}

// Lookup finds a published result. Names are those of this program in any case: setting transductive or inductive, negatives random,
// historical or inductive, a data set such as uci or CanParl, a model such as dygmamba.
func Lookup(setting, negatives, dataset, model string) (Result, bool) {
	r, ok := load().results[fold(setting, negatives, dataset, model)]
	return r, ok
}

// Datasets lists the published data sets in the order of the paper.
func Datasets() []string { return slices.Clone(load().datasets) }

// Models lists the published models in the order of the paper.
func Models() []string { return slices.Clone(load().models) }

// load reads the table once. It is part of the program, and a test reads it whole: it cannot be wrong here.
var load = sync.OnceValue(func() published {
	rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil {
		panic(err)
	}
	p := published{results: make(map[key]Result, len(rows))}
	for _, row := range rows[1:] {
		p.results[fold(row[0], row[1], row[2], row[3])] = result(row[4:])
		if !slices.Contains(p.datasets, row[2]) {
			p.datasets = append(p.datasets, row[2])
		}
		if !slices.Contains(p.models, row[3]) {
			p.models = append(p.models, row[3])
		}
	}
	return p
})

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
