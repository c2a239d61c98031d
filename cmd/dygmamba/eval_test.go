package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEvalUsage(t *testing.T) {
	tests := []struct{ args, want string }{
		{"", "--model is missing"},
		{"--model dygmamba --data s1", "must be trained first"},
		{"--run a --checkpoint b", "cannot be used together"},
		{"--model edgebnk --data s1", "did you mean edgebank?"},
		{"--model edgebank", "--data is missing"},
		{"--model edgebank --data s1 --setting both", `--setting is "both", must be transductive, inductive or all`},
		{"--model edgebank --data s1 --negatives hard",
			`--negatives is "hard", must be random, historical, inductive, all, time or kind`},
		{"--model edgebank --data s1 --sampling mine", `--sampling is "mine", must be reference or native`},
		{"--model edgebank --data s1 --metric-aggregation sum", "must be batch-mean or global"},
		{"--model edgebank --data s1 --num-negatives 0", "--num-negatives is 0"},
		{"--model edgebank --data s1 --preset paper", "edgebank has no presets"},
		{"--model edgebank --data s1 --set memory=all", `no key "memory"`},
		{"--model edgebank --data s1 --set edge_bank_memory_mode=unlimited", "unlimited_memory"},
		{"--model edgebank --data s1 --set batch_size=0", "batch_size is 0"},
		{"--model edgebank --data s1 --avoid-positives", "needs --sampling native"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			program(t, append([]string{"eval"}, strings.Fields(tt.args)...)...).want(t, exitUsage, tt.want)
		})
	}
}

// synthetic is a small data set in the ml_* layout, so that reference sampling is its default.
func synthetic(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "toy")
	var b strings.Builder
	b.WriteString(",u,i,ts,label,idx\n")
	for i := range 2000 {
		fmt.Fprintf(&b, "%d,%d,%d,%d,0,%d\n", i, 1+i*i%17, 20+i*(i+3)%29, i/3, i+1)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ml_toy.csv"), []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestEvalChoosesMemories(t *testing.T) {
	data := synthetic(t)
	evaluate := func(args ...string) evalDoc {
		return decode[evalDoc](t, program(t,
			append([]string{"eval", "--model", "edgebank", "--data", data, "--json"}, args...)...).want(t, exitDone))
	}
	all := evaluate()
	if len(all.Results) != 2*3*4 || all.Sampling != "reference" {
		t.Fatalf("%d results by %s sampling, want 2 settings × 3 negatives × 4 memories by reference",
			len(all.Results), all.Sampling)
	}
	for i := 0; i < len(all.Results); i += 4 {
		best, top, marked := 0, number(0), number(0)
		for _, r := range all.Results[i : i+4] {
			top = max(top, r.AP)
			if r.Best {
				best++
				marked = r.AP
			}
			if r.NegativesHash != all.Results[i].NegativesHash {
				t.Errorf("the memories of %s, %s were asked about different negatives", r.Scenario, r.Negatives)
			}
		}
		if best != 1 || marked != top {
			t.Errorf("%d best memories, AP %v of at most %v, in %s, %s",
				best, marked, top, all.Results[i].Scenario, all.Results[i].Negatives)
		}
	}
	one := evaluate("--setting", "transductive", "--negatives", "historical",
		"--set", "edge_bank_memory_mode=time_window_memory", "--set", "time_window_mode=repeat_interval")
	if len(one.Results) != 1 || one.Results[0].Variant != "time_window_memory/repeat_interval" || !one.Results[0].Best {
		t.Fatalf("got %+v", one.Results)
	}
	for _, r := range all.Results {
		if r.Scenario == "transductive" && r.Negatives == "historical" && r.Variant == one.Results[0].Variant &&
			(r.AP != one.Results[0].AP || r.AUC != one.Results[0].AUC) {
			t.Errorf("alone %+v, among all %+v", one.Results[0], r)
		}
	}
	n := len(evaluate("--negatives", "random", "--setting", "inductive",
		"--set", "edge_bank_memory_mode=time_window_memory").Results)
	if n != 2 {
		t.Errorf("%d time windows, want both", n)
	}
	if r := evaluate("--negatives", "random", "--num-negatives", "5").Results[0]; r.Ranking == nil ||
		!(r.Ranking.MRR > 0) {
		t.Errorf("no ranking with five negatives: %+v", r)
	}
	out := t.TempDir()
	evaluate("--out", out, "--threads", "1", "--negatives", "random")
	if _, err := os.Stat(filepath.Join(out, "result.json")); err != nil {
		t.Error(err)
	}
	if r := evaluate("--sampling", "native"); r.Split.Hash == all.Split.Hash {
		t.Error("native and reference sampling hid the same nodes")
	}
}

