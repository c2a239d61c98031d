package study

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/protocol"
)

var update = flag.Bool("update", false, "write the tables into the documents")

// TestDocuments compares the tables of README.md and docs/RESULTS.md with the runs they claim to show.
func TestDocuments(t *testing.T) {
	records, err := ReadRecords("../../results")
	if err != nil || len(records) == 0 {
		t.Fatal(len(records), err)
	}
	for file, least := range map[string]int{"../../README.md": 1, "../../docs/RESULTS.md": 8} {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(raw), "<!-- end -->"); n < least || n != len(block.FindAll(raw, -1)) {
			t.Errorf("%s has %d ends of %d generated parts, want at least %d", file, n, len(block.FindAll(raw, -1)),
				least)
		}
		want, err := Fill(string(raw), records)
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got := strings.Split(string(raw), "\n"); string(raw) != want {
			for i, line := range strings.Split(want, "\n") {
				if i >= len(got) || got[i] != line {
					t.Errorf("%s:%d is not what results/ says: run go test ./internal/study -update and read the "+
						"diff\ngot:\n%s\nwant:\n%s", file, i+1, got[min(i, len(got)-1)], line)
					break
				}
			}
		}
	}
}

func TestFillUnknown(t *testing.T) {
	text := "<!-- nothing, made from results/ by go test ./internal/study -update; edits are overwritten -->\n" +
		"<!-- end -->"
	if _, err := Fill(text, nil); err == nil || !strings.Contains(err.Error(), "summary") {
		t.Errorf("a part that nobody makes: %v", err)
	}
}

// recorded adds to a list of records.
type recorded struct {
	t    *testing.T
	list []Record
}

func (x *recorded) add(result, config string) {
	x.t.Helper()
	r, err := line{Name: "a", Config: json.RawMessage(config), Result: json.RawMessage(result)}.record("")
	if err != nil {
		x.t.Fatal(err)
	}
	x.list = append(x.list, r)
}

// block is a generated part of the records.
func (x *recorded) block(name string, args ...string) string {
	var b strings.Builder
	for _, s := range blocks[name](joined(groups(x.list)), args) {
		formats.ExecuteTemplate(&b, "part", leveled{"###", s})
	}
	return b.String()
}

// record adds a run with a preset, but for some settings.
func (x *recorded) record(name, preset, data, ap string, settings ...string) {
	x.t.Helper()
	spec, err := models.Get(name).Spec(preset, model.Data{Name: data}, settings...)
	if err != nil {
		x.t.Fatal(err)
	}
	raw, err := json.Marshal(spec)
	if err != nil {
		x.t.Fatal(err)
	}
	x.add(`{"model":"`+name+`","data":"`+data+`","preset":"`+preset+`","best_epoch":3,"epochs":5,"val":{"ap":`+ap+`},
		"results":[{"setting":"transductive","negatives":"random","ap":`+ap+`,"auc":0.5}]}`,
		`{"model":"`+name+`","spec":`+string(raw)+`}`)
}

// contains looks for parts of a text.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, want := range parts {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestRuns: runs with the same settings are seeds of one part.
func TestRuns(t *testing.T) {
	x := &recorded{t: t}
	add := func(seed, ap, dropout string) {
		x.add(`{"model":"dygmamba","data":"uci","preset":"paper","seed":`+seed+`,
			"best_epoch":3,"epochs":5,"seconds":12,"epoch_seconds":2.5,"device":"gpu","val":{"ap":0.5},
			"results":[{"setting":"transductive","negatives":"random","ap":`+ap+`,"auc":0.5}]}`,
			`{"spec":{"config":{"max_input_sequence_length":32,"patch_size":1,"max_interaction_times":5,
			"dropout":`+dropout+`,"gamma":1,"width_divisor":2},"training":{"num_epochs":100,"batch_size":200}}}`)
	}
	add("1", "0.8", "0.1")
	add("0", "0.9", "0.1")
	add("0", "0.7", "0")
	x.list[0].Audit = "leak"
	parts := Runs(x.list)
	if len(parts) != 2 {
		t.Fatalf("%d parts, want 2", len(parts))
	}
	var b bytes.Buffer
	if err := (&Document{Title: "Runs", Parts: parts}).Write(&b, ".md"); err != nil {
		t.Fatal(err)
	}
	contains(t, b.String(), "## uci, dygmamba, preset `paper`\n\nρ & p 32 & 1, k 5, dropout 0.1, γ 1, f 2\n",
		"ρ & p 32 & 1, k 5, dropout 0, γ 1, f 2\n",
		"| transductive | random | 85.00 ± 7.07 (2) | 50.00 ± 0.00 (2) | 95.91 ± 0.15 | 94.77 ± 0.18 |",
		"| transductive | random | 70.00 | 50.00 | 95.91 ± 0.15 | 94.77 ± 0.18 |",
		"| a | gpu |  | 0 | 3 | 5 | 50.00 | 2.50 | 12 |\n| a | gpu | leak | 1 | 3 | 5 | 50.00 | 2.50 | 12 |")
}

