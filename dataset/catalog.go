package dataset

import (
	"errors"
	"slices"
)

// Entry is a built-in data set and what has been published about it; 0 and "" where nothing has.
type Entry struct {
	Name         string `json:"name"`  // as in file names
	Title        string `json:"title"` // as in papers
	Kind         string `json:"kind"`  // Continuous, Discrete or Synthetic
	Nodes        int    `json:"nodes"`
	Events       int    `json:"events"`
	EdgeFeatures int    `json:"edge_features"` // as papers list them; files may hold columns of zeros instead of none
	Times        int    `json:"-"`             // distinct timestamps
	Bipartite    bool   `json:"bipartite"`
	Duration     string `json:"duration,omitempty"`
	Labels       bool   `json:"-"` // usable for node classification
	Seconds      bool   `json:"-"` // its times are known to be in seconds
}

// Kinds of data sets.
const (
	Continuous = "continuous time"
	Discrete   = "discrete time"
	Synthetic  = "synthetic"
)

// Catalog is all built-in data sets. Numbers of the continuous and synthetic ones are those of the DyGMamba paper's
// tables of statistics, of the others those of the DyGLib paper's (Yu et al., NeurIPS 2023); habits and hawkes are
// our own, with seed 0.
var Catalog = []Entry{
	{"lastfm", "LastFM", Continuous, 1980, 1293103, 0, 1283614, true, "1 month", false, true},
	{"enron", "Enron", Continuous, 184, 125235, 0, 22632, false, "3 years", false, true},
	{"mooc", "MOOC", Continuous, 7144, 411749, 4, 345600, true, "17 months", false, true},
	{"reddit", "Reddit", Continuous, 10984, 672447, 172, 669065, true, "1 month", true, true},
	{"wikipedia", "Wikipedia", Continuous, 9227, 157474, 172, 152757, true, "1 month", true, true},
	{"uci", "UCI", Continuous, 1899, 59835, 0, 58911, false, "196 days", false, true},
	{"SocialEvo", "Social Evo.", Continuous, 74, 2099519, 2, 565932, false, "8 months", false, true},
	{"myket", "Myket", Continuous, 17988, 694121, 0, 0, true, "", false, true},
	{"Flights", "Flights", Discrete, 13169, 1927145, 1, 122, false, "4 months", false, false},
	{"CanParl", "Can. Parl.", Discrete, 734, 74478, 1, 14, false, "14 years", false, true},
	{"USLegis", "US Legis.", Discrete, 225, 60396, 1, 12, false, "12 congresses", false, false},
	{"UNtrade", "UN Trade", Discrete, 255, 507497, 1, 32, false, "32 years", false, false},
	{"UNvote", "UN Vote", Discrete, 201, 1035742, 1, 72, false, "72 years", false, false},
	{"Contacts", "Contact", Discrete, 692, 2426279, 1, 8064, false, "1 month", false, false},
	{"s1", "S1", Synthetic, 7, 100000, 0, 96869, false, "", false, false},
	{"s2", "S2", Synthetic, 7, 100000, 0, 98004, false, "", false, false},
	{"s3", "S3", Synthetic, 7, 95657, 0, 95370, false, "", false, false},
	{"habits", "Habits", Synthetic, 85, 8044, 0, 8043, true, "20 weeks", false, true},
	{"hawkes", "Hawkes", Synthetic, 50, 38264, 0, 38263, true, "120 days", false, true},
}

// ErrUnknown is in the chain of the error about a name that means nothing: no built-in data set, no file, no directory.
var ErrUnknown = errors.New("no data set")

// Lookup is the entry of a built-in data set.
func Lookup(name string) (Entry, bool) {
	i := slices.IndexFunc(Catalog, func(e Entry) bool { return e.Name == name })
	if i < 0 {
		return Entry{}, false
	}
	return Catalog[i], true
}

// CatalogNames are the names of all built-in data sets.
func CatalogNames() []string {
	var names []string
	for _, e := range Catalog {
		names = append(names, e.Name)
	}
	return names
}
