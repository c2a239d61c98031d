package main

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/predict"
)

func TestEmbed(t *testing.T) {
	r, dir := trainedRun(t), t.TempDir()
	out := func(name string) string { return filepath.Join(dir, name) }
	run := func(args ...string) result {
		return program(t, append([]string{"embed", r.run, "--data", r.data, "--device", "cpu"}, args...)...)
	}
	// All nodes, as a matrix with its names.
	doc := decode[embedDoc](t, run("--out", out("all.npy"), "--json").want(t, exitDone))
	if doc.Rows != 20 || doc.Width < 8 || doc.Model != "dygmamba" || doc.Names != out("all.csv") || doc.At == "" {
		t.Errorf("got %+v", doc)
	}
	lines := strings.Split(strings.TrimSpace(string(content(t, doc.Names))), "\n")
	if len(lines) != 21 || lines[0] != "row,node,id,side,time,partner" || !strings.HasPrefix(lines[1],
		"0,u1,1,source,") ||
		!strings.HasPrefix(lines[20], "19,v10,20,destination,") || strings.HasSuffix(lines[1], ",u1") {
		t.Errorf("rows are\n%s", strings.Join(lines, "\n"))
	}
	if raw := content(t, out("all.npy")); len(raw) != 128+20*doc.Width*4 {
		t.Errorf("the matrix has %d bytes", len(raw))
	}

	// What is written is what the library says, by whichever way it is asked for.
	set, err := dataset.Open(t.Context(), r.data, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	p, err := predict.Load(r.run, predict.Options{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	u, _ := set.Names.Source("u3")
	v, _ := set.Names.Target("v2")
	want, _, err := p.Embed(t.Context(), []predict.Query{{Src: u, Dst: v, Time: 300}})
	if err != nil {
		t.Fatal(err)
	}
	run("--out", out("a.npy"), "--node", "u3", "--with", "v2", "--at", "300").want(t, exitDone).shows(t,
		"1 × ", "a.csv", "300")
	run("--out", out("b.npy"), "--queries", queryFile(t, "u,i,ts", "u3,v2,300")).want(t, exitDone)
	a := content(t, out("a.npy"))
	if string(a) != string(content(t, out("b.npy"))) || floatAt(a[128:]) != want[0] {
		t.Errorf("the file begins with %v, want %v", floatAt(a[128:]), want[0])
	}
	run("--out", out("c.npy"), "--node", "u3", "--alone", "--at", "300").want(t, exitDone)
	if names := string(content(t, out("c.csv"))); !strings.Contains(names, "0,u3,3,source,300,u3\n") ||
		string(content(t, out("c.npy"))) == string(a) {
		t.Errorf("alone: %s", names)
	}
	run("--out", out("d.parquet"), "--queries", queryFile(t, "u,i,ts", "u3,v2,300", "stranger,v2,10")).want(t,
		exitDone, "1 of 2 rows")
	if raw := content(t, out("d.parquet")); string(raw[:4]) != "PAR1" || string(raw[len(raw)-4:]) != "PAR1" {
		t.Error("no Parquet file")
	}
}

// floatAt is the first number of a matrix.
func floatAt(raw []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(raw)) }

func TestEmbedRefuses(t *testing.T) {
	r, dir := trainedRun(t), t.TempDir()
	out := filepath.Join(dir, "x.npy")
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"", exitUsage, "--out is missing"},
		{"--out x.csv", exitUsage, "want one of .parquet, .npy"},
		{"--out " + out + " --at 1 --queries q", exitUsage, "--queries cannot be used"},
		{"--out " + out + " --with v1 --alone", exitUsage, "want one of them"},
		{"--out " + out + " --at soon", exitUsage, "a finite number"},
		{"--out " + out + " --at 2024-05-01", exitUsage, "a finite number"},
		{"--out " + out + " --node nobody", exitBadInput, `--node is "nobody"`},
		{"--out " + out + " --with nobody", exitBadInput, `--with is "nobody"`},
		{"--out " + out + " --order sideways", exitUsage, "--order"},
		{"--out " + out + " --order strict", exitUsage, "remember"},
		{"--out " + out + " --queries " + queryFile(t, "u,i,ts"), exitUsage, "nothing to embed"},
		{"--out " + out + " --queries " + queryFile(t, "u,i,ts", "u1,v1,soon"), exitBadInput, "column ts"},
		{"--out " + filepath.Join(dir, "no", "x.npy"), exitUsage, "there is no directory"},
	} {
		program(t, append([]string{"embed", r.run, "--data", r.data, "--device", "cpu"},
			strings.Fields(tt.args)...)...).want(t, tt.code, tt.want)
	}
	program(t, "embed", "--out", out).want(t, exitUsage, "needs the directory of a run")
	program(t, "embed", dir, "--out", out).want(t, exitBadInput, "has no checkpoint")
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("refused calls left %v, %v", left, err)
	}
}

// TestNextHasNoEmbeddings: where a model reads counts alone, the command says what to use.
func TestNextHasNoEmbeddings(t *testing.T) {
	out := filepath.Join(t.TempDir(), "nodes.parquet")
	program(t, "embed", trainedNext(t), "--out", out, "--device", "cpu").want(t, exitBadInput, "has no embeddings",
		"--model graphmixer")
	program(t, "calibrate", trainedNext(t), "--device", "cpu").want(t, exitBadInput, "cannot calibrate",
		"eval --protocol next")
}
