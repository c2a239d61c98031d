package layout

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/dataset/internal/input/inputtest"
)

func FuzzLayoutCSV(f *testing.F) {
	f.Add(goodCSV)
	f.Add(",u,i,ts,label,idx\n0,0,3,nan,0,1\n1,2,3,1.0,0,1\n")
	f.Add("idx,label,ts,i,u\n\"1\",0,0,1,1\r\n")
	f.Fuzz(func(t *testing.T, s string) {
		read := func(block int) (*table, error) {
			in, err := input.New("fuzz", strings.NewReader(s))
			if err != nil {
				return &table{}, err
			}
			in.Block = block
			tab := newTable("fuzz", &input.Finder{Most: 100})
			if err := tab.readFrom(t.Context(), in); err != nil {
				return tab, err
			}
			return tab, tab.finder.Err()
		}
		one, err1 := read(input.BlockSize)
		few, err2 := read(5)
		inputtest.CheckError(t, err1)
		if fmt.Sprint(err1) != fmt.Sprint(err2) || !reflect.DeepEqual(one.Src, few.Src) ||
			!reflect.DeepEqual(one.Time, few.Time) || !reflect.DeepEqual(one.Edge, few.Edge) {
			t.Fatalf("blocks matter: %v\n%v", err1, err2)
		}
	})
}

func FuzzJODIE(f *testing.F) {
	f.Add("head\n0,0,0,0,1\n1,1,2.5,1,0\n", true)
	f.Add("\n5,0,0,0,1,2,3\n", false)
	f.Fuzz(func(t *testing.T, s string, bipartite bool) {
		in, err := input.New("fuzz", strings.NewReader(s))
		if err == nil {
			var set *data.Set
			if set, err = readJODIE(t.Context(), in, JODIEOptions{Bipartite: bipartite}); err == nil {
				data.Stats(set)
			}
		}
		inputtest.CheckError(t, err)
	})
}

func FuzzNPY(f *testing.F) {
	f.Add([]byte(npyOf(shape(3, 2), 0, 0, 1, 2, 3, 4)))
	f.Add([]byte(npyOf(shape(1<<31, 1<<20), 0, 1)))
	f.Add([]byte(input.NpyMagic + "\x02\x00\x10\x00\x00\x00{'descr': '<f4'"))
	f.Add([]byte(inputtest.Gzip(npyOf(shape(2, 1), 0, 1))))
	f.Fuzz(func(t *testing.T, b []byte) {
		in, err := input.New("fuzz", bytes.NewReader(b))
		if err == nil {
			in.Size = int64(len(b))
			var m data.Features
			if m, err = matrixIn(in); err == nil && m.Data != nil && len(m.Data) != m.Rows*m.Cols {
				t.Fatalf("%d values for shape (%d, %d)", len(m.Data), m.Rows, m.Cols)
			}
		}
		inputtest.CheckError(t, err)
	})
}

// endless is one line of three billion bytes.
type endless struct{ read int64 }

func (e *endless) Read(p []byte) (int, error) {
	if e.read == 0 {
		e.read += int64(copy(p, ",u,i,ts,label,idx\n"))
		return int(e.read), nil
	}
	if e.read > 3e9 {
		return 0, io.EOF
	}
	for i := range p {
		p[i] = '7'
	}
	e.read += int64(len(p))
	return len(p), nil
}

// A line of 3 GB is refused after a few MB, in little memory.
func TestEndlessLine(t *testing.T) {
	src := &endless{}
	in, err := input.New("x.csv", src)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err = newTable("x.csv", &input.Finder{Most: 1}).readFrom(t.Context(), in)
	runtime.ReadMemStats(&after)
	if err == nil || !strings.HasPrefix(err.Error(), "x.csv: line 2: found a line of more than 1048576 bytes") {
		t.Error(err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 || src.read > 8<<20 {
		t.Errorf("allocated %d bytes, read %d", took, src.read)
	}
}
