package run

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/protocol"
)

// Config is everything needed to repeat a run.
type Config struct {
	Model string          `json:"model"`
	Spec  json.RawMessage `json:"spec"`
	Data  string          `json:"data"`
	// Path is where the data lie, seen from the run's directory, if their name alone does not lead there. It may change
	// when a run goes on.
	Path string `json:"data_path,omitempty"`
	// Backbone is, for node classification, the checkpoint of the model, seen from the run's directory.
	Backbone string            `json:"backbone,omitempty"`
	Sampling protocol.Sampling `json:"sampling"`
	Seed     uint64            `json:"seed"`
	ByAP     bool              `json:"by_ap"`
	// Final are the kinds of negatives of the final evaluation, which may change when a run goes on.
	Final  []protocol.Negatives `json:"final_negatives,omitempty"`
	TF32   bool                 `json:"tf32,omitempty"` // matrix products were rounded
	Params int                  `json:"parameters"`
	Hashes Hashes               `json:"hashes"`
	Facts  *Facts               `json:"data_facts,omitempty"` // nil in older runs
	// From is the run that the weights began with; nil: they began at random.
	From *From `json:"from,omitempty"`
	// Fit says that a run learned from all events, and which run chose how long; nil: it kept some for its test.
	Fit *Fit `json:"fit,omitempty"`
	// Ranks is how many processes shared the batches, on Hosts, and Shards how many parts a batch was cut into for
	// that, which decides the order of sums; 0: one process had whole batches. The number of ranks changes no result,
	// and may change when a run goes on.
	Ranks  int      `json:"ranks,omitempty"`
	Shards int      `json:"shards,omitempty"`
	Hosts  []string `json:"hosts,omitempty"`
	// Limits are the parts of the events that a time limit left for training and validation; nil: all.
	Limits *eval.Limits `json:"limits,omitempty"`
}

// From is a run that another began with.
type From struct {
	Run        string `json:"run"` // directory, seen from that of the run
	Checkpoint string `json:"checkpoint_sha256"`
	Memory     bool   `json:"memory"` // what it remembered was taken over too
}

// Fit is how a run came about that learned from all events, those of its test included: for as many epochs as
// validation had chosen in another run, whose results it shows.
type Fit struct {
	To         string     `json:"to"` // FitAll
	Events     int        `json:"events"`
	Last       event.Time `json:"last"` // time of the last of them
	Epochs     int        `json:"epochs"`
	Chosen     string     `json:"chosen"` // directory of the other run, seen from that of this one
	Checkpoint string     `json:"chosen_checkpoint_sha256"`
}

// FitAll is the value of Fit.To.
const FitAll = "all"

// FitKey is the metadata key of a checkpoint that learned from all events: the time of the last of them.
const FitKey = "fit_all_until"

// Parts are the parts of the events that training and validation were limited to.
func (c Config) Parts() eval.Limits {
	if c.Limits == nil {
		return eval.Limits{}
	}
	return *c.Limits
}

// Facts are what a model takes for granted of the data it was trained on.
type Facts struct {
	Events       int        `json:"events"`
	EdgeFeatures int        `json:"edge_features"` // of each; 0 where all are zero
	NodeFeatures int        `json:"node_features"`
	NodeRows     int        `json:"node_rows,omitempty"` // of features of nodes that change over time
	First        event.Time `json:"first"`
	Last         event.Time `json:"last"`
	TimeFormat   string     `json:"time_format"` // dataset.TimeNumber or TimeDate
}

// FactsOf are those of a data set.
func FactsOf(s *dataset.Set) Facts {
	f := Facts{Events: s.Log.Len(), TimeFormat: s.TimeFormat}
	if f.Events > 0 {
		f.First, f.Last = s.Log.At(0).Time, s.Log.At(f.Events-1).Time
	}
	if s.Edge.Data != nil {
		f.EdgeFeatures = s.Edge.Cols
	}
	if f.NodeRows = s.Timeline.Len(); s.Node.Data != nil || f.NodeRows > 0 {
		f.NodeFeatures = s.Node.Cols
	}
	return f
}

