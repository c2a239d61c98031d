package fetch

import (
	"context"
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
)

// download is a file that may take several attempts. What has come so far stays on disk, with the tag by which the
// server knows the version it belongs to.
type download struct {
	url, path string
	options   Options
	resumed   int64 // bytes there before the first attempt
	tried     bool
}

// errGone is in the chain of errors that another attempt would not mend.
var errGone = errors.New("the server does not have it")

func (d *download) tagPath() string { return d.path + ".tag" }

// size is how much there is.
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

// receive appends the body.
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
		d.options.Progress(Progress{File: d.url, Done: n, Total: total})
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