// A directory that cannot be is noticed before anything is read or measured.
func TestEvalOutIsAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	program(t, "eval", "--model", "edgebank", "--data", "no such data", "--out", file).want(t, exitFailed, file)
}

// S1 has seven nodes: none is hidden from training, and there is nothing inductive to ask about.
func TestEvalOfEmptySet(t *testing.T) {
	r := program(t, "eval", "--model", "edgebank", "--data", "s1", "--data-dir", t.TempDir(), "--negatives", "random",
		"--setting", "inductive", "--json").want(t, exitDone)
	doc := decode[struct {
		Results []struct {
			AP      *float64
			Batches int
			Best    bool
		}
	}](t, r)
	for _, x := range doc.Results {
		if x.AP != nil || x.Batches != 0 || x.Best {
			t.Errorf("an empty set gave %+v", x)
		}
	}
}

// EdgeBank with random negatives gives the published numbers, to both decimals.
func TestEdgeBankAsPublished(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "data")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the published data sets are not beside the repository, in ../shared/data")
	}
	tests := []struct {
		data, negatives string
		ap, auc         float64
	}{
		{"uci", "random", 76.20, 77.30},
		{"USLegis", "random", 58.39, 62.57},
		{"USLegis", "historical", 63.31, 67.50},
	}
	for _, tt := range tests {
		t.Run(tt.data+" "+tt.negatives, func(t *testing.T) {
			r := program(t, "eval", "--model", "edgebank", "--data", tt.data, "--data-dir", dir,
				"--setting", "transductive", "--negatives", tt.negatives, "--json")
			for _, x := range decode[evalDoc](t, r.want(t, exitDone)).Results {
				if x.Best && (math.Abs(100*float64(x.AP)-tt.ap) > 0.005 ||
					math.Abs(100*float64(x.AUC)-tt.auc) > 0.005 || x.Paper == nil) {
					t.Errorf("%s has AP %.4f, AUC %.4f (paper: %+v), want %.2f and %.2f",
						x.Variant, 100*float64(x.AP), 100*float64(x.AUC), x.Paper, tt.ap, tt.auc)
				}
			}
		})
	}
}

func TestEvalInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := programIn(ctx, "", "eval", "--model", "edgebank", "--data", synthetic(t), "--json").
		want(t, exitInterrupted, "interrupted: ")
	if doc := decode[failure](t, r); doc.Error.Kind != "interrupted" {
		t.Errorf("got %+v", doc.Error)
	}
}

func TestModels(t *testing.T) {
	program(t, "models").want(t, exitDone).shows(t, "dygmamba", "edgebank")
	doc := decode[modelDoc](t, program(t, "models", "dygmamba", "--preset", "paper", "--data", "enron", "--json").
		want(t, exitDone))
	length := ""
	for _, s := range doc.Settings {
		if s.Key == "max_input_sequence_length" {
			length = fmt.Sprint(s.Value)
		}
	}
	if length != "256" {
		t.Errorf("the paper's sequence length on enron is 256, shown %q", length)
	}
	program(t, "models", "dygmamba", "--data", "uci").want(t, exitDone).
		shows(t, "steady  what it is\n", "ρ: length of a history")
	program(t, "models", "dygmama").want(t, exitUsage, "did you mean dygmamba?")
	program(t, "models", "dygmamba", "--preset", "huge").want(t, exitUsage, `no preset "huge"`)
}
