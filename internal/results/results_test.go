package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/run"
)

var update = flag.Bool("update", false, "write the tables into the documents")

// TestRecords: where data lay on somebody's machine is nobody's business.
func TestRecords(t *testing.T) {
	files, err := filepath.Glob("../../results/*/config.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), `"data_path"`) {
			t.Errorf("%s has a data_path, want none", file)
		}
	}
}

// TestStamps: what an audit said stands beside the very weights that it was said of.
func TestStamps(t *testing.T) {
	files, err := filepath.Glob("../../results/*/" + stampFile)
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		var result run.Result
		var stamp stamp
		dir := os.DirFS(filepath.Dir(file))
		if err := errors.Join(read(dir, run.ResultFile, &result), read(dir, stampFile, &stamp)); err != nil {
			t.Fatal(err)
		}
		weights := struct{ Want string }{result.Checkpoint}
		if result.Checkpoint == "" || !slices.Contains(stamp.Checks, weights) {
			t.Errorf("%s is of other weights than %s", file, result.Checkpoint)
		}
	}
}

// TestDocuments compares the tables of README.md, docs/RESULTS.md and docs/RUNS.md with the runs they claim to show.
func TestDocuments(t *testing.T) {
	for _, part := range []struct {
		file, begin string
		make        func(fs.FS) (string, error)
	}{
		{"../../README.md", BeginSummary, Summary},
		{"../../docs/RESULTS.md", BeginSummary, Summary},
		{"../../docs/RESULTS.md", BeginModels, Models},
		{"../../README.md", BeginBoard, Board},
		{"../../README.md", BeginLead, Lead},
		{"../../docs/RESULTS.md", BeginAblations, Ablations},
		{"../../docs/RESULTS.md", BeginStudies, Studies},
		{"../../docs/RESULTS.md", BeginMixtures, Mixtures},
		{"../../docs/RESULTS.md", BeginParts, Parts},
		{"../../docs/RUNS.md", BeginTables, Tables},
	} {
		want, err := part.make(os.DirFS("../../results"))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(part.file)
		if err != nil {
			t.Fatal(err)
		}
		before, rest, ok := strings.Cut(string(raw), part.begin+"\n")
		got, after, ok2 := strings.Cut(rest, End)
		if !ok || !ok2 {
			t.Fatalf("%s has no part between %q and %q", part.file, part.begin, End)
		}
		if *update {
			text := before + part.begin + "\n\n" + want + "\n" + End + after
			if err := os.WriteFile(part.file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("the tables of %s are not those of results/: run go test ./internal/results -update "+
				"and read the diff\ngot:\n%s\nwant:\n%s", part.file, got, want)
		}
	}
}

func TestTables(t *testing.T) {
	do := func(seed, ap string) string {
		return `{"model":"dygmamba","data":"uci","preset":"paper","seed":` + seed + `,
			"best_epoch":3,"epochs":5,"seconds":12,"epoch_seconds":2.5,"device":"gpu","val":{"ap":0.5},
			"results":[{"setting":"transductive","negatives":"random","ap":` + ap + `,"auc":0.5}]}`
	}
	config := func(dropout string) string {
		return `{"spec":{"config":{"max_input_sequence_length":32,"patch_size":1,"max_interaction_times":5,
			"dropout":` + dropout + `,"gamma":1,"width_divisor":2}}}`
	}
	dir := fstest.MapFS{
		"a/result.json": {Data: []byte(do("1", "0.8"))}, "a/config.json": {Data: []byte(config("0.1"))},
		"b/result.json": {Data: []byte(do("0", "0.9"))}, "b/config.json": {Data: []byte(config("0.1"))},
		"c/result.json": {Data: []byte(do("0", "0.7"))}, "c/config.json": {Data: []byte(config("0"))},
		"a/audit.json": {Data: []byte(`{"verdict":"leak"}`)},
	}
	got, err := Tables(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"### uci, dygmamba, preset `paper`\n\nρ & p 32 & 1, k 5, dropout 0.1, γ 1, f 2\n",
		"ρ & p 32 & 1, k 5, dropout 0, γ 1, f 2\n",
		"| transductive | random | 85.00 ± 7.07 | 50.00 ± 0.00 | 95.91 ± 0.15 | 94.77 ± 0.18 |",
		"| transductive | random | 70.00 | 50.00 | 95.91 ± 0.15 | 94.77 ± 0.18 |",
		"| 0 | 3 | 5 | 50.00 | 2.50 s | 12 s | gpu |\n| 1 | 3 | 5 | 50.00 | 2.50 s | 12 s | gpu |" +
			"\n\n`audit` of seed 1: [leak](../results/a/audit.json)\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	delete(dir, "a/config.json")
	if _, err := Tables(dir); err == nil {
		t.Error("a result without its configuration passed")
	}
	delete(dir, "a/result.json")
	dir["b/audit.json"] = &fstest.MapFile{Data: []byte(`{"verdict":`)}
	if _, err := Tables(dir); err == nil {
		t.Error("half a stamp passed")
	}
}

// TestSummary: the settings are chosen by validation, whatever the test data say.
func TestSummary(t *testing.T) {
	do := func(preset, seed, val, ap string) []byte {
		return []byte(`{"model":"dygmamba","data":"uci","preset":"` + preset + `","seed":` + seed + `,
			"val":{"ap":` + val + `},"results":[
			{"setting":"transductive","negatives":"historical","ap":0.1,"auc":0.1},
			{"setting":"transductive","negatives":"random","ap":` + ap + `,"auc":0.5}]}`)
	}
	dir := fstest.MapFS{
		"a/result.json": {Data: do("paper", "0", "0.70", "0.95")}, "a/config.json": {Data: []byte(`{}`)},
		"b/result.json": {Data: do("steady", "0", "0.79", "0.80")}, "b/config.json": {Data: []byte(`{}`)},
		"c/result.json": {Data: do("steady", "1", "0.65", "0.90")}, "c/config.json": {Data: []byte(`{}`)},
		"d/result.json": {Data: do("paper", "1", "0.70", "0.95")}, "d/config.json": {Data: []byte(`{}`)},
		// The best, but of one seed only.
		"e/result.json": {Data: do("released", "0", "0.99", "0.99")}, "e/config.json": {Data: []byte(`{}`)},
	}
	got, err := Summary(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := "| uci | `steady` | 2 | 72.00 | 85.00 ± 7.07 | 50.00 ± 0.00 | 95.91 ± 0.15 | 94.77 ± 0.18 |"
	if lines := strings.Split(strings.TrimSpace(got), "\n"); len(lines) != 3 || lines[2] != want {
		t.Errorf("got\n%s\nwant one row\n%s", got, want)
	}
}

// TestModels: models stand beside each other, best first, with the paper's numbers; what was trained for a few epochs
// only, or on other negatives, does not.
func TestModels(t *testing.T) {
	do := func(name, seed, ap string) []byte {
		return []byte(`{"model":"` + name + `","data":"uci","preset":"paper","seed":` + seed + `,"val":{"ap":0.5},
			"results":[{"setting":"transductive","negatives":"random","ap":` + ap + `,"auc":0.5}]}`)
	}
	config := func(epochs string) []byte {
		return []byte(`{"spec":{"training":{"num_epochs":` + epochs + `,"batch_size":200}}}`)
	}
	dir := fstest.MapFS{
		"a/result.json": {Data: do("dygmamba", "0", "0.95")}, "a/config.json": {Data: config("200")},
		"b/result.json": {Data: do("graphmixer", "0", "0.96")}, "b/config.json": {Data: config("200")},
		"c/result.json": {Data: do("graphmixer", "1", "0.94")}, "c/config.json": {Data: config("200")},
		"d/result.json": {Data: do("tcl", "0", "0.99")}, "d/config.json": {Data: config("5")},
		"e/result.json": {Data: do("dygformer", "0", "0.97")}, "e/config.json": {Data: config("200")},
		"g/result.json": {Data: do("tgat", "0", "0.99")},
		"g/config.json": {Data: config(`200,"negatives_historical":1`)},
	}
	steady := bytes.Replace(do("dygmamba", "0", "0.98"), []byte(`"paper"`), []byte(`"steady"`), 1)
	dir["f/result.json"] = &fstest.MapFile{Data: steady}
	dir["f/config.json"] = &fstest.MapFile{Data: config("200")}
	board, err := Board(dir)
	if err != nil || !strings.Contains(board, "| `dygmamba` | 95.00 | 95.91 ± 0.15 |") ||
		strings.Contains(board, "98.00") || strings.Contains(board, "tgat") {
		t.Errorf("the board has only what was trained as published, %v:\n%s", err, board)
	}
	got, err := Models(dir)
	if err != nil {
		t.Fatal(err)
	}
	first := strings.Index(got, "| `dygformer`")
	second := strings.Index(got, "| `graphmixer` | 2 | 95.00 ± 1.41 | 93.15 ± 0.41 | +4.5 std |")
	third := strings.Index(got, "| `dygmamba` | 1 | 95.00 | 95.91 ± 0.15 | -6.1 std |")
	if first < 0 || second < first || third < 0 || strings.Contains(got, "tcl") || strings.Contains(got, "tgat") {
		t.Errorf("got\n%s", got)
	}
}

// TestMixtures: what was trained with other negatives stands beside the same without, and validation over all kinds
// prefers one, whatever the test data say.
func TestMixtures(t *testing.T) {
	do := func(name, seed, others, ap string) []byte {
		return []byte(`{"model":"` + name + `","data":"uci","preset":"quick","seed":` + seed + `,"val":{"ap":0.9},
			"val_historical":{"ap":` + others + `},"val_inductive":{"ap":` + others + `},
			"results":[{"setting":"transductive","negatives":"historical","ap":` + ap + `,"auc":0.5}]}`)
	}
	config := func(share string) []byte {
		return []byte(`{"spec":{"training":{"num_epochs":10,"batch_size":200,"negatives_historical":` + share + `}}}`)
	}
	dir := fstest.MapFS{
		"a/result.json": {Data: do("dygmamba", "0", "0.5", "0.70")}, "a/config.json": {Data: config("0")},
		"b/result.json": {Data: do("dygmamba", "0", "0.7", "0.80")}, "b/config.json": {Data: config("0.1")},
		"c/result.json": {Data: do("dygmamba", "0", "0.6", "0.99")}, "c/config.json": {Data: config("0.25")},
		"d/result.json": {Data: do("graphmixer", "0", "0.6", "0.60")}, "d/config.json": {Data: config("0")},
	}
	got, err := Mixtures(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| `dygmamba`, preset `quick` | random | 1 | 90.00, 50.00, 50.00 |",
		"| `dygmamba`, preset `quick` | **random, 9.09 % historical** | 1 | 90.00, 70.00, 70.00 |",
		"| `dygmamba`, preset `quick` | random, 20 % historical | 1 | 90.00, 60.00, 60.00 |",
		"| best published | random | | | 97.35 TPNet | 93.96 PINT | 84.96 RepeatMixer |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "graphmixer") {
		t.Errorf("a model without mixtures stands among them:\n%s", got)
	}
}

// TestLead: the leading model's preset of minutes stands once for each data set, with the share that validation
// prefers, whatever else was trained.
func TestLead(t *testing.T) {
	do := func(preset, epochs, share, val, ap string) (result, config *fstest.MapFile) {
		result = &fstest.MapFile{Data: []byte(`{"model":"walkmamba","data":"uci","preset":"` + preset + `","seed":0,
			"val":{"ap":0.9},"val_historical":{"ap":` + val + `},"val_inductive":{"ap":` + val + `},
			"results":[{"setting":"transductive","negatives":"random","ap":` + ap + `,"auc":0.5}]}`)}
		return result, &fstest.MapFile{Data: []byte(`{"spec":{"preset":"` + preset + `","config":{"sequels":true},
			"training":{"num_epochs":` + epochs + `,"batch_size":200,"negatives_historical":` + share + `}}}`)}
	}
	dir := fstest.MapFS{}
	dir["a/result.json"], dir["a/config.json"] = do("quick", "10", "0", "0", "0.71")
	dir["b/result.json"], dir["b/config.json"] = do("quick", "10", "0.1", "0.8", "0.72")
	dir["c/result.json"], dir["c/config.json"] = do("quick", "10", "0.5", "0.7", "0.73")
	dir["d/result.json"], dir["d/config.json"] = do("standard", "50", "0.1", "0.9", "0.74")
	got, err := Lead(dir)
	if err != nil || !strings.Contains(got, "| uci | walkmamba, random | 1 | 71.00 |") ||
		!strings.Contains(got, "| uci | walkmamba, random, 9.09 % historical | 1 | 72.00 |") ||
		strings.Count(got, "best in print") != 1 || strings.Contains(got, "73.00") || strings.Contains(got, "74.00") {
		t.Errorf("%v\n%s", err, got)
	}
}

// TestAblations: of a data set those models stand beside each other that were trained longest; what learned from other
// negatives, or with other settings, does not.
func TestAblations(t *testing.T) {
	dir := fstest.MapFS{}
	add := func(name, data, ap string, settings ...string) { record(t, dir, ap, name, data, ap, settings...) }
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
	got, err := Ablations(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"### mooc, at most 6 epochs\n", "| `dygmamba` | 1 | 73.00 | 89.21 ± 0.08 |", "| `dygmamba-a` | 1 | 74.00 |",
		"### uci\n", "| `dygmamba-a` | 1 | 79.00 |", "| `dygmamba` | 1 | 81.00 |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Count(got, "###") != 2 || strings.Count(got, "| `") != 4 {
		t.Errorf("want four rows of two data sets:\n%s", got)
	}
}

// record adds a run with the preset of the paper, but for some settings.
func record(t *testing.T, dir fstest.MapFS, at, name, data, ap string, settings ...string) {
	t.Helper()
	spec, err := models.Get(name).Spec("paper", model.Data{Name: data}, settings...)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	dir[at+"/config.json"] = &fstest.MapFile{Data: []byte(`{"spec":` + string(raw) + `}`)}
	dir[at+"/result.json"] = &fstest.MapFile{Data: []byte(`{"model":"` + name + `","data":"` + data + `",
		"preset":"paper","parameters":7,"best_epoch":3,"val":{"ap":0.5},
		"results":[{"setting":"transductive","negatives":"random","ap":` + ap + `,"auc":0.5}]}`)}
}

// TestStudies: settings that change stand beside each other, each as it was trained for the fewest epochs; other
// settings, and a value alone, do not.
func TestStudies(t *testing.T) {
	dir := fstest.MapFS{}
	add := func(name, ap string, settings ...string) { record(t, dir, name, "dygmamba", "enron", ap, settings...) }
	add("whole", "0.92", "patch_size=8")
	got, err := Studies(dir)
	if err != nil || got != "" {
		t.Errorf("of one value: %q, %v", got, err)
	}
	add("a", "0.81", "patch_size=8", "num_epochs=6")
	add("b", "0.82", "patch_size=4", "num_epochs=6")
	add("other", "0.83", "patch_size=2", "num_epochs=6", "dropout=0.4")
	if got, err = Studies(dir); err != nil {
		t.Fatal(err)
	}
	for want, times := range map[string]int{
		"### Patch sizes on Enron": 1,
		"| `dygmamba` | max_input_sequence_length=256, patch_size=8 | 1 | 3 of 6 | 50.00 | 81.00 |": 1,
		"| `dygmamba` | max_input_sequence_length=256, patch_size=4 | 1 | 3 of 6 | 50.00 | 82.00 |": 1,
		"| `dygmamba`": 2,
	} {
		if n := strings.Count(got, want); n != times {
			t.Errorf("%q %d times, want %d, in\n%s", want, n, times, got)
		}
	}
}
