package table

import (
	"io"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/dataset/internal/native"
)

// rowMaker is a CSV file of n rows made as it is read: src,dst,time with a hundred thousand users and ten thousand
// items. Times ascend, or jump about where shuffled.
type rowMaker struct {
	n, row   int
	shuffled bool
	words    bool
	state    uint64
	buf      []byte
}

func (m *rowMaker) Read(p []byte) (int, error) {
	for len(m.buf) < len(p) && m.row < m.n {
		if m.row == 0 {
			m.buf = append(m.buf, "src,dst,time\n"...)
		}
		m.state = m.state*6364136223846793005 + 1442695040888963407
		at := int64(m.row)
		if m.shuffled {
			at = int64(m.state>>16) % int64(m.n)
		}
		if m.words {
			m.buf = append(m.buf, "user-"...)
		}
		m.buf = strconv.AppendInt(m.buf, int64(m.state>>33)%100_000, 10)
		m.buf = append(m.buf, ',')
		m.buf = strconv.AppendInt(m.buf, 1_000_000+int64(m.state>>40)%10_000, 10)
		m.buf = append(m.buf, ',')
		m.buf = strconv.AppendInt(m.buf, 1_500_000_000+at/7, 10)
		m.buf = append(m.buf, '.', byte('0'+at%7), '\n')
		m.row++
	}
	n := copy(p, m.buf)
	m.buf = m.buf[:copy(m.buf, m.buf[n:])]
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// BenchmarkImportCSV imports ten million rows and reports rows a second and the most memory held at once.
func BenchmarkImportCSV(b *testing.B) {
	const rows = 10_000_000
	for _, c := range []struct {
		name            string
		shuffled, words bool
	}{{"sorted", false, false}, {"shuffled", true, false}, {"words", false, true}} {
		b.Run(c.name, func(b *testing.B) {
			var peak uint64
			for b.Loop() {
				out := filepath.Join(b.TempDir(), "out.dgm")
				w, err := native.Create(out)
				if err != nil {
					b.Fatal(err)
				}
				blocks := 0
				im := newImporter(Options{MaxProblems: 20, Progress: func(Progress) {
					if blocks++; blocks%100 == 0 {
						peak = max(peak, inUse())
					}
				}}, w)
				in, err := input.New("generated", &rowMaker{n: rows, shuffled: c.shuffled, words: c.words})
				if err != nil {
					b.Fatal(err)
				}
				if err := im.file(b.Context(), in); err != nil {
					b.Fatal(err)
				}
				if err := im.finish(b.Context(), []string{"generated"}); err != nil {
					b.Fatal(err)
				}
				r := im.report
				peak = max(peak, inUse())
				if r.Events != rows || r.Nodes != 110_000 || r.Sorted == c.shuffled {
					b.Fatalf("%+v", r)
				}
			}
			b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(float64(peak)/(1<<20), "MB")
		})
	}
}

// inUse is the memory the program has from the system.
func inUse() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys - m.HeapReleased
}

// Six million events take their table, their names, and no more than 64 MB beside.
func TestImportMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("imports six million rows")
	}
	const rows = 6_000_000
	w, err := native.Create(filepath.Join(t.TempDir(), "out.dgm"))
	if err != nil {
		t.Fatal(err)
	}
	in, err := input.New("generated", &rowMaker{n: rows})
	if err != nil {
		t.Fatal(err)
	}
	debug.FreeOSMemory()
	base, peak, blocks := inUse(), uint64(0), 0
	im := newImporter(Options{MaxProblems: 20, Progress: func(Progress) {
		if blocks++; blocks%50 == 0 {
			peak = max(peak, inUse())
		}
	}}, w)
	if err := im.file(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	err = im.finish(t.Context(), []string{"generated"})
	if r := im.report; err != nil || r.Events != rows || r.Nodes != 110_000 {
		t.Fatal(r, err)
	}
	peak = max(peak, inUse())
	const table, names = 16 * rows, 4 << 20
	if limit := uint64(table + names + 64<<20); peak-base > limit {
		t.Errorf("%d MB more than before, want at most %d", (peak-base)>>20, limit>>20)
	}
	t.Logf("%d MB for a table of %d MB", (peak-base)>>20, table>>20)
}

// BenchmarkOpenNative opens a native file of ten million events, all of it checked.
func BenchmarkOpenNative(b *testing.B) {
	const rows = 10_000_000
	out := filepath.Join(b.TempDir(), "out.dgm")
	w, err := native.Create(out)
	if err != nil {
		b.Fatal(err)
	}
	in, err := input.New("generated", &rowMaker{n: rows, shuffled: true})
	if err != nil {
		b.Fatal(err)
	}
	im := newImporter(Options{MaxProblems: 20}, w)
	if err := im.file(b.Context(), in); err != nil {
		b.Fatal(err)
	}
	if err := im.finish(b.Context(), []string{"generated"}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := native.Open(out)
		if err != nil || s.Log.Len() != rows {
			b.Fatal(err)
		}
		s.Close()
	}
	b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "events/s")
}
