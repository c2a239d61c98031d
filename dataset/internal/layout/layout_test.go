package layout

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/dataset/internal/input/inputtest"
	"github.com/dygmamba/dygmamba/protocol"
)

// npyOf is a version 1 file with the given dictionary and values.
func npyOf(dict string, values ...float64) string {
	b := append([]byte(input.NpyMagic), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(dict)))
	b = append(b, dict...)
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return string(b)
}

func shape(rows, cols int) string {
	return fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }\n", rows, cols)
}

const goodCSV = ",u,i,ts,label,idx\n0,1,3,0.0,0,1\n1,2,3,1.0,0,2\n"

// readIn reads the data set of a directory.
func readIn(t *testing.T, dir string) (*data.Set, error) {
	t.Helper()
	l, err := In(dir)
	if err != nil {
		t.Fatal(err)
	}
	return l.Read(t.Context())
}

// problemsIn is everything that is wrong with the data set of a directory.
func problemsIn(t *testing.T, dir string) input.Problems {
	t.Helper()
	l, err := In(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, problems, err := l.Check(t.Context(), 20)
	if err != nil {
		t.Fatal(err)
	}
	return problems
}

func TestLayoutProblems(t *testing.T) {
	csv := func(rows string) map[string]string {
		return map[string]string{"ml_x.csv": ",u,i,ts,label,idx\n" + rows}
	}
	edges := func(text string) map[string]string { return map[string]string{"ml_x.csv": goodCSV, "ml_x.npy": text} }
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []string // what check says; read says the first
	}{
		{"NaN, infinite and missing times", csv("0,1,2,nan,0,1\n1,1,2,-inf,0,2\n2,1,2,,0,3\n3,1,2,1e999,0,4\n"),
			[]string{
				`ml_x.csv: line 2 (row 1), column ts: found "nan"; want a finite number`,
				`ml_x.csv: line 3 (row 2), column ts: found "-inf"; want a finite number`,
				`ml_x.csv: line 4 (row 3), column ts: found ""; want a finite number`,
				`ml_x.csv: line 5 (row 4), column ts: found "1e999"; want a finite number`}},
		{"bad ids", csv("0,0,2,1,0,1\n1,1,-2,1,0,2\n2,1,2147483648,1,0,3\n3,1.0,2,1,0,0\n"), []string{
			`ml_x.csv: line 2 (row 1), column u: found 0; want ids from 1: 0 is reserved for padding`,
			`ml_x.csv: line 3 (row 2), column i: found "-2"; want a whole number from 1 to 2147483647`,
			`ml_x.csv: line 4 (row 3), column i: found "2147483648"; want a whole number from 1 to 2147483647`,
			`ml_x.csv: line 5 (row 4), column u: found "1.0"; want a whole number from 1 to 2147483647`,
			`ml_x.csv: line 5 (row 4), column idx: found 0; want ids from 1: 0 is reserved for padding`}},
		{"out of order", csv("0,1,2,5,0,1\n1,1,2,4.5,0,2\n2,1,2,6,0,3\n"), []string{
			`ml_x.csv: line 3 (row 2), column ts: found 4.5 after 5 in the row before; ` +
				`want times that never decrease`}},
		{"column counts", csv("0,1,2,5,0,1\n1,1,2,6,0\n2,1,2,6,0,3,\n"), []string{
			`ml_x.csv: line 3 (row 2): found 5 columns; want 6, as in the header`,
			`ml_x.csv: line 4 (row 3): found 7 columns; want 6, as in the header`}},
		{"idx twice", csv("0,1,2,5,0,1\n1,1,2,6,0,1\n"), []string{
			`ml_x.csv: line 3 (row 2), column idx: found 1; want every idx once`}},
		{"a label", csv("0,1,2,5,x,1\n"), []string{
			`ml_x.csv: line 2 (row 1), column label: found "x"; want a finite number`}},
		{"no idx", map[string]string{"ml_x.csv": ",u,i,ts,label\n0,1,2,5,0\n"}, []string{
			`ml_x.csv: line 1: found no column idx in ",u,i,ts,label"; want the header ,u,i,ts,label,idx`}},
		{"u twice", map[string]string{"ml_x.csv": ",u,i,ts,label,idx,u\n"}, []string{
			`ml_x.csv: line 1: found column u twice; want the header ,u,i,ts,label,idx`}},
		{"no events", csv(""), []string{
			`ml_x.csv: found no events; want at least one row below the header`}},
		{"empty", map[string]string{"ml_x.csv": ""}, []string{
			`ml_x.csv: line 1: found no column u in ""; want the header ,u,i,ts,label,idx`}},
		{"a line without end", csv("0,1,2,5,0,1\n" + strings.Repeat("7", 3<<20)), []string{
			`ml_x.csv: line 3: found a line of more than 1048576 bytes; want lines of at most 1048576 bytes, ` +
				`and quotes that are closed again`}},
		{"a header in quotes that never end",
			map[string]string{"ml_x.csv": ",u,i,ts,label,idx,\"x\n0,1,2,5,0,1\n"}, []string{
				`ml_x.csv: line 1: found a quoted field that is never closed; want the header ,u,i,ts,label,idx`}},
		{"far times and labels", csv("0,1,2,-1e39,0,1\n1,1,2,0,1e39,2\n"), []string{
			`ml_x.csv: line 2 (row 1), column ts: found "-1e39"; want a time between -1e+38 and 1e+38`,
			`ml_x.csv: line 3 (row 2), column label: found "1e39"; want a finite number that fits into 32 bits`}},
		{"ids far apart", csv("0,1,2147483647,5,0,1\n"), []string{
			`ml_x.csv: found node id 2147483647 in a table of 1 events; want ids that count from 1 with few gaps: ` +
				`dataset.Import with the option Format csv numbers nodes anew`}},
		{"a pickle", map[string]string{"ml_x.csv": "\x80\x05\x95..."}, []string{
			`ml_x.csv: found a Python pickle; want text with the header ,u,i,ts,label,idx`}},
		{"a zip", map[string]string{"ml_x.csv": "PK\x03\x04..."}, []string{
			`ml_x.csv: found a zip archive; want text with the header ,u,i,ts,label,idx`}},
		{"truncated gzip", map[string]string{"ml_x.csv.gz": inputtest.Gzip(goodCSV)[:50]}, []string{
			`ml_x.csv.gz: found a gzip file cut off after 39 unpacked bytes; want the whole file`}},
		{"damaged gzip", map[string]string{
			"ml_x.csv.gz": strings.Replace(inputtest.Gzip(goodCSV), "\x00\x00", "\x00\x01", 1) + "junk"}, nil},
		{"npy: rows", edges(npyOf(shape(2, 1), 0, 1)), []string{
			`ml_x.npy: found 2 rows; want 3: row 0 for padding and the edges 1 … 2 (the largest idx in the csv)`}},
		{"npy: node rows", map[string]string{"ml_x.csv": goodCSV, "ml_x_node.npy": npyOf(shape(3, 0))}, []string{
			`ml_x_node.npy: found 3 rows; want 4: row 0 for padding and the nodes 1 … 3 (the largest id in the csv)`}},
		{"npy: padding", edges(npyOf(shape(3, 2), 0, 7, 1, 1, 1, 1)), []string{
			`ml_x.npy: row 0, column 1: found 7; want 0, as row 0 is padding`}},
		{"npy: padding before more rows than are used", edges(npyOf(shape(4, 1), 7, 1, 1, 1)), []string{
			`ml_x.npy: row 0, column 0: found 7; want 0, as row 0 is padding`}},
		{"npy: NaN", edges(npyOf(shape(3, 2), 0, 0, 1, 1, 1, math.NaN())), []string{
			`ml_x.npy: row 2, column 1: found NaN; want a finite number that fits into 32 bits`}},
		{"npy: too large", edges(npyOf(shape(3, 1), 0, 1e300, 1)), []string{
			`ml_x.npy: row 1, column 0: found 1e+300; want a finite number that fits into 32 bits`}},
		{"npy: short", edges(npyOf(shape(3, 2), 0, 0, 1, 1, 1)), []string{
			`ml_x.npy: found the end of the file after 40 bytes of values; ` +
				`want 48 bytes, for shape (3, 2) and 8 bytes a value`}},
		{"npy: long", edges(npyOf(shape(3, 1), 0, 1, 2, 3)), []string{
			`ml_x.npy: found more bytes after the last value; want 24 bytes of values, for shape (3, 1)`}},
		{"npy: Fortran", edges(npyOf("{'descr': '<f8', 'fortran_order': True, 'shape': (3, 2), }")), []string{
			`ml_x.npy: found Fortran order (fortran_order: True); want C order: numpy.ascontiguousarray(array)`}},
		{"npy: integers", edges(npyOf("{'descr': '<i8', 'fortran_order': False, 'shape': (3, 2), }")), []string{
			`ml_x.npy: found type '<i8'; want <f8 or <f4: array.astype('<f8')`}},
		{"npy: objects", edges(npyOf("{'descr': '|O', 'fortran_order': False, 'shape': (3, 2), }")), []string{
			`ml_x.npy: found Python objects (type |O); want numbers of type <f8 or <f4: array.astype('<f8')`}},
		{"npy: records", edges(npyOf("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,), }")), []string{
			`ml_x.npy: found type [('a', '<f8')]; want <f8 or <f4: array.astype('<f8')`}},
		{"npy: one dimension", edges(npyOf("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }", 0, 1, 2)),
			[]string{
				`ml_x.npy: found shape (3,); want two dimensions: (rows, columns)`}},
		{"npy: huge claims", edges(npyOf(shape(1<<40, 172))), []string{
			`ml_x.npy: found shape (1099511627776, 172); want at most 2147483648 rows and 1048576 columns`}},
		{"npy: large claims", edges(npyOf(shape(1<<31, 1<<20), 0, 0, 5)), []string{
			`ml_x.npy: found the end of the file after 24 bytes of values; ` +
				`want 18014398509481984 bytes, for shape (2147483648, 1048576) and 8 bytes a value`}},
		{"npy: huge header", edges(input.NpyMagic + "\x02\x00\xff\xff\xff\x7f{"), []string{
			`ml_x.npy: found a header of 2147483647 bytes; want at most 65536`}},
		{"npy: cut header", edges(input.NpyMagic + "\x01\x00\x76\x00{'descr'"), []string{
			`ml_x.npy: found the end of the file after 8 of 118 bytes of the header; want a whole NumPy file`}},
		{"npy: version", edges(input.NpyMagic + "\x09\x00\x76\x00{'descr'"), []string{
			`ml_x.npy: found format version 9.0; want version 1, 2 or 3`}},
		{"npy: strange header", edges(npyOf("{'descr': '<f8'}")), []string{
			`ml_x.npy: found the header "{'descr': '<f8'}"; ` +
				`want {'descr': '<f8', 'fortran_order': False, 'shape': (rows, columns), }`}},
		{"npy: text", edges("1,2,3\n4,5,6\n"), []string{
			`ml_x.npy: found "1,2,3\n" at the beginning; want a NumPy file, which begins "\x93NUMPY"`}},
		{"npy: a pickle", edges("\x80\x04\x95..."), []string{
			`ml_x.npy: found a Python pickle; want a NumPy .npy file`}},
		{"npy: a Git LFS pointer", edges("version https://git-lfs.github.com/spec/v1\noid sha256:00\n"), []string{
			`ml_x.npy: found a Git LFS pointer instead of the file; want a NumPy .npy file`}},
		{"several at once", map[string]string{"ml_x.csv": ",u,i,ts,label,idx\n0,0,2,1,0,1\n", "ml_x.npy": "junk",
			"ml_x_node.npy": "\x80\x04"}, []string{
			`ml_x.csv: line 2 (row 1), column u: found 0; want ids from 1: 0 is reserved for padding`,
			`ml_x.npy: found the end of the file after 4 of 8 bytes of the beginning; want a whole NumPy file`,
			`ml_x_node.npy: found a Python pickle; want a NumPy .npy file`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := inputtest.Write(t, c.files)
			_, err := readIn(t, dir)
			if err == nil {
				t.Fatal("opened")
			}
			var in *input.Error
			if !errors.As(err, &in) {
				t.Errorf("%T: %v", err, err)
			}
			problems := problemsIn(t, dir)
			if c.want == nil {
				if problems.Total == 0 {
					t.Error("no problem found")
				}
				return
			}
			inputtest.CheckProblems(t, dir, err, c.want[:1])
			inputtest.CheckProblems(t, dir, &problems, c.want)
		})
	}
}

