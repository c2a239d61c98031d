package dataset

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/dataset/internal/layout"
	"github.com/dygmamba/dygmamba/dataset/internal/synth"
)

// archive is a zip of a tiny data set.
func archive(t *testing.T, name string, text string) []byte {
	t.Helper()
	dir := t.TempDir()
	s, err := synth.Periodic(synth.PeriodicOptions{Sources: 2, Targets: 2, Events: 50})
	if err != nil {
		t.Fatal(err)
	}
	s.Name = name
	if err := layout.Save(dir, s); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, suffix := range []string{".csv", ".npy", "_node.npy"} {
		w, _ := z.CreateHeader(&zip.FileHeader{Name: name + "/ml_" + name + suffix, Method: zip.Store})
		body, err := os.ReadFile(filepath.Join(dir, "ml_"+name+suffix))
		if err != nil {
			t.Fatal(err)
		}
		w.Write(body)
		if suffix == ".csv" {
			w.Write([]byte(text))
		}
	}
	z.Close()
	return b.Bytes()
}

// server serves one archive; it hangs up after some bytes as often as told.
type server struct {
	body   []byte
	tag    string
	hangUp int // how often still
	ranges []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.ranges = append(s.ranges, r.Header.Get("Range"))
	if !strings.HasSuffix(r.URL.Path, "/reddit.zip") {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", s.tag)
	if s.hangUp > 0 {
		s.hangUp--
		from := 0
		if v, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes="); ok && r.Header.Get("If-Range") == s.tag {
			from, _ = strconv.Atoi(strings.TrimSuffix(v, "-"))
			w.Header().Set("Content-Range", "bytes "+strconv.Itoa(from)+"-")
			w.Header().Set("Content-Length", strconv.Itoa(len(s.body)-from))
			w.WriteHeader(http.StatusPartialContent)
		} else {
			w.Header().Set("Content-Length", strconv.Itoa(len(s.body)))
		}
		w.Write(s.body[from : from+1000])
		return // with less than promised
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.body))
}

func fetchFrom(t *testing.T, s *server) FetchOptions {
	t.Helper()
	was := pauses
	pauses = []time.Duration{time.Millisecond}
	srv := httptest.NewServer(s)
	t.Cleanup(func() { srv.Close(); pauses = was })
	return FetchOptions{Dir: t.TempDir(), BaseURL: srv.URL + "/files/"}
}

// reddit reads the data set that was fetched into a data directory.
func reddit(t *testing.T, dir string) (*data.Set, error) {
	t.Helper()
	l, ok := layout.Find(filepath.Join(dir, "reddit"), "reddit")
	if !ok {
		t.Fatal("no reddit in", dir)
	}
	return l.Read(t.Context())
}

func TestFetch(t *testing.T) {
	s := &server{body: archive(t, "reddit", ""), tag: `"v1"`, hangUp: 2}
	o := fetchFrom(t, s)
	var seen FetchProgress
	o.Progress = func(p FetchProgress) { seen = p }
	r, err := Fetch(t.Context(), "reddit", o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"", "bytes=1000-", "bytes=2000-"}, s.ranges); diff != "" {
		t.Error("requests (-want +got)", diff)
	}
	if len(r.Files) != 3 || r.Here || seen.Done == 0 {
		t.Errorf("%+v, progress %+v", r, seen)
	}
	set, err := reddit(t, o.Dir)
	if err != nil || set.Log.Len() < 40 {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(r.Dir, "*.part*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	if r, err = Fetch(t.Context(), "reddit", o); err != nil || !r.Here {
		t.Errorf("again: %+v %v", r, err)
	}
	// The checksums of the first download hold for later ones.
	s.body, s.tag = archive(t, "reddit", "9999,1,3,99999.0,0.0,9999\n"), `"v2"`
	o.Again = true
	_, err = Fetch(t.Context(), "reddit", o)
	if err == nil || !strings.Contains(err.Error(), "ml_reddit.csv: found SHA-256") {
		t.Errorf("changed file: %v", err)
	}
	if _, err = reddit(t, o.Dir); err != nil {
		t.Errorf("the good files are gone: %v", err)
	}
}

