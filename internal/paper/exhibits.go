package paper

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/protocol"
)

// Kind says what an exhibit shows, and so what must be done to show it again.
type Kind string

// The kinds.
const (
	Links     Kind = "links"     // AP or AUC of link prediction: models × data sets
	Varied    Kind = "varied"    // AP while a setting changes
	Labels    Kind = "labels"    // AUC of node classification
	Steps     Kind = "steps"     // parameters, time of an epoch, memory
	Totals    Kind = "totals"    // epochs and time till the best one
	Lengths   Kind = "lengths"   // memory against the number of neighbours
	Events    Kind = "events"    // statistics of data sets
	Pairs     Kind = "pairs"     // how often pairs meet
	Histories Kind = "histories" // how much past there is to look at
	Intervals Kind = "intervals" // from one meeting of a pair to the next
)

// Exhibit is a table or a figure of the paper.
type Exhibit struct {
	ID     string // as the command line takes it
	Number string // in the paper, such as "Table 1"
	Title  string
	Kind   Kind

	Datasets  []string
	Models    []string
	Scenario  protocol.Scenario    // of link prediction: transductive or inductive
	Negatives []protocol.Negatives // kinds of them
	Metric    string               // "AP" or "AUC"
	Points    []Point              // of a Varied one
	Minutes   float64              // of a Varied one: what trainings were allowed on the paper's machine; 0: no limit
	Note      string               // what a reader should know before comparing
}

// Point is one value of what is varied.
type Point struct {
	X        float64
	Settings func(model string) []string // key=value
}

// The data sets of the paper's tables, in its order.
var (
	continuous = []string{"lastfm", "enron", "mooc", "reddit", "wikipedia", "uci", "SocialEvo"}
	measured   = []string{"lastfm", "enron", "mooc", "uci", "reddit", "SocialEvo"}
	discrete   = []string{"CanParl", "Contacts", "Flights", "UNtrade", "UNvote", "USLegis"}
	made       = []string{"s1", "s2", "s3"}
)

// The models of the paper's tables, in its order.
var (
	compared = []string{"jodie", "dyrep", "tgat", "tgn", "cawn", "edgebank", "tcl", "graphmixer", "dygformer", "ctan",
		"dygmamba"}
	learned  = slices.DeleteFunc(slices.Clone(compared), func(m string) bool { return m == "edgebank" })
	variants = []string{"dygmamba-a", "dygmamba-b", "dygmamba-c", "dygmamba-d", "dygmamba-e", "dygmamba-f", "dygmamba"}
	patched  = []string{"dygformer", "dygmamba", "dygmamba-a"}
)

var allNegatives = protocol.Published()

