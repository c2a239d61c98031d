package serve

import (
	"compress/gzip"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
)

const (
	typeJSON   = "application/json"
	typeNDJSON = "application/x-ndjson"
)

// body is the body of a request, read as a whole before the request is handled.
type body struct {
	io.ReadCloser // the empty one
	text, kind    string
}

func bodyOf(r *http.Request) *body { return r.Body.(*body) }

// receive reads the body of a request, within the limits. A request that needs no body may lack a type; a browser sends
// JSON to another site only with its consent, so other types are refused. The caller calls limiter.release.
func (s *Server) receive(what route, w http.ResponseWriter, r *http.Request, client string) (_ *body, err error) {
	b, types := &body{ReadCloser: http.NoBody}, []string{typeJSON}
	if what.how&lines != 0 {
		types = append(types, typeNDJSON)
	}
	given := r.Header.Get("Content-Type")
	if given == "" && what.how&bodiless != 0 {
		return b, nil
	}
	if b.kind, _, err = mime.ParseMediaType(given); err != nil || !slices.Contains(types, b.kind) {
		return nil, fail("unsupported_type", "Content-Type is %q, want %s", clip(given), strings.Join(types, " or "))
	}
	switch enc := r.Header.Get("Content-Encoding"); enc {
	case "", "identity":
	case "gzip":
		r.Body, r.ContentLength = &unzipped{body: r.Body}, -1 // the limits are for what comes out
	default:
		return nil, fail("unsupported_type", "Content-Encoding is %q, want gzip or none", clip(enc))
	}
	b.text, err = s.limiter.read(w, r, client)
	return b, err
}

// unzipped is a body that was compressed with gzip.
type unzipped struct {
	body io.ReadCloser
	in   *gzip.Reader
}

func (u *unzipped) Read(b []byte) (n int, err error) {
	if u.in == nil {
		if u.in, err = gzip.NewReader(u.body); err != nil {
			return 0, fmt.Errorf("no gzip: %w", err)
		}
	}
	return u.in.Read(b)
}

func (u *unzipped) Close() error { return u.body.Close() }

// readJSON lets fill read the body of a request. Strings are parts of the body: fill clones those that are kept.
func (s *Server) readJSON(_ http.ResponseWriter, r *http.Request, fill func(*scanner)) error {
	return read(bodyOf(r).text, 0, fill)
}
