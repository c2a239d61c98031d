package paper

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

//go:embed studies.csv
var studyTable string // every other published number: ablations, sizes, times, statistics

// studyKey is exhibit, data set, model and quantity.
type studyKey [4]string

var loadStudies = sync.OnceValue(func() map[studyKey]Value {
	all := map[studyKey]Value{}
	for _, row := range rows(studyTable) {
		if row[4] != "" { // a timeout
			all[foldStudy(row[0], row[1], row[2], row[3])] = Value{number(row[4]), number(row[5])}
		}
	}
	return all
})

// Study finds a published number that is not one of Lookup's: of an exhibit, for a data set, a model ("" where there
// is none) and a quantity, such as "efficiency", "uci", "tgat", "minutes". Std is 0 where none was published.
func Study(exhibit, dataset, model, quantity string) (Value, bool) {
	v, ok := loadStudies()[foldStudy(exhibit, dataset, model, quantity)]
	return v, ok
}

func foldStudy(names ...string) (k studyKey) {
	for i, n := range names {
		k[i] = strings.ToLower(n)
	}
	return k
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