// Exhibits lists all tables and figures that hold results, in the order of the paper. Its tables of hyper-parameters
// are the presets of the models.
func Exhibits() []Exhibit {
	random := []protocol.Negatives{protocol.RandomNegatives}
	ofNew := []protocol.Negatives{protocol.RandomNegatives, protocol.InductiveNegatives}
	const noted = "the paper gives no deviations here"
	return []Exhibit{
		{ID: "transductive-ap", Number: "Table 1", Title: "AP of transductive dynamic link prediction", Kind: Links,
			Datasets: continuous, Models: compared, Scenario: "transductive", Negatives: allNegatives, Metric: "AP"},
		{ID: "inductive-ap", Number: "Table 2", Title: "AP of inductive dynamic link prediction", Kind: Links,
			Datasets: continuous, Models: learned, Scenario: "inductive", Negatives: ofNew, Metric: "AP"},
		{ID: "ablation-transductive", Number: "Table 3", Title: "Ablation studies, transductive, AP", Kind: Links,
			Datasets: continuous, Models: variants, Scenario: "transductive", Negatives: allNegatives, Metric: "AP",
			Note: noted},
		{ID: "ablation-inductive", Number: "Table 4", Title: "Ablation studies, inductive, AP", Kind: Links,
			Datasets: continuous, Models: variants, Scenario: "inductive", Negatives: ofNew, Metric: "AP", Note: noted},
		{ID: "synthetic-ap", Number: "Table 5a", Title: "AP on synthetic data sets", Kind: Links, Datasets: made,
			Models:   []string{"dygformer", "ctan", "dygmamba-a", "dygmamba-c", "dygmamba-d", "dygmamba"},
			Scenario: "transductive", Negatives: random, Metric: "AP",
			Note: "the paper's own S1, S2 and S3 were not published; these are made after its description"},
		{ID: "synthetic-auc", Number: "Table 5b", Title: "AUC on synthetic data sets", Kind: Links, Datasets: made,
			Models:   []string{"dygformer", "ctan", "dygmamba-a", "dygmamba-c", "dygmamba-d", "dygmamba"},
			Scenario: "transductive", Negatives: random, Metric: "AUC",
			Note: "the paper's own S1, S2 and S3 were not published; these are made after its description"},
		{ID: "efficiency-figure", Number: "Figures 2 and 6", Title: "Size, time of an epoch and memory", Kind: Steps,
			Datasets: measured, Models: learned, Note: sizes},
		{ID: "patch-enron", Number: "Figure 3", Title: "Patch sizes on Enron, transductive AP, random negatives",
			Kind: Varied, Datasets: []string{"enron"}, Models: patched, Scenario: "transductive", Negatives: random,
			Metric: "AP", Points: patches(256, 8, 4, 2, 1), Note: "the paper draws this without numbers"},
		{ID: "memory-neighbors", Number: "Figure 4", Title: "Memory against neighbours on Enron", Kind: Lengths,
			Datasets: []string{"enron"}, Models: []string{"dygformer", "dygmamba"},
			Points: lengths(8, 64, 128, 256, 512, 1024, 2048, 4096, 8192),
			Note: "the paper draws this without numbers: on a card of 45 GB DyGFormer ends at 2,048, " +
				"DyGMamba beyond 8,192"},
		{ID: "datasets", Number: "Table 6", Title: "Data set statistics", Kind: Events, Datasets: continuous},
		{ID: "synthetic-datasets", Number: "Table 7", Title: "Synthetic data set statistics", Kind: Events,
			Datasets: made},
		{ID: "synthetic-pairs", Number: "Table 8", Title: "Meetings of pairs in synthetic data sets", Kind: Pairs,
			Datasets: made},
		{ID: "intervals", Number: "Figure 5", Title: "Time intervals of a pair in S1, S2 and S3", Kind: Intervals,
			Datasets: made},
		{ID: "transductive-auc", Number: "Table 12", Title: "AUC of transductive dynamic link prediction", Kind: Links,
			Datasets: continuous, Models: compared, Scenario: "transductive", Negatives: allNegatives, Metric: "AUC"},
		{ID: "inductive-auc", Number: "Table 13", Title: "AUC of inductive dynamic link prediction", Kind: Links,
			Datasets: continuous, Models: learned, Scenario: "inductive", Negatives: ofNew, Metric: "AUC"},
		{ID: "node-classification", Number: "Table 14", Title: "AUC of dynamic node classification", Kind: Labels,
			Datasets: []string{"wikipedia", "reddit"}, Models: learned, Metric: "AUC"},
		{ID: "efficiency", Number: "Table 15", Title: "Parameters, time of an epoch and memory", Kind: Steps,
			Datasets: measured, Models: learned, Note: sizes},
		{ID: "total-time", Number: "Table 16", Title: "Epochs and time till the best epoch", Kind: Totals,
			Datasets: measured, Models: []string{"dygformer", "ctan", "dygmamba"},
			Note: "the paper's column of Reddit repeats model sizes as times of an epoch"},
		{ID: "limited-time", Number: "Figure 7", Title: "More neighbours in limited time, Enron, transductive AP",
			Kind: Varied, Datasets: []string{"enron"}, Models: []string{"tgn", "cawn", "dygformer", "ctan", "dygmamba"},
			Scenario: "transductive", Negatives: random, Metric: "AP",
			Points: neighbors(8, 16, 32, 64, 128, 256), Minutes: 120, Note: "the paper draws this without numbers"},
		{ID: "patch-mooc", Number: "Figure 8", Title: "Patch sizes on MOOC, transductive AP, random negatives",
			Kind: Varied, Datasets: []string{"mooc"}, Models: patched, Scenario: "transductive", Negatives: random,
			Metric: "AP", Points: patches(128, 4, 2, 1), Note: "the paper draws this without numbers"},
		{ID: "dtdg-transductive-ap", Number: "Table 18",
			Title: "AP of transductive link prediction on discrete-time graphs", Kind: Links, Datasets: discrete,
			Models: compared, Scenario: "transductive", Negatives: allNegatives, Metric: "AP"},
		{ID: "dtdg-inductive-ap", Number: "Table 19", Title: "AP of inductive link prediction on discrete-time graphs",
			Kind: Links, Datasets: discrete, Models: learned, Scenario: "inductive", Negatives: ofNew, Metric: "AP"},
		{ID: "dtdg-transductive-auc", Number: "Table 20",
			Title: "AUC of transductive link prediction on discrete-time graphs",
			Kind:  Links, Datasets: discrete, Models: compared, Scenario: "transductive", Negatives: allNegatives,
			Metric: "AUC"},
		{ID: "dtdg-inductive-auc", Number: "Table 21",
			Title: "AUC of inductive link prediction on discrete-time graphs", Kind: Links, Datasets: discrete,
			Models: learned, Scenario: "inductive", Negatives: ofNew, Metric: "AUC"},
		{ID: "neighbor-statistics", Number: "Table 22", Title: "Available historical neighbours", Kind: Histories,
			Datasets: continuous},
		{ID: "canparl-neighbors", Number: "Table 23",
			Title: "DyGMamba on Can. Parl. with more neighbours", Kind: Varied, Datasets: []string{"CanParl"},
			Models: []string{"dygmamba"}, Scenario: "transductive", Negatives: random, Metric: "AP",
			Points: slices.Concat(canParl("fixed"), canParl("call")),
			Note: "patches are an assumption: so large that 32 of them make a row, as in the paper's best " +
				"configuration. Rows padded to the longest of their call tell positives from negatives here, " +
				"see docs/TRUST.md"},
		{ID: "variant-g", Number: "Table 24", Title: "Variant G, DyGFormer and DyGMamba", Kind: Links,
			Datasets: slices.Concat(continuous, made), Models: []string{"dygformer-mamba", "dygformer", "dygmamba"},
			Scenario: "transductive", Negatives: random, Metric: "AP", Note: noted},
	}
}

