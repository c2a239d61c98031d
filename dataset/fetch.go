package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/dataset/internal/layout"
	"github.com/dygmamba/dygmamba/internal/atomicfile"
	"github.com/dygmamba/dygmamba/internal/suggest"
)

// ArchiveURL is where the public data sets are, each as NAME.zip: the data of "Towards Better Evaluation for Dynamic
// Link Prediction" (Poursafaei, Huang, Pelrine and Rabbany, NeurIPS 2022).
const ArchiveURL = "https://zenodo.org/record/7213796/files"

// FetchOptions say from where and to where.
type FetchOptions struct {
	Dir      string              // the data directory; "": the user's cache
	BaseURL  string              // or a directory of this machine; "": ArchiveURL
	Client   *http.Client        // nil: the default one
	Progress func(FetchProgress) // called now and then
	Again    bool                // also when the data set is here already
}

// FetchProgress is how far a download or unpacking has come.
type FetchProgress struct {
	File        string
	Done, Total int64 // bytes; Total 0: unknown
}

// FetchReport is what was fetched.
type FetchReport struct {
	Name    string        `json:"name"`
	Dir     string        `json:"dir"`           // where the files are
	Here    bool          `json:"here_before"`   // nothing had to be fetched
	Resumed int64         `json:"resumed_bytes"` // that an earlier attempt had left
	Files   []FetchedFile `json:"files"`
}

// FetchedFile is one file of a data set.
type FetchedFile struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	Pinned bool   `json:"pinned"` // compared with a known checksum, not only recorded
}

// Fetch downloads a public data set and unpacks its ml_* files into <dir>/<name>. An interrupted download continues
// where it stopped when Fetch is called again. Files are compared with the checksums the program knows, or else with
// those recorded at the first download, and appear only when all are right.
func Fetch(ctx context.Context, name string, o FetchOptions) (*FetchReport, error) {
	if err := fetchable(name); err != nil {
		return nil, err
	}
	if o.Dir = cmp.Or(o.Dir, CacheDir()); o.Dir == "" {
		return nil, errors.New("the system has no cache directory: want the option Dir")
	}
	o.BaseURL, o.Client = cmp.Or(o.BaseURL, ArchiveURL), cmp.Or(o.Client, http.DefaultClient)
	if o.Progress == nil {
		o.Progress = func(FetchProgress) {}
	}
	r := &FetchReport{Name: name, Dir: filepath.Join(o.Dir, name), Files: []FetchedFile{}}
	if _, ok := layout.Find(r.Dir, name); ok && !o.Again {
		r.Here = true
		return r, nil
	}
	if dir, ok := directory(o.BaseURL); ok {
		return r, r.take(ctx, dir, o)
	}
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return nil, err
	}
	part := &download{url: strings.TrimSuffix(o.BaseURL, "/") + "/" + name + ".zip",
		path: filepath.Join(r.Dir, name+".zip.part"), options: o}
	if err := part.finish(ctx); err != nil {
		return nil, err
	}
	r.Resumed = part.resumed
	if err := r.unpack(ctx, part.path, o); err != nil {
		var bad *input.Error
		if errors.As(err, &bad) {
			part.remove() // so that the next attempt starts afresh
		}
		return nil, err
	}
	part.remove()
	return r, nil
}

// directory is the one that an address without a host means.
func directory(address string) (string, bool) {
	if path, ok := strings.CutPrefix(address, "file://"); ok {
		return filepath.FromSlash(path), true
	}
	return address, !strings.Contains(address, "://")
}

// take unpacks an archive that lies on this machine.
func (r *FetchReport) take(ctx context.Context, dir string, o FetchOptions) error {
	archive := filepath.Join(dir, r.Name+".zip")
	if !input.Exists(archive) {
		for _, place := range []string{filepath.Join(dir, r.Name), dir} {
			if _, ok := layout.Find(place, r.Name); ok {
				return input.FileError(dir, "no "+r.Name+".zip, but its unpacked files in "+place,
					"an archive to unpack; these can be used as they are: dataset.Open opens "+place)
			}
		}
		return input.FileError(dir, "no "+r.Name+".zip", "a directory with it, or an address such as "+ArchiveURL)
	}
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return err
	}
	return r.unpack(ctx, archive, o)
}

// CacheDir is where Fetch puts data sets unless told otherwise, "" if the system knows no such place.
func CacheDir() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "dygmamba", "data")
}