// TestSurplusRows opens a cut event list beside the features of a longer one. It can be used, with a warning; a check
// reports it.
func TestSurplusRows(t *testing.T) {
	dir := inputtest.Write(t, map[string]string{"ml_x.csv": goodCSV, "ml_x.npy": npyOf(shape(4, 1), 0, 1, 2, 3),
		"ml_x_node.npy": npyOf(shape(5, 0))})
	set, err := readIn(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	if set.Edge.Rows != 3 || len(set.Edge.Data) != 3 || set.Node.Rows != 4 || set.NumNodes() != 4 {
		t.Errorf("edge features %+v, %d rows of node features, %d nodes; want 3, 4, 4",
			set.Edge, set.Node.Rows, set.NumNodes())
	}
	if len(set.Warnings) != 2 || !strings.Contains(set.Warnings[0], "found 4 rows; want 3") ||
		!strings.Contains(set.Warnings[1], "found 5 rows; want 4") {
		t.Errorf("warnings %q", set.Warnings)
	}
	if problems := problemsIn(t, dir); problems.Total != 2 {
		t.Errorf("a check finds %d problems, want 2", problems.Total)
	}
}

func TestLayoutForms(t *testing.T) {
	features := npyOf(shape(3, 2), 0, 0, 1, 2, 3, 4)
	for _, c := range []struct {
		name  string
		files map[string]string
	}{
		{"plain", map[string]string{"ml_x.csv": goodCSV, "ml_x.npy": features}},
		{"gzip", map[string]string{"ml_x.csv.gz": inputtest.Gzip(goodCSV), "ml_x.npy.gz": inputtest.Gzip(features)}},
		{"gzip without saying so",
			map[string]string{"ml_x.csv": inputtest.Gzip(goodCSV), "ml_x.npy": inputtest.Gzip(features)}},
		{"BOM, CRLF, quotes, other order", map[string]string{"ml_x.npy": features,
			"ml_x.csv": "\xef\xbb\xbf\"idx\",ts,\"label\",i,u,note\r\n1,0,0,\"3\",1,\"a,\"\"b\"\"\r\nc\"\r\n\r\n" +
				"2,1e0,0.0,3,2,\r\n"}},
		{"idx in other order", map[string]string{"ml_x.csv": ",u,i,ts,label,idx\n0,1,3,0.0,0,2\n1,2,3,1.0,0,1\n",
			"ml_x.npy": npyOf(shape(3, 2), 0, 0, 3, 4, 1, 2)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := readIn(t, inputtest.Write(t, c.files))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range s.Log.Len() {
				e := s.Log.At(i)
				got = append(got, fmt.Sprint(e.Src, e.Dst, e.Time, s.Edge.Row(int(e.Edge))))
			}
			if diff := cmp.Diff([]string{"1 3 0 [1 2]", "2 3 1 [3 4]"}, got); diff != "" {
				t.Error(diff)
			}
			if len(s.Warnings) != 1 || !strings.HasSuffix(s.Warnings[0], ": no ml_x_node.npy: its features are zero") ||
				s.Sampling != protocol.Reference || s.Name != "x" {
				t.Errorf("%q %s %s", s.Warnings, s.Sampling, s.Name)
			}
		})
	}
}

func TestJODIE(t *testing.T) {
	const head = "user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n"
	for _, c := range []struct {
		name, text string
		o          JODIEOptions
		want       string // the error, or the events
	}{
		{"bipartite", head + "0,0,0.0,0,0.5,-1\n1,0,0.0,1,2,3\n0,1,7,0,0,0\n", JODIEOptions{Name: "wikipedia"},
			"1 3 0 0 [0.5 -1]|2 3 0 1 [2 3]|1 4 7 0 [0 0]"},
		{"one id space", head + "4,0,0.0,0,0\n1,4,1,0,0\n", JODIEOptions{Name: "mine"}, "5 1 0 0 []|2 5 1 0 []"},
		{"gap in users", head + "0,0,0,0,0\n2,0,1,0,0\n", JODIEOptions{Bipartite: true},
			"raw.csv, column user: found 2 different ids up to 2, but no 1; want every id from 0 to 2"},
		{"items from 1", head + "0,1,0,0,0\n", JODIEOptions{Bipartite: true},
			"raw.csv, column item: found 1 different ids up to 1, but no 0; want every id from 0 to 1"},
		{"order", head + "0,0,5,0,0\n0,0,4,0,0\n", JODIEOptions{},
			"raw.csv: line 3 (row 2), column timestamp: found 4 after 5; want times that never decrease"},
		{"negative start", head + "0,0,-2,0,0\n", JODIEOptions{},
			"raw.csv: line 2 (row 1), column timestamp: found -2 after -1; want times that never decrease, from -1 on"},
		{"no features", head + "0,0,5,0\n", JODIEOptions{},
			"raw.csv: line 2 (row 1): found 4 columns; " +
				"want at least 5: user,item,timestamp,label and a feature, which is 0 where there are none"},
		{"ragged", head + "0,0,5,0,1,2\n0,0,5,0,1\n", JODIEOptions{},
			"raw.csv: line 3 (row 2): found 1 features; want 2, as in the rows before"},
		{"not a number", head + "0,0,5,0,1,x\n", JODIEOptions{},
			`raw.csv: line 2 (row 1), column feature 2: found "x"; want a finite number that fits into 32 bits`},
		{"NaN", head + "0,0,NaN,0,1\n", JODIEOptions{},
			`raw.csv: line 2 (row 1), column timestamp: found "NaN"; want a finite number`},
		{"name", head + "ann,0,5,0,1\n", JODIEOptions{},
			`raw.csv: line 2 (row 1), column user: found "ann"; want a whole number from 0 to 2147483646`},
		{"long line", head + "0,0,5,0,1\n" + strings.Repeat("9", 2<<20), JODIEOptions{},
			"raw.csv: line 3: found a line of more than 1048576 bytes; " +
				"want lines of at most 1048576 bytes, and quotes that are closed again"},
		{"ids far apart", head + "0,2147483646,5,0,1\n", JODIEOptions{},
			"raw.csv: found node id 2147483647 in a table of 1 events; " +
				"want ids that count from 1 with few gaps: " +
				"dataset.Import with the option Format csv numbers nodes anew"},
		{"no header", "0,0,5,0,1\n0,0,6,0,1\n", JODIEOptions{},
			`raw.csv: line 1: found "0,0,5,0,1"; want a header such as user_id,item_id,timestamp,state_label,features`},
		{"far time", head + "0,0,1e39,0,1\n", JODIEOptions{},
			`raw.csv: line 2 (row 1), column timestamp: found "1e39"; want a time between -1e+38 and 1e+38`},
		{"empty", "", JODIEOptions{}, "raw.csv: found no events; want at least one row below the header"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := inputtest.Write(t, map[string]string{"raw.csv": c.text})
			s, err := ReadJODIE(t.Context(), filepath.Join(dir, "raw.csv"), c.o)
			var got string
			if err != nil {
				got = strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "")
			} else {
				var events []string
				for i := range s.Log.Len() {
					e := s.Log.At(i)
					events = append(events, fmt.Sprint(e.Src, e.Dst, e.Time, e.Label, s.Edge.Row(int(e.Edge))))
				}
				got = strings.Join(events, "|")
				if s.Edge.Rows != s.Log.Len()+1 || s.Node.Rows != s.NumNodes() || s.Node.Cols != 172 {
					t.Errorf("features %dx%d, %dx%d", s.Edge.Rows, s.Edge.Cols, s.Node.Rows, s.Node.Cols)
				}
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// A set written in the DyGLib layout is read back as it was.
func TestSaveDyGLib(t *testing.T) {
	from := inputtest.Write(t, map[string]string{"raw.csv": "h\n0,0,0.1,1,0.25,-1\n1,0,1e7,0,2,3\n"})
	s, err := ReadJODIE(t.Context(), filepath.Join(from, "raw.csv"), JODIEOptions{Name: "wikipedia"})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "wikipedia")
	if err := Save(dir, s); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(filepath.Join(dir, "ml_wikipedia.csv"))
	if want := ",u,i,ts,label,idx\n0,1,3,0.1,1.0,1\n1,2,3,10000000.0,0.0,2\n"; string(text) != want {
		t.Errorf("%q, want %q", text, want)
	}
	back, err := readIn(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if back.Hash() != s.Hash() || back.Node.Cols != 172 || !back.Bipartite {
		t.Errorf("%+v", back)
	}
	raw, _ := os.ReadFile(filepath.Join(dir, "ml_wikipedia.npy"))
	head := raw[:bytes.IndexByte(raw, '\n')+1]
	if len(head)%64 != 0 || !bytes.Contains(head, []byte("'shape': (3, 2)")) {
		t.Errorf("header %q", head)
	}
}
