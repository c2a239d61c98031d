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

// Words and numbers become features, and rows that come later are encoded as the first ones were.
func ExampleAppend() {
	dir, err := os.MkdirTemp("", "append")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	may, june, out := filepath.Join(dir, "may.csv"), filepath.Join(dir, "june.csv"), filepath.Join(dir, "visits.dgm")
	os.WriteFile(may, []byte("user,item,date,kind,price\nann,tea,2024-05-01,hot,2\nbob,ice,2024-05-02,cold,4\n"+
		"ann,ice,2024-05-03,cold,\n"), 0o644)
	os.WriteFile(june, []byte("user,item,date,kind,price\nzoe,tea,2024-06-01,hot,3\n"), 0o644)

	ctx := context.Background()
	o := dataset.ImportOptions{Features: []string{"kind", "price"}}
	if _, err := dataset.Import(ctx, []string{may}, out, o); err != nil {
		panic(err)
	}
	report, err := dataset.Append(ctx, out, []string{june}, dataset.AppendOptions{})
	if err != nil {
		panic(err)
	}
	set, err := dataset.Open(ctx, out, dataset.Options{})
	if err != nil {
		panic(err)
	}
	defer set.Close()
	fmt.Println(report.Added, "event added,", report.NewNodes, "node is new")
	fmt.Println(set.Recipe.Edge.Titles())
	for i := range set.Log.Len() {
		e := set.Log.At(i)
		fmt.Println(set.Names.Name(e.Src), set.Names.Name(e.Dst), set.Edge.Row(int(e.Edge)))
	}
	// Output:
	// 1 event added, 1 node is new
	// [kind=cold kind=hot price]
	// ann tea [0 1 -1]
	// bob ice [1 0 1]
	// ann ice [1 0 0]
	// zoe tea [0 1 0]
}