// TestSummary: the settings are chosen by validation, whatever the test data say.
func TestSummary(t *testing.T) {
	x := &recorded{t: t}
	add := func(preset, seed, val, ap string, settings ...string) {
		t.Helper()
		spec, err := models.Get("dygmamba").Spec(preset, model.Data{Name: "uci"}, settings...)
		if err != nil {
			t.Fatal(err)
		}
		x.add(`{"model":"dygmamba","data":"uci","preset":"`+preset+`","seed":`+seed+`,"epochs":5,
			"val":{"ap":`+val+`},"results":[
			{"setting":"transductive","negatives":"historical","ap":0.1,"auc":0.1},
			{"setting":"transductive","negatives":"random","ap":`+ap+`,"auc":0.5}]}`,
			`{"spec":`+written(spec)+`}`)
	}
	add("paper", "0", "0.70", "0.95")
	add("steady", "0", "0.79", "0.80")
	add("steady", "1", "0.65", "0.90")
	add("paper", "1", "0.70", "0.95")
	add("released", "0", "0.99", "0.99") // the best, but of one seed only
	for _, seed := range []string{"0", "1"} {
		add("paper", seed, "0.98", "0.99", "max_input_sequence_length=64") // of a study, not the preset
	}
	got := strings.Split(strings.TrimSpace(x.block("summary")), "\n")
	want := "| uci | `steady` | 72.00 | 85.00 ± 7.07 (2) | 95.91 ± 0.15 | -72.7 std | 50.00 ± 0.00 (2) | 94.77 ± 0.18 |"
	if len(got) != 3 || got[2] != want {
		t.Errorf("got\n%s\nwant one row\n%s", strings.Join(got, "\n"), want)
	}
}

// TestBoard: models stand beside each other, best first, with the paper's numbers; what was trained on other negatives
// or with another preset does not, and what was trained for a few epochs has a mark and no rank.
func TestBoard(t *testing.T) {
	x := &recorded{t: t}
	x.record("dygmamba", "paper", "uci", "0.95")
	x.record("dygmamba", "steady", "uci", "0.98")
	x.record("graphmixer", "paper", "uci", "0.97")
	x.record("graphmixer", "paper", "uci", "0.94")
	x.record("tcl", "paper", "uci", "0.99", "num_epochs=5")
	x.record("tgat", "paper", "uci", "0.99", "negatives_historical=1")
	x.record("dygformer", "paper", "uci", "0.97")
	got := x.block("board", "uci")
	contains(t, got, "| `tcl` | 99.00 ᵉ | 86.63 ± 1.30 |\n| `dygformer` | 97.00 ᶜ | 95.74 ± 0.17 |",
		"| `graphmixer` | **95.50 ± 2.12 (2)** | 93.15 ± 0.41 |", "| `dygmamba` | <u>95.00</u> | 95.91 ± 0.15 |",
		"| best rule that learns nothing | 91.66 |")
	if strings.Contains(got, "98.00") || strings.Contains(got, "tgat") {
		t.Errorf("the board has what was not trained as published:\n%s", got)
	}
	x.record("tgn", "paper", "uci", "0.93")
	contains(t, x.block("models"), "| `dygmamba`, preset by validation | **98.00** |", "| `tgn` | 93.00 ᵃ |",
		"Against historical / inductive negatives:")
}

// TestJoined: seeds with and without rounding are of one training, with a mark; a seed that is there twice counts once.
func TestJoined(t *testing.T) {
	x := &recorded{t: t}
	for _, ap := range []string{"0.90", "0.92", "0.80"} {
		x.record("tcl", "paper", "uci", ap)
	}
	x.list[1].Config.TF32, x.list[1].Result.Seed = true, 1
	x.list[2].Config.TF32 = true
	contains(t, x.block("board", "uci"), "| `tcl` | 91.00 ± 1.41 (2) ʳ |")
}

// TestMixtures: what was trained with other negatives stands beside the same without, and validation over all kinds
// prefers one, whatever the test data say.
func TestMixtures(t *testing.T) {
	x := &recorded{t: t}
	add := func(name, others, ap, share string) {
		x.add(`{"model":"`+name+`","data":"uci","preset":"quick","seed":0,"epochs":5,"val":{"ap":0.9},
			"val_historical":{"ap":`+others+`},"val_inductive":{"ap":`+others+`},
			"results":[{"setting":"transductive","negatives":"historical","ap":`+ap+`,"auc":0.5}]}`,
			`{"spec":{"preset":"quick","config":{"next_item":true},"training":{"num_epochs":10,"batch_size":200,
			"negatives_historical":`+share+`}}}`)
	}
	add("dygmamba", "0.5", "0.70", "0")
	add("dygmamba", "0.7", "0.80", "0.1")
	add("dygmamba", "0.6", "0.99", "0.25")
	add("graphmixer", "0.6", "0.60", "0")
	add("walkmamba", "0.6", "0.61", "0")
	add("walkmamba", "0.6", "0.62", "0.1")
	got := x.block("mixtures")
	contains(t, got, "| `dygmamba`, `quick`: random | 70.00 |",
		"| `dygmamba`, `quick`: random and historical | 80.00 |", "| `walkmamba`, `quick`: random | 61.00 |",
		"| best published | 97.35 TPNet / 93.96 PINT / 84.96 RepeatMixer |",
		"| best rules that learn nothing | 91.66 / 98.20 / 92.28 |")
	if strings.Contains(got, "graphmixer") || strings.Contains(got, "99.00") {
		t.Errorf("a model without mixtures, or a share that validation does not prefer:\n%s", got)
	}
}

