package dataset

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseFloat(t *testing.T) {
	for _, s := range []string{"0", "-0", "1", "0.1", "-0.1", "123456.789", "9007199254740992", "9007199254740993", "0.000000000000000001", "1e22", "1e23", "1e-5",
		"123456789012345678", "1234567890123456789", ".5", "5.", "00012", "+3", "179769313486231570000000000000000000000", "4.9e-324", "0.30000000000000004", "1e999"} {
		got, ok := parseFloat([]byte(s))
		want, err := strconv.ParseFloat(s, 64)
		if !ok || math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("%s: %v %v, want %v %v", s, got, ok, want, err)
		}
	}
	for _, s := range []string{"", "-", ".", "1.2.3", "1_000", "0x10", "1e", "one", " 1", "1,5", "--1", "١"} {
		if got, ok := parseFloat([]byte(s)); ok {
			t.Errorf("%q read as %v", s, got)
		}
	}
}

func FuzzParseFloat(f *testing.F) {
	for _, s := range []string{"0", "-12.5", "1e300", "nan", "123456789.123456789", "0.1e-400", "1_0", "0x1p3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := parseFloat([]byte(s))
		want, err := strconv.ParseFloat(s, 64)
		if ok && (err != nil && !errors.Is(err, strconv.ErrRange) || math.Float64bits(got) != math.Float64bits(want)) {
			t.Errorf("%q: %v, strconv %v %v", s, got, want, err)
		}
		if !ok && err == nil && !strings.ContainsAny(s, "_xX") {
			t.Errorf("%q refused, strconv reads %v", s, want)
		}
		if v, ok := parseInt([]byte(s)); ok && strconv.FormatInt(v, 10) != s {
			t.Errorf("%q read as whole number %d", s, v)
		}
	})
}

func TestParseTime(t *testing.T) {
	at := func(s string) float64 {
		v, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return float64(v.Unix()) + float64(v.Nanosecond())/1e9
	}
	for in, want := range map[string]string{
		"2024-05-01T12:00:00Z": "2024-05-01T12:00:00Z", "2024-05-01t12:00:00.25z": "2024-05-01T12:00:00.25Z", "2024-05-01 12:00:00": "2024-05-01T12:00:00Z",
		"2024-05-01T12:00": "2024-05-01T12:00:00Z", "2024-05-01": "2024-05-01T00:00:00Z", "2024-05-01T12:00:00+02:00": "2024-05-01T10:00:00Z",
		"2024-05-01T12:00:00-0530": "2024-05-01T17:30:00Z", "2024-05-01 12:00:00 UTC": "2024-05-01T12:00:00Z", "2024-05-01 12:00:00 +01": "2024-05-01T11:00:00Z",
		"1969-12-31T23:59:59.5Z": "1969-12-31T23:59:59.5Z", "2024-02-29": "2024-02-29T00:00:00Z", "1999-12-31T23:59:60Z": "2000-01-01T00:00:00Z", "2024-05-01T12:00:00,5Z": "2024-05-01T12:00:00.5Z",
		"2024-09-26T19:47:53.789921Z": "2024-09-26T19:47:53.789921Z", "2024-09-26T19:47:53.999999Z": "2024-09-26T19:47:53.999999Z", "1969-12-31T23:59:59.9Z": "1969-12-31T23:59:59.9Z",
	} {
		got, format, err := ParseTime(in)
		if err != nil || format != TimeDate || got != at(want) {
			t.Errorf("%s: %v %v, want %v", in, got, err, at(want))
		}
		if back := FormatTime(got, format); back != want {
			t.Errorf("%s is written %s, want %s", in, back, want)
		}
	}
	for _, in := range []string{"", "2024", "2024-13-01x", "2023-02-29", "2024-05-01T25:00:00Z", "2024-05-01T12:00:00 CET", "2024-05-01T12:00:00+2", "01.05.2024", "2024/05/01", "2024-05-01T", "nan", "inf", "2024-05-01T12:00:00.",
		"0000-01-01T00:00+01:00", "9999-12-31T23:59:60Z"} {
		if v, format, err := ParseTime(in); err == nil && !(in == "2024" && format == TimeNumber) {
			t.Errorf("%q read as %v", in, v)
		}
	}
	if got := FormatTime(1.25, TimeNumber); got != "1.25" {
		t.Error(got)
	}
	rapid.Check(t, func(t *rapid.T) {
		v := float64(rapid.Int64Range(firstYear, lastYear-1).Draw(t, "second")) + rapid.Float64Range(0, 0.99).Draw(t, "part")
		if got, _, err := ParseTime(FormatTime(v, TimeDate)); err != nil || got != v {
			t.Fatalf("%v is written %s and read as %v: %v", v, FormatTime(v, TimeDate), got, err)
		}
	})
}

