package dataset

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/internal/atomicfile"
)

// download is a file that may take several attempts. What has come so far stays on disk, with the tag by which the
// server knows the version it belongs to.
type download struct {
	url, path string
	options   FetchOptions
	resumed   int64 // bytes there before the first attempt
	tried     bool
}

// errGone is in the chain of errors that another attempt would not mend.
var errGone = errors.New("the server does not have it")

func (d *download) tagPath() string { return d.path + ".tag" }

func (d *download) size() int64 {
	info, err := os.Stat(d.path)
	if err != nil {
		return 0
	}
	return info.Size()
}

func (d *download) remove() {
	os.Remove(d.path)
	os.Remove(d.tagPath())
}

// attempt asks for what is missing. It returns nil when the file is whole.
func (d *download) attempt(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url, nil)
	if err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	have := d.size()
	tag, _ := os.ReadFile(d.tagPath())
	if have > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
		if len(tag) > 0 {
			req.Header.Set("If-Range", string(tag)) // the whole file if it has changed
		}
	}
	resp, err := d.options.Client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusPartialContent:
		if !strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", have)) {
			d.remove()
			return fmt.Errorf("%s: found the range %q; want it from byte %d",
				d.url, resp.Header.Get("Content-Range"), have)
		}
		if !d.tried {
			d.resumed = have
		}
	case http.StatusOK:
		have = 0
		if err := d.start(resp.Header); err != nil {
			return fmt.Errorf("%w: %w", errGone, err)
		}
	case http.StatusRequestedRangeNotSatisfiable:
		if resp.Header.Get("Content-Range") == fmt.Sprintf("bytes */%d", have) {
			return nil // it was whole already
		}
		d.remove()
		return fmt.Errorf("%s: %s", d.url, resp.Status)
	case http.StatusNotFound, http.StatusGone, http.StatusForbidden, http.StatusUnauthorized:
		return fmt.Errorf("download %s: %w (%s)", d.url, errGone, resp.Status)
	default:
		return fmt.Errorf("download %s: %s", d.url, resp.Status)
	}
	d.tried = true
	return d.receive(resp, have)
}

// start begins the file anew and remembers its version, if the server says one that stands for these very bytes.
func (d *download) start(h http.Header) error {
	if err := os.WriteFile(d.path, nil, 0o644); err != nil {
		return err
	}
	tag := h.Get("ETag")
	if tag == "" || strings.HasPrefix(tag, "W/") {
		tag = h.Get("Last-Modified")
	}
	return os.WriteFile(d.tagPath(), []byte(tag), 0o644)
}

func (d *download) receive(resp *http.Response, have int64) error {
	f, err := os.OpenFile(d.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	total := int64(0)
	if resp.ContentLength >= 0 {
		total = have + resp.ContentLength
	}
	w := &counter{ctx: resp.Request.Context(), done: have, tell: func(n int64) {
		d.options.Progress(FetchProgress{File: d.url, Done: n, Total: total})
	}}
	_, err = io.Copy(io.MultiWriter(f, w), resp.Body)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// explain says what a user can do about a download that did not come through.
func (d *download) explain(err error) error {
	if offline(err) {
		host := d.url
		if u, e := url.Parse(d.url); e == nil {
			host = u.Host
		}
		return fmt.Errorf("cannot reach %s, this machine seems to be offline: %w; "+
			"the ml_* files in %s can also be put into %s by hand", host, err, path.Base(d.url), filepath.Dir(d.path))
	}
	return fmt.Errorf("download %s: %w; it continues where it stopped when started again", d.url, err)
}

// offline says whether the server was not reached at all.
func offline(err error) bool {
	var dial *net.OpError
	var name *net.DNSError
	return errors.As(err, &name) || errors.As(err, &dial) && dial.Op == "dial"
}

// counter tells how many bytes have gone by, at most once in a while, until the context ends.
type counter struct {
	ctx        context.Context
	done, told int64
	tell       func(int64)
}

func (c *counter) Write(p []byte) (int, error) {
	c.done += int64(len(p))
	if c.done-c.told >= 256<<10 || c.told == 0 {
		c.told = c.done
		c.tell(c.done)
	}
	return len(p), c.ctx.Err()
}

// unpack checks the three files of a downloaded archive and puts them into r.Dir. None appears unless all are right.
func (r *FetchReport) unpack(ctx context.Context, archive string, o FetchOptions) error {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return input.FileError(archive, fmt.Sprintf("no readable zip archive (%v)", err),
			"the whole archive: fetch it again")
	}
	defer z.Close()
	byName := map[string]*zip.File{}
	for _, f := range z.File {
		byName[path.Base(f.Name)] = f // in some archives they lie in a folder
	}
	known := recorded(r.Dir)
	var ready []*atomicfile.File
	defer func() {
		for _, p := range ready {
			p.Discard()
		}
	}()
	for _, suffix := range []string{".npy", "_node.npy", ".csv"} { // the csv last: with it the data set is there
		name := "ml_" + r.Name + suffix
		f := byName[name]
		if f == nil {
			return input.FileError(archive, "no "+name, "an archive with it")
		}
		p, file, err := r.extract(ctx, f, o)
		if err != nil {
			return err
		}
		ready = append(ready, p)
		want, ok := pinned[name]
		if file.Pinned = ok; !ok {
			want, ok = known[name]
		}
		if ok && want != file.SHA256 {
			return input.FileError(name, "SHA-256 "+file.SHA256, want+": the file is not the one known under this name")
		}
		r.Files = append(r.Files, file)
	}
	if err := r.record(); err != nil {
		return err
	}
	for len(ready) > 0 {
		if err := ready[0].Commit(); err != nil {
			return err
		}
		ready = ready[1:]
	}
	return nil
}

// extract writes one file beside its place.
func (r *FetchReport) extract(ctx context.Context, f *zip.File, o FetchOptions) (*atomicfile.File, FetchedFile, error) {
	file := FetchedFile{Name: path.Base(f.Name)}
	damaged := func(why error) error {
		return input.FileError(f.Name, fmt.Sprintf("damaged zip data (%v)", why),
			"an undamaged archive: fetch it again")
	}
	body, err := f.Open()
	if err != nil {
		return nil, file, damaged(err)
	}
	defer body.Close()
	p, err := atomicfile.Create(filepath.Join(r.Dir, file.Name))
	if err != nil {
		return nil, file, err
	}
	sum := sha256.New()
	w := &counter{ctx: ctx, tell: func(n int64) {
		o.Progress(FetchProgress{File: file.Name, Done: n, Total: int64(f.UncompressedSize64)})
	}}
	file.Bytes, err = io.Copy(io.MultiWriter(p, sum, w), body)
	if err != nil {
		p.Discard()
		var disk *os.PathError
		if errors.As(err, &disk) || ctx.Err() != nil {
			return nil, file, err
		}
		return nil, file, damaged(err)
	}
	file.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return p, file, nil
}
