package dataset_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dygmamba/dygmamba/dataset"
)

// A table of visits with names and unsorted dates becomes a native file.
func ExampleImport() {
	dir, err := os.MkdirTemp("", "import")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	table, out := filepath.Join(dir, "visits.csv"), filepath.Join(dir, "visits.dgm")
	os.WriteFile(table, []byte("user,item,date\nann,tea,2024-05-02\nbob,tea,2024-05-01\n"), 0o644)

	ctx := context.Background()
	report, err := dataset.Import(ctx, []string{table}, out, dataset.ImportOptions{})
	if err != nil {
		panic(err)
	}
	set, err := dataset.Open(ctx, out, dataset.Options{})
	if err != nil {
		panic(err)
	}
	defer set.Close()
	fmt.Println(report.Events, "events,", report.Nodes, "nodes")
	for i := range set.Log.Len() {
		e := set.Log.At(i)
		fmt.Println(set.Names.Name(e.Src), set.Names.Name(e.Dst), dataset.FormatTime(e.Time, set.TimeFormat))
	}
	// Output:
	// 2 events, 3 nodes
	// bob tea 2024-05-01T00:00:00Z
	// ann tea 2024-05-02T00:00:00Z
}

// The synthetic sets of the paper need no files.
func ExampleOpen() {
	set, err := dataset.Open(context.Background(), "s1", dataset.Options{})
	if err != nil {
		panic(err)
	}
	info := dataset.Stats(set)
	fmt.Println(info.Events, "events between", info.Nodes, "nodes,", info.Pairs, "pairs")
	// Output: 100000 events between 7 nodes, 49 pairs
}