// Pace is the mean time from one event to the next.
func (f Facts) Pace() float64 { return (f.Last - f.First) / float64(max(1, f.Events-1)) }

// Hashes identify the data, its split and the negatives of validation.
type Hashes struct {
	Data      string `json:"data"`
	Split     string `json:"split"`
	Negatives string `json:"negatives"`
}

// Diff lists what two runs do not have in common, beside their seeds and how long they train: what keeps one from
// being one more seed of the other. Where models or data differ, nothing else is worth a word.
func (c Config) Diff(o Config) []string {
	var list []string
	if c.Model != o.Model {
		list = append(list, fmt.Sprintf("model %s and %s", c.Model, o.Model))
	}
	if c.Data != o.Data {
		list = append(list, fmt.Sprintf("data %s and %s", c.Data, o.Data))
	} else if a, b := c.Hashes.Data, o.Hashes.Data; a != b && a != "" && b != "" {
		list = append(list, fmt.Sprintf("data called %s that are not the same", c.Data))
	}
	if list != nil {
		return list
	}
	was, is := c.facts(), o.facts()
	for _, key := range slices.Sorted(maps.Keys(is)) {
		if a, b := was[key], is[key]; a != b && key != "seed" {
			list = append(list, fmt.Sprintf("%s %s and %s", key, cmp.Or(a, "none"), cmp.Or(b, "none")))
		}
	}
	return list
}

// Differs says what a resumed run must not change.
func (c Config) Differs(now Config) error {
	was, is := c.facts(), now.facts()
	var changes []string
	for _, key := range slices.Sorted(maps.Keys(is)) {
		if was[key] != is[key] {
			changes = append(changes, fmt.Sprintf("%s was %s and is now %s", key, was[key], is[key]))
		}
	}
	if changes == nil {
		return nil
	}
	return fmt.Errorf("cannot resume with changed settings: %s", strings.Join(changes, ", "))
}

// lasting are the settings that say how long a training lasts, and change nothing in what it does until then.
var lasting = []string{"num_epochs", "patience"}

// facts are what must stay the same, one by one. Those of a checkpoint alone, without hashes, are its model and
// settings.
func (c Config) facts() map[string]string {
	list := map[string]string{
		"model": c.Model, "seed": fmt.Sprint(c.Seed),
		// not written down where they are
		"weight_decay": "0", "select_by": "", "calibrate": "false",
	}
	plain := protocol.PlainShares()
	for _, n := range protocol.Trained() {
		list[protocol.SharePrefix+string(n)] = fmt.Sprint(plain[n])
	}
	if c.Hashes.Data != "" {
		list["sampling"], list["select-by-ap"] = string(c.Sampling), fmt.Sprint(c.ByAP)
		list["tf32"] = fmt.Sprint(c.TF32)
		list["the data's hash"], list["the split's hash"] = c.Hashes.Data, c.Hashes.Split
	}
	list["limits"], list["from"], list["fit"], list["shards"] = "none", "none", "none", "none"
	if c.Shards > 0 {
		list["shards"] = fmt.Sprint(c.Shards)
	}
	if c.From != nil {
		list["from"] = c.From.Checkpoint
	}
	if c.Fit != nil {
		list["fit"] = c.Fit.To
	}
	if c.Limits != nil {
		list["limits"] = fmt.Sprintf("%+v", *c.Limits)
	}
	var spec struct {
		Preset           string
		Order            protocol.Order
		Task             protocol.Task
		Config, Training map[string]any
	}
	if err := json.Unmarshal(c.Spec, &spec); err != nil {
		list["configuration"] = string(c.Spec)
	}
	list["preset"], list["order"], list["task"] = spec.Preset, string(spec.Order), string(spec.Task)
	for _, part := range []map[string]any{spec.Config, spec.Training} {
		for key, value := range part {
			if !slices.Contains(lasting, key) {
				list[key] = fmt.Sprint(value)
			}
		}
	}
	return list
}
