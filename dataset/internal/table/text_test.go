package table

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/dataset/internal/input/inputtest"
	"github.com/dygmamba/dygmamba/dataset/internal/native"
)

// rowsOf imports text read in blocks of some bytes and returns its rows, or the problems.
func rowsOf(t *testing.T, text string, block int, o Options) (rows []string, err error) {
	t.Helper()
	in, err := input.New("fuzz", strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	in.Block = block
	w, _ := native.Create("")
	if o.MaxProblems == 0 {
		o.MaxProblems = 1000
	}
	im := newImporter(o, w)
	if err := im.file(t.Context(), in); err != nil {
		return nil, err
	}
	if err := im.finder.Err(); err != nil {
		return nil, err
	}
	var src, dst [20]byte
	for _, b := range im.table.blocks {
		for i := range b.src {
			rows = append(rows, fmt.Sprintf("%s|%s|%v", im.sources.names.At(int(b.src[i])-1, &src),
				im.targets.names.At(int(b.dst[i])-1, &dst), b.time[i]))
		}
	}
	return rows, nil
}

func TestBlocksDoNotMatter(t *testing.T) {
	text := "src,dst,time\n" + strings.Repeat("a,\"b\n\"\"c\",1\r\nd,e\"\"f,2\n\n\"x,y\",z,3\n", 50)
	want, err := rowsOf(t, text, input.BlockSize, Options{})
	if err != nil || len(want) != 150 {
		t.Fatal(len(want), err)
	}
	for block := 1; block < 300; block += 7 {
		got, err := rowsOf(t, text, block, Options{})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("blocks of %d bytes: %v %s", block, err, diff)
		}
	}
}

// Whatever the text, blocks do not matter, and what the standard library reads as a table of three columns is read the
// same.
func FuzzImportCSV(f *testing.F) {
	for _, s := range []string{"src,dst,time\na,b,1\n", "u,v,t\n1,2,3\n4,5,6",
		"src,dst,time\n\"a\"\"b\",\"c\nd\",2024-05-01\n", "src,dst,time\r\na,b,x\r\n\r\n",
		"\xef\xbb\xbfsrc;dst;time\n1;2;3\n", "src,dst,time\na,\"b,1\n", "src\tdst\ttime\n\"\t\"\"\",b,1\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		one, err1 := rowsOf(t, s, input.BlockSize, Options{})
		few, err2 := rowsOf(t, s, 7, Options{})
		if !reflect.DeepEqual(one, few) || fmt.Sprint(err1) != fmt.Sprint(err2) {
			t.Fatalf("in one block %q %v\nin many      %q %v", one, err1, few, err2)
		}
		inputtest.CheckError(t, err1)
		r := csv.NewReader(strings.NewReader(s))
		table, err := r.ReadAll()
		if err != nil || err1 != nil || len(table) < 2 || !reflect.DeepEqual(table[0], []string{"src", "dst", "time"}) {
			return
		}
		for i, row := range table[1:] {
			v, _, _ := input.ScanTime(bytes.TrimSpace([]byte(row[2])))
			want := fmt.Sprintf("%s|%s|%v", strings.TrimSpace(row[0]), strings.TrimSpace(row[1]), v)
			if i >= len(one) || strings.ReplaceAll(one[i], "\r\n", "\n") != want {
				t.Fatalf("row %d: %q, want %q", i, one, want)
			}
		}
	})
}

func FuzzImportJSONL(f *testing.F) {
	for _, s := range []string{`{"src":"a","dst":"b","ts":1}`, `{"u":1,"v":2,"t":"2024-05-01","f":[1,2]}` + "\n" +
		`{"u":1,"v":2,"t":"2024-05-02","f":[3,4]}`, "{}", `{"src":{"x":"}"},"dst":[],"ts":null}`,
		`{"src":"\u0000\"","dst":"\\","ts":1e5}`, "{\"src\":1", "{\"\x80\":0}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		o := Options{Format: FormatJSONL, EdgeFeatures: nil}
		one, err1 := rowsOf(t, s, input.BlockSize, o)
		few, err2 := rowsOf(t, s, 7, o)
		if !reflect.DeepEqual(one, few) || fmt.Sprint(err1) != fmt.Sprint(err2) {
			t.Fatalf("in one block %q %v\nin many      %q %v", one, err1, few, err2)
		}
		inputtest.CheckError(t, err1)
		_, err := rowsOf(t, s, input.BlockSize, Options{Format: FormatJSONL, EdgeFeatures: []string{"f"}})
		inputtest.CheckError(t, err)
		var want map[string]json.RawMessage
		got := map[string]string{}
		// the standard library replaces what is not
		if members([]byte(s), func(name string, v []byte) { got[name] = string(v) }) && utf8.ValidString(s) {
			if err := json.Unmarshal([]byte(s), &want); err != nil {
				t.Fatal(err)
			}
			for name, v := range want {
				if !bytes.Equal(v, []byte(got[name])) {
					t.Fatalf("member %q: %s, want %s", name, got[name], v)
				}
			}
		}
	})
}

// A directory is no table, whatever is in it.
func TestImportDirectory(t *testing.T) {
	dir := inputtest.Write(t, map[string]string{"a.csv": "u,i,ts\na,b,1\n"})
	if _, err := Import(t.Context(), []string{dir}, "", Options{}); err == nil ||
		err.Error() != dir+": found a directory; want one or more tables as CSV, JSONL or Parquet, such as "+
			filepath.Join(dir, "*.csv") {
		t.Errorf("a directory: %v", err)
	}
	dir = inputtest.Write(t, map[string]string{"ml_x.csv": ",u,i,ts,label,idx\n0,1,2,0.0,0,1\n"})
	if _, err := Import(t.Context(), []string{dir}, "", Options{}); err == nil || !strings.HasSuffix(err.Error(),
		"this can be used as it is: dataset.Open opens "+dir) {
		t.Errorf("a data set: %v", err)
	}
}