// An earlier process left part of the file; the next continues it, unless the server has another version by then.
func TestFetchResumes(t *testing.T) {
	for _, tag := range []string{`"v1"`, `"v2"`} {
		s := &server{body: archive(t, "reddit", ""), tag: tag}
		o := fetchFrom(t, s)
		dir := filepath.Join(o.Dir, "reddit")
		os.MkdirAll(dir, 0o755)
		os.WriteFile(filepath.Join(dir, "reddit.zip.part"), s.body[:1500], 0o644)
		os.WriteFile(filepath.Join(dir, "reddit.zip.part.tag"), []byte(`"v1"`), 0o644)
		r, err := Fetch(t.Context(), "reddit", o)
		if err != nil {
			t.Fatal(err)
		}
		want := int64(1500)
		if tag != `"v1"` {
			want = 0
		}
		if r.Resumed != want || len(s.ranges) != 1 || s.ranges[0] != "bytes=1500-" {
			t.Errorf("version %s: resumed from %d, asked for %q", tag, r.Resumed, s.ranges)
		}
	}
}

func TestFetchFails(t *testing.T) {
	good := archive(t, "reddit", "")
	bad := bytes.Clone(good)
	bad[len(bad)/2] ^= 1
	s := &server{body: bad, tag: `"v1"`}
	o := fetchFrom(t, s)
	_, err := Fetch(t.Context(), "reddit", o)
	var in *input.Error
	if !errors.As(err, &in) ||
		!strings.Contains(err.Error(), "found damaged zip data (zip: checksum error); want an undamaged archive") {
		t.Errorf("damaged: %v", err)
	}
	left, _ := os.ReadDir(filepath.Join(o.Dir, "reddit"))
	if len(left) != 0 {
		t.Errorf("damaged archive left %v", left)
	}
	s.body = []byte("<html>not found</html>")
	_, err = Fetch(t.Context(), "reddit", o)
	if !errors.As(err, &in) || !strings.Contains(err.Error(), "found no readable zip archive") {
		t.Errorf("a web page: %v", err)
	}
	_, err = Fetch(t.Context(), "lastfm", o)
	if err == nil || !strings.Contains(err.Error(), "lastfm.zip: the server does not have it (404 Not Found)") {
		t.Errorf("missing: %v", err)
	}
	_, err = Fetch(t.Context(), "redit", o)
	if !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "did you mean reddit?") {
		t.Errorf("unknown: %v", err)
	}
	if _, err = Fetch(t.Context(), "s1", o); err == nil {
		t.Error("s1 fetched")
	}
	if _, err = Fetch(t.Context(), "myket", o); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	o.BaseURL = "http://127.0.0.1:1" // nobody listens
	_, err = Fetch(t.Context(), "reddit", o)
	if err == nil || !strings.Contains(err.Error(), "cannot reach 127.0.0.1:1, this machine seems to be offline") {
		t.Errorf("offline: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = Fetch(ctx, "reddit", o); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// The checksums in the source are those of the files people have.
func TestPinned(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "data")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("needs the public data sets in ../shared/data beside the repository")
	}
	n := 0
	for name, want := range pinned {
		set := strings.SplitN(strings.TrimSuffix(strings.TrimPrefix(name, "ml_"), ".csv"), "_", 2)[0]
		set = strings.TrimSuffix(set, ".npy")
		in, err := input.Open(filepath.Join(dir, set, name+".gz"))
		if err != nil {
			t.Fatal(err)
		}
		if got := sha256Of(t, in); got != want {
			t.Errorf("%s: %s, pinned %s", name, got, want)
		}
		in.Close()
		n++
	}
	if n != 15 {
		t.Errorf("%d files", n)
	}
}

func sha256Of(t *testing.T, r io.Reader) string {
	t.Helper()
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// A directory of this machine will do, if it has the archive; otherwise it is said what it has.
func TestFetchFromDirectory(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(from, "reddit.zip"), archive(t, "reddit", ""), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{from, "file://" + filepath.ToSlash(from)} {
		r, err := Fetch(t.Context(), "reddit", FetchOptions{Dir: to, BaseURL: place, Again: true})
		if err != nil || len(r.Files) != 3 {
			t.Fatalf("%s: %+v, %v", place, r, err)
		}
	}
	if _, err := os.Stat(filepath.Join(from, "reddit.zip")); err != nil {
		t.Errorf("the archive is gone: %v", err)
	}
	for place, want := range map[string]string{
		t.TempDir(): "found no reddit.zip; want a directory with it, or an address such as https://",
		to:          "but its unpacked files in " + filepath.Join(to, "reddit"),
		filepath.Join(to, "reddit"): "these can be used as they are: dataset.Open opens " +
			filepath.Join(to, "reddit"),
		filepath.Join(to, "nowhere"): "found no reddit.zip",
	} {
		other := t.TempDir()
		var bad *input.Error
		if _, err := Fetch(t.Context(), "reddit", FetchOptions{Dir: other, BaseURL: place}); !errors.As(err, &bad) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", place, err, want)
		}
		if left, _ := os.ReadDir(other); len(left) > 0 {
			t.Errorf("%s: left %v", place, left)
		}
	}
}
