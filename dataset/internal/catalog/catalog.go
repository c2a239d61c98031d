// Package catalog answers: which data sets have a name everybody knows, and what has been published about them?
package catalog

import (
	"errors"
	"slices"
)

// Entry is a built-in data set and what has been published about it; 0 and "" where nothing has.
type Entry struct {
	Name         string // as in file names
	Title        string // as in papers
	Kind         string // Continuous, Discrete or Synthetic
	Nodes        int
	Events       int
	EdgeFeatures int // as papers list them; files may hold columns of zeros instead of none
	Times        int // distinct timestamps
	Duration     string
	Bipartite    bool
	Labels       bool // usable for node classification
}

// Kinds of data sets.
const (
	Continuous = "continuous time"
	Discrete   = "discrete time"
	Synthetic  = "synthetic"
)

// All is all built-in data sets. Numbers of the continuous and synthetic ones are those of the DyGMamba paper's tables
// of data set statistics, of the others those of the DyGLib paper's (Yu et al., NeurIPS 2023); habits is our own,
// with seed 0.
var All = []Entry{
	{"lastfm", "LastFM", Continuous, 1980, 1293103, 0, 1283614, "1 month", true, false},
	{"enron", "Enron", Continuous, 184, 125235, 0, 22632, "3 years", false, false},
	{"mooc", "MOOC", Continuous, 7144, 411749, 4, 345600, "17 months", true, false},
	{"reddit", "Reddit", Continuous, 10984, 672447, 172, 669065, "1 month", true, true},
	{"wikipedia", "Wikipedia", Continuous, 9227, 157474, 172, 152757, "1 month", true, true},
	{"uci", "UCI", Continuous, 1899, 59835, 0, 58911, "196 days", false, false},
	{"SocialEvo", "Social Evo.", Continuous, 74, 2099519, 2, 565932, "8 months", false, false},
	{"myket", "Myket", Continuous, 17988, 694121, 0, 0, "", true, false},
	{"Flights", "Flights", Discrete, 13169, 1927145, 1, 122, "4 months", false, false},
	{"CanParl", "Can. Parl.", Discrete, 734, 74478, 1, 14, "14 years", false, false},
	{"USLegis", "US Legis.", Discrete, 225, 60396, 1, 12, "12 congresses", false, false},
	{"UNtrade", "UN Trade", Discrete, 255, 507497, 1, 32, "32 years", false, false},
	{"UNvote", "UN Vote", Discrete, 201, 1035742, 1, 72, "72 years", false, false},
	{"Contacts", "Contact", Discrete, 692, 2426279, 1, 8064, "1 month", false, false},
	{"s1", "S1", Synthetic, 7, 100000, 0, 96869, "", false, false},
	{"s2", "S2", Synthetic, 7, 100000, 0, 98004, "", false, false},
	{"s3", "S3", Synthetic, 7, 95657, 0, 95370, "", false, false},
	{"habits", "Habits", Synthetic, 85, 8044, 0, 8043, "20 weeks", true, false},
}

// ErrUnknown is in the chain of the error about a name that means nothing: no built-in data set, no file, no directory.
var ErrUnknown = errors.New("no data set")

// Lookup is the entry of a built-in data set.
func Lookup(name string) (Entry, bool) {
	i := slices.IndexFunc(All, func(e Entry) bool { return e.Name == name })
	if i < 0 {
		return Entry{}, false
	}
	return All[i], true
}

// Names are the names of all built-in data sets.
func Names() []string {
	var names []string
	for _, e := range All {
		names = append(names, e.Name)
	}
	return names
}
