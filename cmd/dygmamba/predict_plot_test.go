package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
)

// The curve over time is drawn where it was asked for, with a mark for each meeting in its reach.
func TestPredictPlots(t *testing.T) {
	r := trainedRun(t)
	set, err := dataset.Open(t.Context(), r.data, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	all := set.Log.All()
	middle, meetings := all.Len()/2, 0
	reach := (all.Time[all.Len()-1] - all.Time[0]) / 20
	for i, at := range all.Time {
		same := all.Src[i] == all.Src[middle] && all.Dst[i] == all.Dst[middle]
		if same && math.Abs(at-all.Time[middle]) <= reach {
			meetings++
		}
	}
	plot := filepath.Join(t.TempDir(), "curve.svg")
	u, i := set.Names.Name(all.Src[middle]), set.Names.Name(all.Dst[middle])
	one := []string{"predict", "--run", r.run, "--data", r.data, "--device", "cpu", "--u", u, "--i", i,
		"--ts", fmt.Sprint(all.Time[middle])}
	program(t, append(one, "--plot", plot, "--curve", "30")...).want(t, exitDone).
		shows(t, u+" and "+i+" at", "wrote ")
	raw, err := os.ReadFile(plot)
	if err != nil {
		t.Fatal(err)
	}
	svg := string(raw)
	if got := strings.Count(svg, `class="mark"`); got != meetings || got == 0 {
		t.Errorf("%d meetings are marked, want %d", got, meetings)
	}
	if !strings.Contains(svg, u+" and "+i) || strings.Count(svg, "L") < 60 {
		t.Errorf("%d bytes without the 61 moments, or whom they are about", len(svg))
	}
	if doc := decode[predictDoc](t, program(t, append(one, "--plot", plot, "--json")...)); doc.Plot != plot {
		t.Errorf("the document says %q", doc.Plot)
	}
	for args, want := range map[string]string{
		"--plot " + plot + " --curve 0":      "--curve above 0",
		"--plot -":                           "want a file",
		"--plot x.svg --out ./x.svg":         "want a different file",
		"--plot " + r.data:                   "is the file with the data",
		"--plot /no/such/dir/x.svg":          "there is no directory",
		"--plot x.svg --explain x.svg":       "want a different file",
		"--plot x.svg --candidates c.txt":    "--candidates needs --best",
		"--plot x.svg --curve 10 --top -100": "--top is -100",
	} {
		program(t, append(one, strings.Fields(args)...)...).want(t, exitUsage, want)
	}
	table := []string{"predict", "--run", r.run, "--queries", queryFile(t, "u,i,ts", "u1,v1,5"), "--plot", plot}
	program(t, table...).want(t, exitUsage, "draws the curve of a single query")
	program(t, "predict", "--run", r.run, "--u", "u1", "--ts", "5", "--best", "2", "--plot", plot).
		want(t, exitUsage, "--best cannot explain")
}
