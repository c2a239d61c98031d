// Package paper answers: what was published? It holds every table of the DyGMamba paper (TMLR 2025) that our own
// results are shown beside: AP and AUC on seven continuous-time, six discrete-time and three synthetic data sets, in
// percent, and its studies of parts, sizes, times, memory and data; and a list of its tables and figures with what each
// needs.
package paper

import (
	_ "embed"
	"encoding/csv"
	"strconv"
	"strings"
	"sync"

	"github.com/dygmamba/dygmamba/protocol"
)

//go:embed results.csv
var resultTable string // AP and AUC of link prediction

//go:embed studies.csv
var studyTable string // every other published number: ablations, sizes, times, statistics

// Value is a mean and its sample standard deviation over five runs, in percent.
type Value struct{ Mean, Std float64 }

// Result is one cell of the published tables.
type Result struct {
	AP, AUC Value
	Timeout bool // the model did not finish; there are no values
}

// key is the first four columns of a table in lower case.
type key [4]string

// Lookup finds a published result. Names are those of this program in any case: scenario transductive or inductive,
// negatives random, historical or inductive, a data set such as uci or CanParl, a model such as dygmamba.
func Lookup(scenario protocol.Scenario, negatives protocol.Negatives, dataset, model string) (Result, bool) {
	r, ok := results()[fold(string(scenario), string(negatives), dataset, model)]
	return r, ok
}

// Study finds a published number that is not one of Lookup's: of an exhibit, for a data set, a model ("" where there
// is none) and a quantity, such as "efficiency", "uci", "tgat", "minutes". Std is 0 where none was published.
func Study(exhibit, dataset, model, quantity string) (Value, bool) {
	v, ok := studies()[fold(exhibit, dataset, model, quantity)]
	return v, ok
}

var results = sync.OnceValue(func() map[key]Result {
	all := map[key]Result{}
	for _, row := range rows(resultTable) {
		all[fold(row[:4]...)] = Result{Value{number(row[4]), number(row[5])}, Value{number(row[6]), number(row[7])},
			row[4] == ""}
	}
	return all
})

var studies = sync.OnceValue(func() map[key]Value {
	all := map[key]Value{}
	for _, row := range rows(studyTable) {
		if row[4] != "" { // a timeout
			all[fold(row[:4]...)] = Value{number(row[4]), number(row[5])}
		}
	}
	return all
})

// rows are those of a table without its head. Tables are part of the program, and a test reads them whole: they cannot
// be wrong here.
func rows(table string) [][]string {
	all, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil {
		panic(err)
	}
	return all[1:]
}

// number reads a cell; an empty one is 0.
func number(cell string) float64 {
	if cell == "" {
		return 0
	}
	v, err := strconv.ParseFloat(cell, 64)
	if err != nil {
		panic(err)
	}
	return v
}

func fold(names ...string) (k key) {
	for i, n := range names {
		k[i] = strings.ToLower(n)
	}
	return k
}
