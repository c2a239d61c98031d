package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
)

const (
	streamBatch = 1000                   // lines that are added together
	streamBytes = 4 << 20                // … or bytes
	streamFlush = 200 * time.Millisecond // after which lines of a stream without a key are added, however few
	streamIdle  = 2 * time.Minute        // a stream may be silent
	maxStreams  = 64                     // at the same time
)

// chunk is some lines of a stream, or why there are no more.
type chunk struct {
	line string
	err  error
}

// postStream takes a stream of events, one a line, for as long as it goes on. Unlike those of other requests, its
// events are added in batches while it goes on. It answers at the end, or at the first line that is wrong.
func (s *Server) postStream(w http.ResponseWriter, r *http.Request) (any, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != typeNDJSON {
		return nil, fail("unsupported_type", "Content-Type is %q, want %s", clip(r.Header.Get("Content-Type")),
			typeNDJSON)
	}
	in := &stream{server: s, r: r, lines: make(chan chunk), quit: make(chan struct{}),
		control: http.NewResponseController(w)}
	in.control.SetWriteDeadline(time.Time{})
	in.alive()
	go in.read()
	err := in.run(r.Context())
	close(in.quit)
	in.control.SetReadDeadline(time.Unix(1, 0)) // ends the reading
	for range in.lines {
	}
	if err != nil {
		w.Header().Set("Connection", "close") // the rest is not read
		if e := errorFor(err); in.accepted > 0 {
			told := *e
			told.Message = fmt.Sprintf("%d events were taken, up to sequence %d; then: %s", in.accepted, in.last,
				e.Message)
			return nil, &told
		}
		return nil, err
	}
	return struct {
		Accepted int    `json:"accepted"`
		Last     uint64 `json:"last"`
	}{in.accepted, in.last}, nil
}

// stream is one of those.
type stream struct {
	server   *Server
	r        *http.Request
	control  *http.ResponseController
	lines    chan chunk // closed when the reading has ended
	quit     chan struct{}
	text     strings.Builder // lines that are to be added
	count    int             // of them
	before   int             // lines of the stream before them
	batches  int
	accepted int
	last     uint64
}

// alive lets the client be silent for a while from now on.
func (in *stream) alive() { in.control.SetReadDeadline(time.Now().Add(streamIdle)) }

// read sends lines until the body ends. A line may have as many bytes as a request.
func (in *stream) read() {
	defer close(in.lines)
	most := int(in.server.limits().Body)
	lines := bufio.NewReaderSize(in.r.Body, 64<<10)
	for {
		var line strings.Builder
		var err error
		for more := true; more && err == nil; {
			var part []byte
			part, err = lines.ReadSlice('\n')
			if more = err == bufio.ErrBufferFull; more {
				err = nil
			}
			if line.Write(part); line.Len() > most {
				err = fail("too_large", "a line is longer than %d bytes", most)
			}
		}
		in.alive()
		if err == io.EOF && line.Len() > 0 {
			err = nil // the last line needs no end; the next read ends
		}
		select {
		case in.lines <- chunk{line.String(), err}:
		case <-in.quit:
			return
		}
		if err != nil {
			return
		}
	}
}

// run adds lines in batches. Those of a stream with a key are cut by number alone, so that the same stream, sent again,
// has the same batches, whose keys are then known.
func (in *stream) run(ctx context.Context) error {
	keyed := in.r.Header.Get("Idempotency-Key") != ""
	due := time.NewTimer(streamFlush) // runs while lines wait: a silent stream costs nothing
	due.Stop()
	defer due.Stop()
	for {
		var err error
		select {
		case c := <-in.lines:
			if c.err == io.EOF {
				return in.flush(ctx)
			}
			if c.err != nil {
				return errorOfStream(c.err, in.flush(ctx))
			}
			in.text.WriteString(c.line)
			if in.count == 0 && !keyed {
				due.Reset(streamFlush)
			}
			if in.count++; in.count >= streamBatch || in.text.Len() >= streamBytes && !keyed {
				err = in.flush(ctx)
			}
		case <-due.C:
			err = in.flush(ctx)
		case <-in.server.leaving.Done():
			return errorOfStream(fail("stopping", "the server is stopping"), in.flush(ctx))
		case <-ctx.Done():
			return ctx.Err()
		}
		if err != nil {
			return err
		}
	}
}

// errorOfStream is why a stream ended: what was wrong with its last lines comes first.
func errorOfStream(why, flushed error) error {
	if flushed != nil {
		return flushed
	}
	if e, ok := why.(*apiError); ok {
		return e
	}
	return fail("bad_request", "the stream ended early: %v", why)
}

// flush adds the lines that wait.
func (in *stream) flush(ctx context.Context) error {
	if strings.TrimSpace(in.text.String()) == "" {
		in.before, in.count = in.before+in.count, 0
		in.text.Reset()
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, in.server.limits().Timeout)
	defer cancel()
	key := in.r.Header.Get("Idempotency-Key")
	if key != "" {
		key = fmt.Sprintf("%s/%d", key, in.batches)
	}
	lines := &body{text: in.text.String(), kind: typeNDJSON}
	receipt, err := in.server.take(in.r.WithContext(ctx), key, lines, in.before)
	if err != nil {
		return err
	}
	in.accepted, in.last = in.accepted+receipt.Accepted, receipt.Last
	in.before, in.count, in.batches = in.before+in.count, 0, in.batches+1
	in.text.Reset()
	return nil
}
