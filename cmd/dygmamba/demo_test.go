package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/internal/demo"
)

// smallTour is over in a moment and learns nothing.
func smallTour() *demo.Tour {
	t := demo.New(3)
	t.Stream.Events = 4000
	t.Settings = append(t.Settings,
		"num_epochs=2", "channel_embedding_dim=4", "width_divisor=2", "gamma=2", "batch_size=200")
	return t
}

// The same seed gives the same document, but for times, and the same page.
func TestDemoRepeats(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "page.html")
	var docs, pages [2]string
	for i := range docs {
		var out, err bytes.Buffer
		a := newApp(nil, &out, &err)
		a.json = true
		if err := a.guide(t.Context(), smallTour(), page); err != nil {
			t.Fatal(err)
		}
		doc := decode[demo.Report](t, result{out: out.String()})
		if doc.Page != page {
			t.Errorf("the page is said to be %s", doc.Page)
		}
		doc.Seconds = 0
		for k := range doc.Models {
			doc.Models[k].Seconds = 0
		}
		raw, failed := json.Marshal(doc)
		if failed != nil {
			t.Fatal(failed)
		}
		docs[i], pages[i] = string(raw), string(content(t, page))
	}
	if docs[0] != docs[1] {
		t.Error("the same seed gave other numbers")
	}
	if pages[0] != pages[1] {
		t.Error("the same seed gave another page")
	}
	for _, part := range []string{"<!doctype html>", "An explanation", "dygmamba demo --seed 3"} {
		if !strings.Contains(pages[0], part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("beside the page there are %v", left)
	}
}

func TestDemoTells(t *testing.T) {
	var out, err bytes.Buffer
	page := filepath.Join(t.TempDir(), "page.html")
	if err := newApp(nil, &out, &err).guide(t.Context(), smallTour(), page); err != nil {
		t.Fatal(err)
	}
	result{out: out.String()}.shows(t, "1. Data.", "2. Two models.", "3. Test.", "edgebank", "4. Explanation.",
		"time gaps", "without the gaps", "5. Page.", "page.html", "dygmamba train --data")
}

func TestDemoUsage(t *testing.T) {
	program(t, "demo", "--out", filepath.Join(t.TempDir(), "no", "such", "page.html")).
		want(t, exitUsage, "there is no directory")
	program(t, "demo", "--out", t.TempDir()).want(t, exitUsage, "is a directory")
	program(t, "demo", "--out", "").want(t, exitUsage, "--out")
}
