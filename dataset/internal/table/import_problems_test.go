package table

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/dataset/internal/input/inputtest"
)

func TestImportProblems(t *testing.T) {
	for _, c := range []struct {
		name, file, text string
		o                Options
		want             []string
	}{
		{"bad rows of all kinds", "a.csv", "src,dst,time,label,w\na,b,1,0,1\na,,2,0,1\na,b,soon,0,1\na,b,nan,0,1\n" +
			"a,b,3,yes,1\na,b,4,0,inf\na,b,5,0\na,b,2024-05-01,0,1\n,b,x,0,1\n",
			Options{EdgeFeatures: []string{"w"}}, []string{
				`a.csv: line 3 (row 2), column dst: found ""; want a node's name`,
				`a.csv: line 4 (row 3), column time: found "soon"; ` +
					`want a finite number or a date such as 2024-05-01T12:00:00Z`,
				`a.csv: line 5 (row 4), column time: found "nan"; ` +
					`want a finite number or a date such as 2024-05-01T12:00:00Z`,
				`a.csv: line 6 (row 5), column label: found "yes"; want a number, as in the rows before, ` +
					`or nothing where there is no label`,
				`a.csv: line 7 (row 6), column w: found "inf"; want a finite number that fits into 32 bits`,
				`a.csv: line 8 (row 7): found 4 columns; want 5, as in the first line`,
				`a.csv: line 9 (row 8): found a date as time; want a number, as in the rows before`,
				`a.csv: line 10 (row 9), column src: found ""; want a node's name`,
				`a.csv: line 10 (row 9), column time: found "x"; ` +
					`want a finite number or a date such as 2024-05-01T12:00:00Z`}},
		{"many of one kind", "a.csv", "src,dst,time\n" + strings.Repeat("a,b,?\n", 5),
			Options{MaxProblems: 2}, []string{
				`a.csv: line 2 (row 1), column time: found "?"; ` +
					`want a finite number or a date such as 2024-05-01T12:00:00Z`,
				`a.csv: line 3 (row 2), column time: found "?"; ` +
					`want a finite number or a date such as 2024-05-01T12:00:00Z`,
				`and 3 more`}},
		{"dates in another form", "a.csv", "src;dst;time\na;b;24.12.2024\na;b;12/24/2024 8:00\na;b;1,5\n", Options{},
			[]string{
				`a.csv: line 2 (row 1), column time: found "24.12.2024"; want a finite number or a date such as ` +
					`2024-05-01T12:00:00Z; the option TimeLayout reads dates in other forms`,
				`a.csv: line 3 (row 2), column time: found "12/24/2024 8:00"; want a finite number or a date such as ` +
					`2024-05-01T12:00:00Z; the option TimeLayout reads dates in other forms`,
				`a.csv: line 4 (row 3), column time: found "1,5"; want a finite number or a date such as ` +
					`2024-05-01T12:00:00Z, with a decimal point`}},
		{"quotes", "a.csv", "src,dst,time\na,\"b,1\nc,d,2\n", Options{}, []string{
			`a.csv: line 2 (row 1): found a quoted field that is never closed; want quotes around whole fields, ` +
				`and doubled within them`}},
		{"a first field in quotes that never end", "a.csv", "src,dst,time\na,b,1\n\"c,d,2\ne,f,3\n",
			Options{}, []string{
				`a.csv: line 3 (row 2): found a quoted field that is never closed; want quotes around whole fields, ` +
					`and doubled within them`}},
		{"text behind quotes", "a.csv", "src,dst,time\na,\"b\"x,1\nc,d,2\n", Options{}, []string{
			`a.csv: line 2 (row 1): found text after a closing quote; want quotes around whole fields, ` +
				`and doubled within them`}},
		{"a header in quotes that never end", "a.csv", "src,dst,time,\"note\na,b,1\n", Options{}, []string{
			`a.csv: line 1: found a quoted field that is never closed; want quotes around whole fields, ` +
				`and doubled within them`}},
		{"text behind quotes in the header", "a.csv", "\"src\"x,dst,time\na,b,1\n", Options{}, []string{
			`a.csv: line 1: found text after a closing quote; want quotes around whole fields, ` +
				`and doubled within them`}},
		{"a bad row below a header of two lines", "a.csv", "src,dst,time,\"a\nb\"\na,b,?,\n", Options{}, []string{
			`a.csv: line 3 (row 1), column time: found "?"; ` +
				`want a finite number or a date such as 2024-05-01T12:00:00Z`}},
		{"times whose difference is no number", "a.csv", "src,dst,time\na,b,-1e308\na,b,1e308\n",
			Options{MaxProblems: -1}, []string{
				`a.csv: line 2 (row 1), column time: found "-1e308"; want a time between -1e+38 and 1e+38`,
				`a.csv: line 3 (row 2), column time: found "1e308"; want a time between -1e+38 and 1e+38`}},
		{"no time", "a.csv", "src,dst,weight\na,b,1\n", Options{}, []string{
			`a.csv: found the columns src, dst, weight; want one for the time, called for example ts or t, ` +
				`or named by the option Time`}},
		{"no such column", "a.csv", "src,dst,time\na,b,1\n", Options{Source: "who"}, []string{
			`a.csv: found no column who; want one of its columns: src, dst, time`}},
		{"a column twice", "a.csv", "src,dst,time,src\na,b,1,c\n", Options{}, []string{
			`a.csv: line 1: found column src twice; want every column name once`}},
		{"one column for two things", "a.csv", "src,dst,time\na,b,1\n", Options{Target: "src"}, []string{
			`a.csv: found source src, destination src and time time; want three different columns`}},
		{"empty", "a.csv", "", Options{}, []string{
			`a.csv: found no column names in the first line; want a table as CSV, JSONL or Parquet`}},
		{"only a header", "a.csv", "src,dst,time\n", Options{}, []string{
			`a.csv: found no events; want at least one row`}},
		{"a pickle", "a.csv", "\x80\x04\x95junk", Options{}, []string{
			`a.csv: found a Python pickle; want a table as CSV, JSONL or Parquet`}},
		{"UTF-16", "a.csv", "\xff\xfes\x00r\x00c\x00", Options{}, []string{
			`a.csv: found UTF-16 text ('iconv -f UTF-16 -t UTF-8' converts it); ` +
				`want a table as CSV, JSONL or Parquet`}},
		{"truncated gzip", "a.csv.gz", inputtest.Gzip("src,dst,time\n" + strings.Repeat("a,b,1\n", 1000))[:40],
			Options{}, []string{
				`a.csv.gz: found a gzip file cut off after 9 unpacked bytes; want the whole file`}},
		{"a line without end", "a.csv", "src,dst,time\na,b,1\n" + strings.Repeat("x", input.MaxLine+10),
			Options{}, []string{
				`a.csv: line 3: found a line of more than 1048576 bytes; want lines of at most 1048576 bytes, ` +
					`and quotes that are closed again`}},
		{"JSON", "a.jsonl", `{"src":"a","dst":"b","ts":1,"f":[1]}` + "\n{\n" +
			`{"src":null,"ts":[1],"dst":true,"f":["x",{}]}` + "\n" + `{"src":"a","dst":"b","ts":2,"f":[1,2]}` + "\n",
			Options{EdgeFeatures: []string{"f"}}, []string{
				`a.jsonl: line 2 (row 2): found "{"; want one JSON object a line, such as {"src":"a","dst":"b","ts":1}`,
				`a.jsonl: line 3 (row 3), column src: found "null"; want a node's name, as a string or a number`,
				`a.jsonl: line 3 (row 3), column dst: found "true"; want a node's name, as a string or a number`,
				`a.jsonl: line 3 (row 3), column ts: found "[1]"; ` +
					`want a finite number or a date such as 2024-05-01T12:00:00Z`,
				`a.jsonl: line 3 (row 3), column f[0]: found "\"x\""; want a finite number that fits into 32 bits`,
				`a.jsonl: line 3 (row 3), column f[1]: found "{}"; want a finite number that fits into 32 bits`,
				`a.jsonl: line 4 (row 4): found 2 features; want 1, as in the rows before`}},
		{"JSON labels", "a.jsonl", `{"src":"a","dst":"b","ts":1,"label":null}` + "\n" +
			`{"src":"a","dst":"b","ts":1,"label":[1]}` + "\n", Options{}, []string{
			`a.jsonl: line 2 (row 2), column label: found "[1]"; want ` + wantLabel}},
		{"JSON labels that do not start in the first row", "a.jsonl", `{"src":"a","dst":"b","ts":1}` + "\n" +
			`{"src":"a","dst":"b","ts":2,"label":1,"extra":2}` + "\n", Options{}, []string{
			`a.jsonl: line 2 (row 2), column label: found "1"; want members that the first row has too, ` +
				`as they are looked for there`}},
		{"a label column with another meaning", "a.csv", "src,dst,time,label\na,b,1,1\n",
			Options{Label: "time"}, []string{
				`a.csv, column time: found the source, destination or time; want a column of its own for the label`}},
		{"JSON names that are not Unicode", "a.jsonl", `{"src":"\ud800","dst":"\ud801","ts":1}` + "\n",
			Options{}, []string{
				`a.jsonl: line 1 (row 1), column src: found "\"\\ud800\""; ` +
					`want a node's name in Unicode, without halves of surrogate pairs`,
				`a.jsonl: line 1 (row 1), column dst: found "\"\\ud801\""; ` +
					`want a node's name in Unicode, without halves of surrogate pairs`}},
		{"line ends of old", "a.csv", "src,dst,time\ra,b,1\r", Options{}, []string{
			`a.csv: found lines that end in \r alone; want \n or \r\n: "tr '\r' '\n'" makes one of the other`}},
		{"many of them", "a.csv", "src,dst,time\r" + strings.Repeat("a,b,1\r", 300000), Options{}, []string{
			`a.csv: found lines that end in \r alone; want \n or \r\n: "tr '\r' '\n'" makes one of the other`}},
		{"Latin letters", "a.csv", "src,dst,time\nJos\xe9,b,1\nJosé,b,2\na,\xff,3\n", Options{}, []string{
			`a.csv: line 2 (row 1), column src: found "Jos\xe9"; want ` + wantUTF8,
			`a.csv: line 4 (row 3), column dst: found "\xff"; want ` + wantUTF8}},
		{"a list", "a.json", "[\n" + `{"src":"a","dst":"b","ts":1}` + "]\n", Options{}, []string{
			`a.json: found a JSON list; want one JSON object a line: jq -c '.[]' a.json makes them of a list`}},
		{"a long list", "a.json", "[" + strings.Repeat(`{"src":"a","dst":"b","ts":1},`, 40000) +
			`{"src":"a","dst":"b","ts":1}]`, Options{}, []string{
			`a.json: found a JSON list; want one JSON object a line: jq -c '.[]' a.json makes them of a list`}},
		{"broken Parquet", "a.parquet", "PAR1 this is not one PAR1", Options{}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := inputtest.Write(t, map[string]string{c.file: c.text})
			_, err := Import(t.Context(), []string{filepath.Join(dir, c.file)}, filepath.Join(dir, "out.dgm"), c.o)
			if err == nil {
				t.Fatal("accepted")
			}
			if c.want != nil {
				inputtest.CheckProblems(t, dir, err, c.want)
			} else if !strings.Contains(err.Error(), "found damaged Parquet data") {
				t.Error(err)
			}
			if left, _ := os.ReadDir(dir); len(left) != 1 {
				t.Errorf("files left: %v", left)
			}
		})
	}
}