// TestAblations: of a data set those models stand beside each other that were trained longest; what learned from other
// negatives, or with other settings, does not.
func TestAblations(t *testing.T) {
	x := &recorded{t: t}
	add := func(name, data, ap string, settings ...string) { x.record(name, "paper", data, ap, settings...) }
	add("dygmamba", "mooc", "0.71", "num_epochs=3")
	add("dygmamba-a", "mooc", "0.72", "num_epochs=3")
	add("dygmamba", "mooc", "0.73", "num_epochs=6")
	add("dygmamba-a", "mooc", "0.74", "num_epochs=6")
	add("dygmamba-b", "mooc", "0.75", "num_epochs=6", "patch_size=2")
	add("dygmamba-c", "mooc", "0.76", "num_epochs=6", "negatives_historical=0.5")
	add("dygmamba", "mooc", "0.77", "num_epochs=12")
	add("dygmamba-a", "uci", "0.78", "num_epochs=6")
	add("dygmamba-a", "uci", "0.79")
	add("dygmamba", "uci", "0.81", "num_epochs=100")
	add("dygmamba", "enron", "0.80")
	got := x.block("ablations")
	contains(t, got, "| model | uci | paper | mooc | paper |",
		"| `dygmamba` | **81.00** | 95.91 ± 0.15 | 73.00 ᵉ | 89.21",
		"| `dygmamba-a` | <u>79.00</u> | 94.88 | 74.00 ᵉ |")
	if strings.Count(got, "| `") != 2 {
		t.Errorf("want two rows:\n%s", got)
	}
}

// TestStudies: settings that change stand beside each other, each as it was trained for the fewest epochs; other
// settings, and a value alone, do not.
func TestStudies(t *testing.T) {
	x := &recorded{t: t}
	x.record("dygmamba", "paper", "enron", "0.92", "patch_size=8")
	if got := x.block("studies"); got != "" {
		t.Errorf("of one value: %q", got)
	}
	x.record("dygmamba", "paper", "enron", "0.81", "patch_size=8", "num_epochs=6")
	x.record("dygmamba", "paper", "enron", "0.82", "patch_size=4", "num_epochs=6")
	x.record("dygmamba", "paper", "enron", "0.83", "patch_size=2", "num_epochs=6", "dropout=0.4")
	few := "| model | 8 | 4 |\n|---|--:|--:|\n| `dygmamba`, at most 6 epochs | 81.00 ᵉ | 82.00 ᵉ |"
	contains(t, x.block("studies"), "### Patch sizes on Enron", few) // one value trained to the end makes no row
	x.record("dygmamba", "paper", "enron", "0.91", "patch_size=2")
	got := x.block("studies")
	contains(t, got, "| model | 8 | 4 | 2 |", "| `dygmamba` | 92.00 |  | 91.00 |\n",
		"| `dygmamba`, at most 6 epochs | 81.00 ᵉ | 82.00 ᵉ |  |")
	if strings.Count(got, "###") != 1 {
		t.Errorf("want one study:\n%s", got)
	}
}

// TestLabels: classifiers stand beside the paper's, with the number of one test.
func TestLabels(t *testing.T) {
	x := &recorded{t: t}
	spec, err := models.Get("jodie").Spec("paper", model.Data{Name: "wikipedia"})
	if err != nil {
		t.Fatal(err)
	}
	for i, task := range []protocol.Task{protocol.NodeClassification, protocol.LinkPrediction} {
		spec.Task = task
		x.add(fmt.Sprintf(`{"model":"jodie","data":"wikipedia","preset":"paper","task":"%s","epochs":5,
			"results":[{"setting":"transductive","negatives":"","ap":0.1,"auc":0.%d}]}`, task, 9-i),
			`{"model":"jodie","spec":`+written(spec)+`}`)
	}
	contains(t, x.block("labels"), "| model | wikipedia | paper |", "| `jodie` | 90.00 ᵃ | 88.10 ± 1.57 |")
}

// TestParts: a model without one of its parts stands below the whole one.
func TestParts(t *testing.T) {
	x := &recorded{t: t}
	x.record("walkmamba", "quick", "uci", "0.97")
	x.record("walkmamba", "quick", "uci", "0.96", "next_item=false")
	x.record("walkmamba", "quick", "uci", "0.95", "next_item=false", "negatives_historical=0.5")
	contains(t, x.block("parts"), "Without one part, trained with negatives random: AP",
		"| nothing: the whole model | 97.00 |\n| next item | 96.00 |")
}