// fetchable says whether the archive has a data set.
func fetchable(name string) error {
	e, ok := Lookup(name)
	switch {
	case !ok:
		return fmt.Errorf("%w %q in the public archive%s",
			ErrUnknown, name, cmp.Or(suggest.Hint(name, CatalogNames()), "; data list shows what there is"))
	case e.Kind == Synthetic:
		return fmt.Errorf("data set %s is generated when it is asked for: there is nothing to fetch", name)
	case name == "myket":
		return fmt.Errorf("data set %s is not in the public archive: %w", name, fs.ErrNotExist)
	}
	return nil
}

// attempts and their pauses, for connections that break.
var pauses = []time.Duration{time.Second, 3 * time.Second, 10 * time.Second}

// finish downloads until the file is whole, continuing after broken connections.
func (d *download) finish(ctx context.Context) error {
	for try := 0; ; try++ {
		before := d.size()
		err := d.attempt(ctx)
		if err == nil || ctx.Err() != nil || errors.Is(err, errGone) {
			return err
		}
		if d.size() > before {
			try = 0 // it moves
		}
		if try == len(pauses) || offline(err) && !d.tried {
			return d.explain(err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pauses[try]):
		}
	}
}

// pinned are SHA-256 of the public files, unpacked.
var pinned = map[string]string{
	"ml_CanParl.csv":      "5d34ce04fd9c9c417d4e268e77a1512a8ba7ba7638bdeaf714217f657ca8edfb",
	"ml_CanParl.npy":      "92067844ffe887662018ae5a73f2856dbf73feb7cb2f2969745892e213671228",
	"ml_CanParl_node.npy": "664a4281514ef2543efa47a20b98e31818bb490cadee8014fe33e5d7bfb0b25f",
	"ml_USLegis.csv":      "a27c9ff793ca3feddec61abfb9106634c56d431955decbcc8f3d69aed12417f0",
	"ml_USLegis.npy":      "f064325f0f09026dc2a2ab740268f7e3f77f0909629b9b2cc282bb5fde5cfb33",
	"ml_USLegis_node.npy": "7d153ee4073655443790202867817286a4b6ebe3ad0311a32b17c1ac2651a940",
	"ml_enron.csv":        "83777a7449e31ab486bb64242180a04beda61c23798b2fc1f6deea530fbd2cef",
	"ml_enron.npy":        "9c7c6e2d754b6963dbf0025d5d6e2a4bd2275dbbebfc795f90a9a5be9ab63096",
	"ml_enron_node.npy":   "68c67e352f695554e283df974151ac1fdbc74a585c3e59f1dfa0d3d149875e14",
	"ml_mooc.csv":         "a17ee1f37f141a8db6547030c84043f4bd5b10bd888dbf7631853c4e10042bc8",
	"ml_mooc.npy":         "2fcedad92a1b950dcca233fa9eeca8869ec74a867702ac06803a93a3872a759b",
	"ml_mooc_node.npy":    "a2866aa91a170db7578480e294b816c20f33d766173ff6857a61b99fcee35e91",
	"ml_uci.csv":          "1afae3492224f7ec89d413b8e3ab3bd309f39054250774062df9c21f1f09570f",
	"ml_uci.npy":          "dbf934a073816a569d5e9478e8478dd642bcd8f397353c392bf7878470e32e94",
	"ml_uci_node.npy":     "4036feba35dd7cf4dd0ce54c1efbff9f2396eb88688fb75377df77bbf5085bfc",
}

// recorded reads the checksums written at the first download of a data set: lines of checksum and file name.
func recorded(dir string) map[string]string {
	sums := map[string]string{}
	text, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil {
		return sums
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 {
			sums[f[1]] = f[0]
		}
	}
	return sums
}

const sumsFile = "SHA256SUMS"

func (r *FetchReport) record() error {
	files := slices.Clone(r.Files)
	slices.SortFunc(files, func(x, y FetchedFile) int { return strings.Compare(x.Name, y.Name) })
	return atomicfile.Write(filepath.Join(r.Dir, sumsFile), func(w io.Writer) error {
		for _, f := range files {
			if _, err := fmt.Fprintf(w, "%s  %s\n", f.SHA256, f.Name); err != nil {
				return err
			}
		}
		return nil
	})
}
