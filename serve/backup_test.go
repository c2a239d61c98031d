package serve

import (
	"bytes"
	"encoding/csv"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eventlog/embedded"
)

// stored starts a server on a store. Close closes both.
func (w *world) stored(t *testing.T, dir string, change func(*Options)) (s *Server, close func(), err error) {
	t.Helper()
	log, err := embedded.Open(dir, embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err = w.open(func(o *Options) {
		o.Log, o.Durable, o.Snapshots.File = log, true, filepath.Join(dir, snapshotFile)
		if change != nil {
			change(o)
		}
	})
	return s, func() {
		if s != nil {
			s.Close()
		}
		log.Close()
	}, err
}

// A store that was restored from a backup of a running server gives the same answers; its events can be exported.
func TestBackup(t *testing.T) {
	w := newWorld(t, dygmamba.DefaultModel)
	half, dir := w.early.Log.Len(), t.TempDir()
	s, closed, err := w.stored(t, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closed()
	ask[receiptDoc](t, s, "POST", "/v1/events", w.body(half, half+20))
	ask[map[string]any](t, s, "POST", "/v1/admin/snapshot", ``)
	ask[receiptDoc](t, s, "POST", "/v1/events", w.body(half+20, half+30))
	want := answersOf(t, s, 0)
	file := call(s.Handler(), "GET", "/v1/admin/backup", "")
	if file.Code != 200 || file.Header().Get("Content-Type") != "application/x-tar" {
		t.Fatalf("%d %s", file.Code, file.Body)
	}
	ask[receiptDoc](t, s, "POST", "/v1/events", w.body(half+30, half+35)) // not in the backup
	again := filepath.Join(t.TempDir(), "again")
	if err := RestoreBackup(t.Context(), bytes.NewReader(file.Body.Bytes()), again, embedded.File); err != nil {
		t.Fatal(err)
	}
	if err := RestoreBackup(t.Context(), bytes.NewReader(file.Body.Bytes()), again, embedded.File); err == nil {
		t.Error("it overwrites a store")
	}
	for _, cut := range []int{0, 100, file.Body.Len() / 2} {
		part := file.Body.Bytes()[:cut]
		if RestoreBackup(t.Context(), bytes.NewReader(part), again+"2", embedded.File) == nil {
			t.Errorf("%d bytes of a backup are enough", cut)
		}
		if _, err := os.Stat(again + "2"); err == nil {
			t.Error("half a store is left")
		}
	}
	r, closedAgain, err := w.stored(t, again, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := answersOf(t, r, 0)
	for question := range want {
		if !equal(got[question], want[question]) {
			t.Errorf("answers to %s differ", question)
		}
	}
	var table bytes.Buffer
	done, err := Export(t.Context(), r.options.Log, &table, dataset.FormatCSV)
	if err != nil || done.Events != 30 || done.Last != 30 || done.First != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	closedAgain()
	rows, err := csv.NewReader(&table).ReadAll()
	if err != nil || len(rows) != 31 || strings.Join(rows[0][:5], " ") != "sequence src dst time label" {
		t.Fatal(rows, err)
	}
	for i, row := range rows[1:] {
		e := w.event(half + i)
		if row[0] != strconv.Itoa(i+1) || row[1] != e.Src || row[2] != e.Dst ||
			row[3] != strconv.FormatFloat(e.Time, 'f', -1, 64) || len(row) != 5+len(e.Features) {
			t.Errorf("row %d: %v, want %v", i, row, e)
		}
	}
}

// A store refuses another data set than its own, above all one that has its events already.
func TestStoreKnowsItsBase(t *testing.T) {
	w := newWorld(t, dygmamba.DefaultModel)
	half, dir := w.early.Log.Len(), t.TempDir()
	s, closed, err := w.stored(t, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	ask[receiptDoc](t, s, "POST", "/v1/events", w.body(half, half+30))
	closed()
	_, closed, err = w.stored(t, dir, func(o *Options) { o.Set = w.whole })
	closed()
	if err == nil || !strings.Contains(err.Error(), "counted twice") || strings.Contains(err.Error(), "without it") {
		t.Error("a base that has its events, beside a snapshot:", err)
	}
	os.Remove(filepath.Join(dir, snapshotFile)) // it would have said so too
	for _, known := range []bool{true, false} { // the second is a store of an older version
		_, closed, err := w.stored(t, dir, func(o *Options) { o.Set = w.whole })
		closed()
		if err == nil || !strings.Contains(err.Error(), "counted twice") {
			t.Errorf("a base that has its events, known %v: %v", known, err)
		}
		os.Remove(filepath.Join(dir, baseFile))
	}
	s, closed, err = w.stored(t, dir, nil)
	if err != nil || s.engine.now().Len() != half+30 {
		t.Error("its own base:", err)
	}
	closed()
}

// A damaged snapshot is set aside with a loud message, and the log is read instead.
func TestDamagedSnapshotFallsBack(t *testing.T) {
	w := newWorld(t, "tgn", "strict")
	half, dir := w.early.Log.Len(), t.TempDir()
	s, closed, err := w.stored(t, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	ask[receiptDoc](t, s, "POST", "/v1/events", w.body(half, half+30))
	want := answersOf(t, s, 0)["rank 1"]
	closed()
	damage(t, filepath.Join(dir, snapshotFile))
	var lines bytes.Buffer
	s, closed, err = w.stored(t, dir, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&lines, nil)) })
	if err != nil {
		t.Fatal(err)
	}
	defer closed()
	if got := answersOf(t, s, 0)["rank 1"]; !equal(got, want) {
		t.Errorf("%v, before %v", got, want)
	}
	if text := lines.String(); !strings.Contains(text, "DAMAGED") || !strings.Contains(text, "level=ERROR") {
		t.Errorf("no loud message: %s", text)
	}
	if _, err := os.Stat(filepath.Join(dir, snapshotFile+".damaged")); err != nil {
		t.Error(err)
	}
}
