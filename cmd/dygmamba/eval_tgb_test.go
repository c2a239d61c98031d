package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// EdgeBank and models of every kind are ranked; whom among is told, and may be listed.
func TestEvalTGB(t *testing.T) {
	data, dir := synthetic(t), t.TempDir()
	rank := func(args ...string) evalDoc {
		doc := decode[evalDoc](t,
			program(t, append([]string{"eval", "--data", data, "--protocol", "tgb", "--json"}, args...)...).
				want(t, exitDone))
		for _, r := range doc.Results {
			if r.MRR == nil || !(*r.MRR > 0 && *r.MRR <= 1) || len(r.Hits) != 3 ||
				!math.IsNaN(float64(r.AP)) && r.AP != 0 {
				t.Errorf("%v: %+v", args, r)
			}
		}
		return doc
	}
	bank := rank("--model", "edgebank", "--num-negatives", "7")
	if len(bank.Results) != 4 || bank.Results[0].Opponents != 7 ||
		bank.Opponents != "our own draw of 7 other destinations" ||
		bank.Results[0].Positives != bank.Split.Test || bank.Split.Train+bank.Split.Val+bank.Split.Test != 2000 {
		t.Errorf("%+v", bank)
	}
	if some := rank("--model", "edgebank", "--limit", "11"); some.Results[0].Positives != 11 || some.Limit != 11 {
		t.Errorf("%+v", some)
	}
	for _, model := range []string{"graphmixer", "jodie"} {
		run := filepath.Join(dir, model)
		args := []string{"train", "--data", data, "--model", model, "--set", "num_epochs=1", "--set", "node_feat_dim=8",
			"--set", "edge_feat_dim=8", "--set", "time_feat_dim=8", "--out", run, "--device", "cpu"}
		program(t, args...).want(t, exitDone)
		doc := rank("--run", run, "--limit", "20", "--device", "cpu")
		if len(doc.Results) != 1 || len(doc.Checkpoints) != 1 {
			t.Errorf("%+v", doc)
		}
		text := program(t, "eval", "--data", data, "--run", run, "--protocol", "tgb", "--limit", "20",
			"--device", "cpu").want(t, exitDone).shows(t, "MRR")
		if strings.Contains(text.out, "variant") {
			t.Errorf("a column for variants, of which there are none:\n%s", text.out)
		}
	}
	var list strings.Builder
	list.WriteString("u,i,ts,negatives\n")
	for i := range 2000 {
		fmt.Fprintf(&list, "%d,%d,%d,20 21;22\n", 1+i*i%17, 20+i*(i+3)%29, i/3)
	}
	file := filepath.Join(dir, "list.csv")
	if err := os.WriteFile(file, []byte(list.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	doc := rank("--model", "edgebank", "--opponents", file)
	if doc.Opponents != "those of "+file || !(doc.Results[0].Opponents >= 2.5) {
		t.Errorf("%+v", doc)
	}
	short := filepath.Join(dir, "short.csv")
	if err := os.WriteFile(short, []byte("u,i,ts,negatives\n1,20,0,21\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	eval := func(args ...string) result {
		return program(t, append([]string{"eval", "--model", "edgebank", "--data", data}, args...)...)
	}
	eval("--protocol", "tgb", "--opponents", short).want(t, exitBadInput, "no opponents are listed for test event 1")
	if err := os.WriteFile(short, []byte("u,i,ts,others\n1,20,0,21\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	eval("--protocol", "tgb", "--opponents", short).want(t, exitBadInput, "one called negatives too")
	eval("--protocol", "tgb").want(t, exitDone).shows(t, "as TGB measures", "variant", "MRR", "our own draw of 100")
	eval("--protocol", "ogb").want(t, exitUsage, "must be dyglib, tgb or next")
	eval("--protocol", "tgb", "--negatives", "random").want(t, exitUsage, "--negatives cannot be used with")
	eval("--limit", "5").want(t, exitUsage, "--limit is for --protocol tgb")
}
