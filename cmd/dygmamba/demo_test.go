package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
)

// smallTour is over in a second and learns nothing.
func smallTour(a *app) tour {
	return tour{app: a, stream: dataset.PeriodicOptions{Sources: 16, Targets: 16, Events: 4000, ShortGap: 20, LongGap: 100, Noise: 0.02, Seed: 3},
		settings: append(demoSettings[:len(demoSettings):len(demoSettings)], "num_epochs=2", "channel_embedding_dim=4", "width_divisor=2", "gamma=2", "batch_size=200")}
}

// The same seed gives the same document, but for times, and the same page.
func TestDemoRepeats(t *testing.T) {
	dir := t.TempDir()
	var docs, pages [2]string
	for i := range docs {
		var out, err bytes.Buffer
		a := newApp(nil, &out, &err)
		a.json = true
		tour := smallTour(a)
		page := filepath.Join(dir, "page.html")
		doc, failed := tour.run(t.Context(), page)
		if failed != nil {
			t.Fatal(failed)
		}
		if out.Len() > 0 {
			t.Errorf("with --json the tour wrote %q before its document", out.String())
		}
		doc.Seconds = 0
		for k := range doc.Models {
			doc.Models[k].Seconds = 0
		}
		raw, failed := json.Marshal(doc)
		if failed != nil {
			t.Fatal(failed)
		}
		docs[i] = string(raw)
		raw, failed = os.ReadFile(page)
		if failed != nil {
			t.Fatal(failed)
		}
		pages[i] = string(raw)
	}
	if docs[0] != docs[1] {
		t.Error("the same seed gave other numbers")
	}
	if pages[0] != pages[1] {
		t.Error("the same seed gave another page")
	}
	for _, part := range []string{"<!doctype html>", "One answer, explained", "dygmamba demo --seed 3"} {
		if !strings.Contains(pages[0], part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("beside the page there are %v", left)
	}
}

// TestDemo takes the whole tour: the temporal pattern must win by far.
func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("trains two models, which takes about 15 seconds")
	}
	page := filepath.Join(t.TempDir(), "tour.html")
	r := program(t, "demo", "--out", page, "--json").want(t, exitDone)
	doc := decode[demoDoc](t, r)
	whole, without, bank := doc.model(demoWhole), doc.model(demoWithout), doc.model(demoBank)
	if whole.AP < 0.88 || whole.AP-without.AP < 0.15 || without.AP < 0.6 || bank.AP < 0.5 {
		t.Errorf("AP is %.4f, without temporal patterns %.4f, EdgeBank's %.4f", whole.AP, without.AP, bank.AP)
	}
	x := doc.Example
	if x.Explanation.Probability < 0.7 || x.Off.Probability > 0.3 || len(x.Explanation.Gaps) != 4 || len(x.Curve) < 240 || len(x.Meetings) < 3 {
		t.Errorf("the example has %.3f on the beat, %.3f off it, gaps %v, %d moments and %d meetings",
			x.Explanation.Probability, x.Off.Probability, x.Explanation.Gaps, len(x.Curve), len(x.Meetings))
	}
	if raw, err := os.ReadFile(page); err != nil || doc.Page != page || bytes.Contains(raw, []byte("NaN")) || len(raw) > 200_000 {
		t.Errorf("the page has %d bytes, %v", len(raw), err)
	}
}

func TestDemoTells(t *testing.T) {
	var out, err bytes.Buffer
	a := newApp(nil, &out, &err)
	tour := smallTour(a)
	doc, failed := tour.run(t.Context(), filepath.Join(t.TempDir(), "page.html"))
	if failed != nil {
		t.Fatal(failed)
	}
	if failed := a.emit(doc, doc.farewell); failed != nil {
		t.Fatal(failed)
	}
	result{out: out.String()}.shows(t, "1. A stream.", "2. Two models.", "3. A verdict.", "edgebank", "4. A reason.", "gaps between meetings",
		"without the gaps", "5. A page.", "page.html", "dygmamba train --data")
}

func TestDemoUsage(t *testing.T) {
	program(t, "demo", "--out", filepath.Join(t.TempDir(), "no", "such", "page.html")).want(t, exitUsage, "there is no directory")
	program(t, "demo", "--out", t.TempDir()).want(t, exitUsage, "is a directory")
	program(t, "demo", "--out", "").want(t, exitUsage, "--out")
}