// rowsOf imports text read in blocks of some bytes and returns its rows, or the problems.
func rowsOf(t *testing.T, text string, block int, o ImportOptions) (rows []string, err error) {
	t.Helper()
	in, err := newInput("fuzz", strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	in.block = block
	w, _ := createNative("")
	if o.MaxProblems == 0 {
		o.MaxProblems = 1000
	}
	im := newImporter(o, w)
	if err := im.file(t.Context(), "fuzz", in); err != nil {
		return nil, err
	}
	if err := im.finder.err(); err != nil {
		return nil, err
	}
	for _, b := range im.table.blocks {
		for i := range b.src {
			rows = append(rows, fmt.Sprintf("%s|%s|%v", im.sources.name(int(b.src[i])-1), im.targets.name(int(b.dst[i])-1), b.time[i]))
		}
	}
	return rows, nil
}

func TestBlocksDoNotMatter(t *testing.T) {
	text := "src,dst,time\n" + strings.Repeat("a,\"b\n\"\"c\",1\r\nd,e\"\"f,2\n\n\"x,y\",z,3\n", 50)
	want, err := rowsOf(t, text, blockSize, ImportOptions{})
	if err != nil || len(want) != 150 {
		t.Fatal(len(want), err)
	}
	for block := 1; block < 300; block += 7 {
		got, err := rowsOf(t, text, block, ImportOptions{})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("blocks of %d bytes: %v %s", block, err, diff)
		}
	}
}

// Whatever the text, blocks do not matter, and what the standard library reads as a table of three columns is read the same.
func FuzzImportCSV(f *testing.F) {
	for _, s := range []string{"src,dst,time\na,b,1\n", "u,v,t\n1,2,3\n4,5,6", "src,dst,time\n\"a\"\"b\",\"c\nd\",2024-05-01\n", "src,dst,time\r\na,b,x\r\n\r\n", "\xef\xbb\xbfsrc;dst;time\n1;2;3\n",
		"src,dst,time\na,\"b,1\n", "src\tdst\ttime\n\"\t\"\"\",b,1\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		one, err1 := rowsOf(t, s, blockSize, ImportOptions{})
		few, err2 := rowsOf(t, s, 7, ImportOptions{})
		if !reflect.DeepEqual(one, few) || fmt.Sprint(err1) != fmt.Sprint(err2) {
			t.Fatalf("in one block %q %v\nin many      %q %v", one, err1, few, err2)
		}
		checkInput(t, err1)
		r := csv.NewReader(strings.NewReader(s))
		table, err := r.ReadAll()
		if err != nil || err1 != nil || len(table) < 2 || !reflect.DeepEqual(table[0], []string{"src", "dst", "time"}) {
			return
		}
		for i, row := range table[1:] {
			v, _, _ := parseTime(bytes.TrimSpace([]byte(row[2])))
			want := fmt.Sprintf("%s|%s|%v", strings.TrimSpace(row[0]), strings.TrimSpace(row[1]), v)
			if i >= len(one) || strings.ReplaceAll(one[i], "\r\n", "\n") != want {
				t.Fatalf("row %d: %q, want %q", i, one, want)
			}
		}
	})
}

// checkInput requires that an error about input is an InputError.
func checkInput(t *testing.T, err error) {
	t.Helper()
	var in *InputError
	if err != nil && !errors.As(err, &in) {
		t.Fatalf("%T: %v", err, err)
	}
}

