package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tableFile writes a table in a directory of its own, and says where a file beside it would be.
func tableFile(t *testing.T, name string, lines ...string) (path, dir string) {
	t.Helper()
	dir = t.TempDir()
	path = filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path, dir
}

// What was fitted is said at the import, and by data info ever after.
func TestImportEncodes(t *testing.T) {
	lines := []string{"who,what,when,kind,price,note"}
	for _, day := range []string{"01", "02", "03", "04", "05", "06", "07", "08", "09", "10"} {
		lines = append(lines, "ann,tea,2024-05-"+day+",hot,1."+day+",x", "bob,ice,2024-05-"+day+",cold,,x")
	}
	path, dir := tableFile(t, "visits.csv", lines...)
	out := filepath.Join(dir, "visits.dgm")
	args := []string{"data", "import", path, "--src", "who", "--dst", "what", "--time", "when", "--out", out}
	program(t, args...).want(t, exitDone).shows(t, "ignored  kind, price, note (use --features to include them)")
	args = append(args, "--features", "kind,price")
	program(t, args...).want(t, exitDone).shows(t, "kind: category, 2 features; one for each value: cold, hot",
		"price: number, 2 features; scaled by mean", "missing values filled with the mean",
		"the training part: events until 2024-05-07", "ignored    note")
	imported := decode[importDoc](t, program(t, append(args, "--json")...).want(t, exitDone))
	info := decode[infoDoc](t, program(t, "data", "info", out, "--json").want(t, exitDone))
	for what, e := range map[string]*encodingDoc{"import": imported.Encoding, "info": info.Encoding} {
		if e == nil || len(e.Events) != 2 || len(e.Nodes) != 0 ||
			e.Events[0].Kind != "category" || e.Events[1].Features != 2 ||
			!strings.HasPrefix(e.FittedUntil, "2024-05-07") || strings.Join(e.Events[0].Values, " ") != "cold hot" {
			t.Errorf("%s has %+v", what, e)
		}
	}
	if strings.Join(imported.Columns.Features, " ") != "kind price" || imported.EdgeFeatures != 4 {
		t.Errorf("columns %+v", imported.Columns)
	}
	program(t, "data", "info", out, "--brief").want(t, exitDone).shows(t, "encoded    kind: category",
		"fitted on  the training part: events until")
	plain := decode[infoDoc](t, program(t, "data", "info", trainedRun(t).data, "--json").want(t, exitDone))
	if plain.Encoding != nil {
		t.Errorf("nothing was fitted, yet %+v", plain.Encoding)
	}
}

func TestImportEncodesNodes(t *testing.T) {
	path, dir := tableFile(t, "visits.csv", "u,v,t", "ann,tea,1", "bob,tea,2")
	nodes := filepath.Join(dir, "people.csv")
	if err := os.WriteFile(nodes, []byte("name,city\nann,Rome\nbob,Oslo\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"data", "import", path, "--nodes", nodes, "--out", filepath.Join(dir, "x.dgm")}
	program(t, args...).want(t, exitBadInput, `column city: found "Rome"`,
		"are taken by --features and --node-features")
	program(t, append(args, "--node-features", "city")...).want(t, exitDone).shows(t,
		"of nodes   city: category, 1 feature; one for each value: Rome")
}

func TestImportEncodingUsage(t *testing.T) {
	path, _ := tableFile(t, "visits.csv", "u,v,t,x", "ann,tea,1,2")
	for want, args := range map[string][]string{
		"--categories is 1, must be from 2":             {"--categories", "1"},
		"--node-features needs --nodes":                 {"--node-features", "all"},
		"--features cannot be used with --format jodie": {"--features", "x", "--format", "jodie"},
	} {
		program(t, append([]string{"data", "import", path, "--out", filepath.Join(t.TempDir(), "x.dgm")},
			args...)...).want(t, exitUsage, want)
	}
	program(t, "data", "check", path, "--features", "x:number").want(t, exitDone)
	program(t, "data", "check", path, "--features", "x:date").want(t, exitBadInput,
		`column x: found "2"; want a date such as`)
}
