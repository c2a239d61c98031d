package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// narrow are settings that make a model learn in a moment, those of them that it has.
func narrow(name string) (settings []string) {
	keys := models.Get(name).Keys()
	for _, s := range []string{
		"channel_embedding_dim=8", "time_feat_dim=16", "max_input_sequence_length=8", "patch_size=2",
		"max_interaction_times=4", "node_feat_dim=8", "edge_feat_dim=8",
		"num_neighbors=4", "num_layers=1", "num_epochs=2", "batch_size=50", "learning_rate=0.002",
	} {
		if key, _, _ := strings.Cut(s, "="); slices.Contains(keys, key) {
			settings = append(settings, s)
		}
	}
	return settings
}

// labelled is a stream in which some destinations give their sources a label.
func labelled(t *testing.T) *dataset.Set {
	t.Helper()
	set, err := dataset.Periodic(dataset.PeriodicOptions{Events: 900, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	log := event.NewLog(set.Log.Len())
	for i := range set.Log.Len() {
		e := set.Log.At(i)
		if e.Dst%3 == 0 {
			e.Label = 1
		}
		if _, err := log.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	set.Log = log
	return set
}

// trained is a run of a model, and a report on it.
func trained(t *testing.T, name string, o dygmamba.TrainOptions, cases int) (*Report, run.Result) {
	t.Helper()
	if o.Set == nil {
		o.Set = labelled(t)
	}
	o.Model, o.Settings, o.Dir = name, append(narrow(name), o.Settings...), t.TempDir()
	sum, err := dygmamba.Train(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return made(t, run.SeedDir(o.Dir, 0), o.Set, Options{Cases: cases}), sum.Runs[0]
}

func made(t *testing.T, dir string, set *dataset.Set, o Options) *Report {
	t.Helper()
	p, err := predict.Load(dir, predict.Options{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	o.Dir, o.Set, o.Predictor = dir, set, p
	r, err := Make(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// alone says that answers do not depend on what else is asked: nothing is drawn at random or padded to the longest.
func alone(r *Report) bool {
	return !slices.ContainsFunc(r.Settings, func(s model.Setting) bool {
		return s.Key == "padding" && s.Value == "call" || strings.Contains(s.Key, "walk") ||
			s.Key == "sample_neighbor_strategy" && s.Value != "recent"
	})
}

// Every model of the catalogue, those that remember in both orders: the test comes out as the run has noted it, and
// what is explained is what was measured.
func TestEveryModel(t *testing.T) {
	for _, name := range models.Names(true) {
		if strings.Contains(name, "-") { // ablations say what the whole model does
			continue
		}
		orders := []protocol.Order{""}
		if models.Get(name).Remembers {
			orders = protocol.Orders()
		}
		for _, order := range orders {
			t.Run(name+string(order), func(t *testing.T) {
				r, result := trained(t, name, dygmamba.TrainOptions{Order: order}, 2)
				if r.Repeats == nil || !*r.Repeats || r.Measured.AP != result.Results[0].AP ||
					r.Measured.AUC != result.Results[0].AUC {
					t.Errorf("measured %v, noted is %v", r.Measured.AP, result.Results[0].AP)
				}
				if r.Order != order || len(r.Epochs) != 2 || len(r.Cases) == 0 || len(r.Notes) > 0 {
					t.Errorf("order %q, %d epochs, %d cases, notes %q", r.Order, len(r.Epochs), len(r.Cases), r.Notes)
				}
				for _, c := range r.Cases {
					if c.moved() && alone(r) || c.Explanation.Query.Src == 0 {
						t.Errorf("%s %s–%s: %v in the test, %v explained", c.Kind, c.U, c.I, c.Probability,
							c.Explanation.Probability)
					}
				}
				check(t, r)
			})
		}
	}
}

// The same for labels; ablations say what the whole model does.
func TestLabels(t *testing.T) {
	for _, name := range models.Names(true) {
		if strings.Contains(name, "-") {
			continue
		}
		r, result := trained(t, name, dygmamba.TrainOptions{Task: protocol.NodeClassification}, 2)
		if !*r.Repeats || r.Measured.AUC != result.Results[0].AUC || r.Baseline != nil || !r.Labels() {
			t.Errorf("%s: measured %v, noted is %v", name, r.Measured.AUC, result.Results[0].AUC)
		}
		for _, c := range r.Cases {
			if c.moved() && alone(r) {
				t.Errorf("%s: %s: %v in the test, %v explained", name, c.Kind, c.Probability, c.Explanation.Probability)
			}
		}
		events := 0
		for _, s := range r.Period {
			events += s.Events
		}
		if events != r.Measured.Events {
			t.Errorf("%d events through time, %d were asked about", events, r.Measured.Events)
		}
		check(t, r)
	}
}

// check draws the page, which must be whole and have the numbers.
func check(t *testing.T, r *Report) {
	t.Helper()
	wanted := []string{exact(r.headline().AP), exact(r.headline().AUC), exact(r.Reliability.ECE),
		"Through the test period"}
	for _, m := range r.Results {
		if !r.Labels() {
			wanted = append(wanted, "AP of first meetings", "<td>"+term.Percent(*m.FirstAP)+"</td>")
		}
	}
	checkPage(t, r, append(wanted, r.Conditions...)...)
}

// checkPage draws the page, which must be whole and have the words that are wanted.
func checkPage(t *testing.T, r *Report, wanted ...string) {
	t.Helper()
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
	var page, again bytes.Buffer
	if err := errors.Join(r.WritePage(&page), r.WritePage(&again)); err != nil || page.String() != again.String() {
		t.Errorf("the same report gave two pages, %v", err)
	}
	dec := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(page.String(), "<!doctype html>")))
	for {
		if _, err := dec.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("the page is not well formed: %v", err)
		}
	}
	_, body, _ := strings.Cut(page.String(), "<body>")
	for _, bad := range []string{"NaN", "Inf", "%!", "0xc0", "<script"} {
		if strings.Contains(body, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	for _, want := range append(wanted, r.Hashes.Data, r.Hashes.Split) {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// What is shown in parts adds up to the whole.
func TestPartsAddUp(t *testing.T) {
	r, result := trained(t, dygmamba.DefaultModel, dygmamba.TrainOptions{Settings: []string{"batch_size=20"},
		ByBoth: true, Strategies: protocol.Published()}, 3)
	if len(r.Results) != len(result.Results) || len(r.Results) != 6 {
		t.Errorf("%d results, the run has %d", len(r.Results), len(result.Results))
	}
	sum, events := 0.0, 0
	for _, s := range r.Period {
		events += s.Events
		sum += *s.AP
		if s.From > s.To || s.Baseline == nil {
			t.Errorf("a slice is %+v", s)
		}
	}
	if r.Measured.Batches != 7 || len(r.Period) != 7 || events != r.Measured.Positives ||
		math.Abs(sum/7-r.Measured.AP) > 1e-12 {
		t.Errorf("%d slices with %d events and mean AP %v, measured %+v", len(r.Period), events, sum/7, r.Measured)
	}
	share, events := 0.0, 0
	for _, g := range r.Seen {
		share, events = share+g.Share, events+g.Events
	}
	if math.Abs(share-1) > 1e-12 || events != r.Measured.Positives || len(r.Seen) < 2 {
		t.Errorf("groups %+v", r.Seen)
	}
	answers, came := 0, 0.0
	for _, b := range r.Reliability.Bins {
		answers += b.Answers
		came += b.True * float64(b.Answers)
		if b.Answers > 0 && (b.Said < b.From-1e-6 || b.Said > b.To+1e-6) {
			t.Errorf("a bin is %+v", b)
		}
	}
	if answers != 2*r.Measured.Positives || math.Abs(came-float64(r.Measured.Positives)) > 1e-6 {
		t.Errorf("%d answers, of which %v came true", answers, came)
	}
	counts := map[string]int{}
	for _, c := range r.Cases {
		counts[c.Kind]++
		likely := c.Probability >= 0.5
		if c.True != (c.Kind == Missed || c.Kind == Expected) || likely != (c.Kind == FalseAlarm ||
			c.Kind == Expected) {
			t.Errorf("%s: true %v with %v", c.Kind, c.True, c.Probability)
		}
	}
	if counts[Expected] != 3 || counts[Dismissed] != 3 {
		t.Errorf("cases %v", counts)
	}
}

// A run that is not finished, and data that are not those of the run, are said to be so.
func TestNotes(t *testing.T) {
	set, dir := labelled(t), t.TempDir()
	if _, err := dygmamba.Train(t.Context(), dygmamba.TrainOptions{Set: set, Settings: narrow(dygmamba.DefaultModel),
		Dir: dir}); err != nil {
		t.Fatal(err)
	}
	seed := run.SeedDir(dir, 0)
	if err := os.Remove(filepath.Join(seed, run.ResultFile)); err != nil {
		t.Fatal(err)
	}
	other, err := dataset.Periodic(dataset.PeriodicOptions{Events: 900, Seed: 6})
	if err != nil {
		t.Fatal(err)
	}
	r := made(t, seed, other, Options{Scenario: protocol.Inductive, Negatives: "historical"})
	if r.Finished || len(r.Notes) != 3 || !strings.Contains(r.Notes[0], "not finished") ||
		!strings.Contains(r.Notes[1], "not those") || !strings.Contains(r.Notes[2], "too few events") {
		t.Errorf("finished %v, notes %q", r.Finished, r.Notes)
	}
	if len(r.Results) != 1 || r.Results[0].Scenario != protocol.Inductive || r.Results[0].Strategy != "historical" ||
		r.Results[0].AP != r.Measured.AP || len(r.Cases) != 0 {
		t.Errorf("results %+v, %d cases", r.Results, len(r.Cases))
	}
	check(t, r)
}