const sizes = "the paper's times and memory are those of an A40; whether its epochs include validation it does not say"

// Published is what the paper has for a cell of a table of links or labels.
func (e Exhibit) Published(negatives protocol.Negatives, dataset, model string) (v Value, timeout, ok bool) {
	switch {
	case e.Kind == Labels:
		v, ok = Study(e.ID, dataset, model, "auc")
		return v, false, ok
	case e.ID == "variant-g":
		v, ok = Study(e.ID, dataset, model, "ap")
		return v, false, ok
	}
	if v, ok = Study(e.ID, dataset, model, string(negatives)); ok {
		return v, false, true
	}
	r, ok := Lookup(e.Scenario, negatives, dataset, model)
	if e.Metric == "AUC" {
		return r.AUC, r.Timeout, ok
	}
	return r.AP, r.Timeout, ok
}

// Find is the exhibits that a name stands for: an id, a number such as "table-1" or "figure-3", or "all".
func Find(name string) ([]Exhibit, bool) {
	all := Exhibits()
	name = strings.ToLower(strings.TrimSpace(name))
	if name == "all" {
		return all, true
	}
	var found []Exhibit
	for _, e := range all {
		if e.ID == name || slices.Contains(e.numbers(), name) {
			found = append(found, e)
		}
	}
	return found, found != nil
}

// numbers are the forms of an exhibit's number that Find takes.
func (e Exhibit) numbers() []string {
	word, rest, _ := strings.Cut(strings.ToLower(e.Number), " ")
	word = strings.TrimSuffix(word, "s")
	var list []string
	for n := range strings.SplitSeq(rest, " and ") {
		list = append(list, word+"-"+n, word+"-"+strings.TrimRight(n, "ab"))
	}
	return list
}

// Telling is how much a reader wants to see a model's results: the paper's own most, then the strongest of the others
// by published average rank, the others, and parts of the paper's own. Studies of settings are worth 1.
func Telling(model string) float64 {
	const own, best, other, part = 1000, 100, 10, 3
	switch ranked := strongest(); {
	case model == ranked[0]:
		return own
	case model == ranked[1]:
		return best
	case slices.Contains(ranked, model):
		return other
	}
	return part
}

// strongest are the compared models, those with the best published average AP rank on random negatives first.
func strongest() []string {
	total := map[string]float64{}
	for _, d := range continuous {
		for _, m := range compared {
			r, _ := Lookup("transductive", "random", d, m)
			for _, o := range compared {
				if x, _ := Lookup("transductive", "random", d, o); x.AP.Mean > r.AP.Mean {
					total[m]++
				}
			}
		}
	}
	list := slices.Clone(compared)
	slices.SortStableFunc(list, func(a, b string) int {
		switch {
		case total[a] < total[b]:
			return -1
		case total[a] > total[b]:
			return 1
		}
		return 0
	})
	return list
}

// patches are rows of one length, cut into patches of different sizes.
func patches(length int, sizes ...int) (list []Point) {
	for _, p := range sizes {
		list = append(list, Point{float64(p), func(string) []string {
			return []string{fmt.Sprintf("max_input_sequence_length=%d", length), fmt.Sprintf("patch_size=%d", p)}
		}})
	}
	return list
}

// lengths are rows of different length, cut into patches of one size.
func lengths(patch int, lengths ...int) (list []Point) {
	for _, n := range lengths {
		list = append(list, Point{float64(n), func(string) []string {
			return []string{fmt.Sprintf("max_input_sequence_length=%d", n), fmt.Sprintf("patch_size=%d", patch)}
		}})
	}
	return list
}

// neighbors are so many of them, whatever a model calls them; rows are not cut into patches.
func neighbors(counts ...int) (list []Point) {
	for _, n := range counts {
		list = append(list, Point{float64(n), func(model string) []string {
			if slices.Contains(patched, model) {
				return []string{fmt.Sprintf("max_input_sequence_length=%d", n), "patch_size=1"}
			}
			return []string{fmt.Sprintf("num_neighbors=%d", n)}
		}})
	}
	return list
}

// canParl are rows of different length, of which 32 patches are made, padded in one way.
func canParl(padding string) (list []Point) {
	for _, n := range []int{64, 128, 256, 512, 1024, 2048} {
		list = append(list, Point{float64(n), func(string) []string {
			return []string{fmt.Sprintf("max_input_sequence_length=%d", n), fmt.Sprintf("patch_size=%d", n/32),
				"padding=" + padding}
		}})
	}
	return list
}
