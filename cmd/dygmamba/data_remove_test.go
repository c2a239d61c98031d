package main

import (
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
)

// shownEvents are the events of a set by name, with features, ids and kinds, in the order of time.
func shownEvents(t *testing.T, path string) (list []string) {
	t.Helper()
	set, err := dataset.OpenNative(path)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	for i := range set.Log.Len() {
		e := set.Log.At(i)
		list = append(list, fmt.Sprint(set.Names.Name(e.Src), " ", set.Names.Name(e.Dst), " ", e.Time, " ", e.Label,
			" ", set.Edge.Row(int(e.Edge)), " ", set.IDs.At(int(e.Edge)), " ", set.KindName(e.Kind)))
	}
	var nodes []string // in any order: those that come first in other rows have other numbers
	for n := 1; n < set.NumNodes(); n++ {
		nodes = append(nodes, fmt.Sprint(set.Names.Name(int32(n)), " ", set.Names.Side(int32(n))))
	}
	slices.Sort(nodes)
	return append(list, nodes...)
}

// TestRemovedAsNeverImported: a file without some events, or without some nodes, is the one that an import without
// their rows gives: events, names, ids and features.
func TestRemovedAsNeverImported(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for seed := range 12 {
		rng := rand.New(rand.NewPCG(uint64(seed), 3))
		numbers, apart := seed%3 == 0, seed%2 == 0
		name := func() string {
			if n := rng.IntN(9); numbers {
				return fmt.Sprint(100 + n)
			} else {
				return fmt.Sprint("n", n)
			}
		}
		rows := [][]string{}
		for i := range 80 {
			id := fmt.Sprint("id", i)
			if rng.IntN(4) == 0 {
				id = ""
			}
			rows = append(rows, []string{name(), name(), fmt.Sprint(rng.IntN(50)), fmt.Sprint(rng.IntN(2)),
				fmt.Sprint(rng.IntN(9)), []string{"seen", "sold"}[i%2], id})
		}
		write := func(file string, rows [][]string) {
			f, err := os.Create(in(file))
			if err != nil {
				t.Fatal(err)
			}
			w := csv.NewWriter(f)
			w.Write([]string{"src", "dst", "time", "label", "x", "kind", "id"})
			w.WriteAll(rows)
			f.Close()
			args := []string{"data", "import", in(file), "--id", "id", "--kind", "kind", "--edge-features", "x",
				"--out", in(file + ".dgm")}
			if apart {
				args = append(args, "--bipartite")
			}
			program(t, args...).want(t, 0)
		}
		write("all.csv", rows)
		var ids []string
		var left [][]string
		for _, row := range rows {
			if row[6] != "" && rng.IntN(3) == 0 {
				ids = append(ids, row[6])
			} else {
				left = append(left, row)
			}
		}
		write("left.csv", left)
		if err := os.WriteFile(in("ids"), []byte(strings.Join(ids, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
		program(t, "data", "retract", in("all.csv.dgm"), "--ids", in("ids"), "--out", in("got.dgm")).want(t, 0)
		same := func(what, want string) {
			t.Helper()
			got, want2 := shownEvents(t, in("got.dgm")), shownEvents(t, in(want))
			if !reflect.DeepEqual(got, want2) {
				t.Errorf("seed %d, %s: the file has\n%s\nwant\n%s", seed, what, strings.Join(got, "\n"),
					strings.Join(want2, "\n"))
			}
		}
		same("retracted", "left.csv.dgm")
		who := rows[0][0]
		var without [][]string
		for _, row := range rows {
			if row[0] != who && row[1] != who {
				without = append(without, row)
			}
		}
		write("without.csv", without)
		program(t, "data", "forget", in("all.csv.dgm"), who, "--out", in("got.dgm")).want(t, 0)
		same("forgotten", "without.csv.dgm")
		raw, _ := os.ReadFile(in("got.dgm"))
		if !numbers && strings.Contains(string(raw), who+"n") {
			t.Errorf("seed %d: the file has the name %s", seed, who)
		}
	}
	for _, args := range [][]string{
		{"data", "forget", in("all.csv.dgm"), "nobody", "--out", in("no.dgm")},
		{"data", "retract", in("all.csv.dgm"), "--ids", in("all.csv"), "--out", in("no.dgm")},
	} {
		program(t, args...).want(t, 3)
		if _, err := os.Stat(in("no.dgm")); err == nil {
			t.Errorf("%v wrote a file", args)
		}
	}
}