func FuzzImportJSONL(f *testing.F) {
	for _, s := range []string{`{"src":"a","dst":"b","ts":1}`, `{"u":1,"v":2,"t":"2024-05-01","f":[1,2]}` + "\n" + `{"u":1,"v":2,"t":"2024-05-02","f":[3,4]}`, "{}", `{"src":{"x":"}"},"dst":[],"ts":null}`, `{"src":"\u0000\"","dst":"\\","ts":1e5}`, "{\"src\":1", "{\"\x80\":0}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		o := ImportOptions{Format: FormatJSONL, EdgeFeatures: nil}
		one, err1 := rowsOf(t, s, blockSize, o)
		few, err2 := rowsOf(t, s, 7, o)
		if !reflect.DeepEqual(one, few) || fmt.Sprint(err1) != fmt.Sprint(err2) {
			t.Fatalf("in one block %q %v\nin many      %q %v", one, err1, few, err2)
		}
		checkInput(t, err1)
		_, err := rowsOf(t, s, blockSize, ImportOptions{Format: FormatJSONL, EdgeFeatures: []string{"f"}})
		checkInput(t, err)
		var want map[string]json.RawMessage
		got := map[string]string{}
		if members([]byte(s), func(name string, v []byte) { got[name] = string(v) }) && utf8.ValidString(s) { // the standard library replaces what is not
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

func FuzzLayoutCSV(f *testing.F) {
	f.Add(goodCSV)
	f.Add(",u,i,ts,label,idx\n0,0,3,nan,0,1\n1,2,3,1.0,0,1\n")
	f.Add("idx,label,ts,i,u\n\"1\",0,0,1,1\r\n")
	f.Fuzz(func(t *testing.T, s string) {
		read := func(block int) (*table, error) {
			in, err := newInput("fuzz", strings.NewReader(s))
			if err != nil {
				return &table{}, err
			}
			in.block = block
			tab := &table{path: "fuzz", finder: &finder{most: 100}}
			if err := tab.readFrom(t.Context(), in); err != nil {
				return tab, err
			}
			return tab, tab.finder.err()
		}
		one, err1 := read(blockSize)
		few, err2 := read(5)
		checkInput(t, err1)
		if fmt.Sprint(err1) != fmt.Sprint(err2) || !reflect.DeepEqual(one.src, few.src) || !reflect.DeepEqual(one.time, few.time) || !reflect.DeepEqual(one.edge, few.edge) {
			t.Fatalf("blocks matter: %v\n%v", err1, err2)
		}
	})
}

func FuzzJODIE(f *testing.F) {
	f.Add("head\n0,0,0,0,1\n1,1,2.5,1,0\n", true)
	f.Add("\n5,0,0,0,1,2,3\n", false)
	f.Fuzz(func(t *testing.T, s string, bipartite bool) {
		in, err := newInput("fuzz", strings.NewReader(s))
		if err == nil {
			var set *Set
			if set, err = readJODIE(t.Context(), in, JODIEOptions{Bipartite: bipartite}); err == nil {
				Stats(set)
			}
		}
		checkInput(t, err)
	})
}

func FuzzNPY(f *testing.F) {
	f.Add([]byte(npyOf(shape(3, 2), 0, 0, 1, 2, 3, 4)))
	f.Add([]byte(npyOf(shape(1<<31, 1<<20), 0, 1)))
	f.Add([]byte(npyMagic + "\x02\x00\x10\x00\x00\x00{'descr': '<f4'"))
	f.Add([]byte(gzipped(npyOf(shape(2, 1), 0, 1))))
	f.Fuzz(func(t *testing.T, b []byte) {
		in, err := newInput("fuzz", bytes.NewReader(b))
		if err == nil {
			in.size = int64(len(b))
			var m Features
			if m, err = in.features(); err == nil && m.Data != nil && len(m.Data) != m.Rows*m.Cols {
				t.Fatalf("%d values for shape (%d, %d)", len(m.Data), m.Rows, m.Cols)
			}
		}
		checkInput(t, err)
	})
}

func TestNames(t *testing.T) {
	var none *Names
	if id, ok := none.Source("17"); none.Name(17) != "17" || id != 17 || !ok || none.Len() != 0 {
		t.Error("nil names")
	}
	for _, bad := range []string{"0", "x", "-1", "99999999999"} {
		if _, ok := none.Target(bad); ok {
			t.Errorf("%s is a node", bad)
		}
	}
	if _, err := NewNames([]string{"a", "b", "a"}, 0); err == nil || err.Error() != `names: nodes 1 and 3 are both called "a"` {
		t.Error(err)
	}
	if _, err := NewNames([]string{"a"}, 2); err == nil {
		t.Error("more sources than nodes")
	}
	n, err := NewNames([]string{"", "a", "", "b"}, 2)
	if err != nil {
		t.Fatal(err)
	}
	u, _ := n.Source("")
	v, _ := n.Target("")
	if _, ok := n.Source("b"); u != 1 || v != 3 || ok || n.Name(4) != "b" || n.Name(9) != "9" {
		t.Error(u, v, ok)
	}
}
