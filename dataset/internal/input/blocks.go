package input

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
)

// Text is read a block at a time; a longer line makes its block grow, up to the longest line there may be.
const (
	BlockSize = 256 << 10
	MaxLine   = 1 << 20
)

// Text reads a text file in blocks of whole rows.
type Text struct {
	in    *File
	Ahead []byte // read but not yet delivered: the beginning of a row, and after header the rest of the first block
	csv   bool   // rows may have quoted fields with line ends in them
	Delim byte
	block int // bytes to read at a time
	eof   bool
}

// NewText checks that in can be text, and skips the byte order mark some programs write.
func NewText(in *File, csv bool, want string) (*Text, error) {
	if kind := in.Kind(); kind != "" {
		return nil, FileError(in.Path, kind, want)
	}
	if bom, _ := in.r.Peek(3); string(bom) == "\xef\xbb\xbf" {
		in.r.Discard(3)
	}
	return &Text{in: in, csv: csv, Delim: ',', block: in.Block}, nil
}

// FirstLine is the first line without its line end. Next goes on behind it, or with it if it is kept. An empty file has
// an empty first line.
func (t *Text) FirstLine(keep bool) ([]byte, error) {
	buf := make([]byte, MaxLine)
	n, err := t.fill(buf, 0)
	if err != nil {
		return nil, err
	}
	buf = buf[:n]
	end := bytes.IndexByte(buf, '\n')
	if at := bytes.IndexByte(buf, '\r'); end < 0 && at >= 0 && at < n-1 {
		return nil, FileError(t.in.Path, `lines that end in \r alone`,
			`\n or \r\n: "tr '\r' '\n'" makes one of the other`)
	}
	if end < 0 {
		if !t.eof {
			return nil, t.tooLong()
		}
		end = n
	}
	if t.Ahead = buf; !keep {
		t.Ahead = buf[min(end+1, n):]
	}
	return bytes.TrimSuffix(buf[:end], []byte{'\r'}), nil
}

// next reads whole rows into buf, which it may replace by a larger one; it returns the buffer and how many of its bytes
// those rows are. The error is io.EOF after the last.
func (t *Text) next(buf []byte) ([]byte, int, error) {
	for n := 0; ; {
		var err error
		if n, err = t.fill(buf, n); err != nil {
			return buf, 0, err
		}
		if n == 0 {
			return buf, 0, io.EOF
		}
		if t.eof && len(t.Ahead) == 0 {
			return buf, n, nil
		}
		if end := t.lastRow(buf[:n]); end > 0 {
			t.Ahead = append(bytes.Clone(buf[end:n]), t.Ahead...)
			return buf, end, nil
		}
		if len(buf) >= MaxLine {
			return buf, 0, t.tooLong()
		}
		buf = append(buf, make([]byte, len(buf))...)
	}
}

// fill reads into buf from n on until it is full or the file ends, which it notes in t.eof.
func (t *Text) fill(buf []byte, n int) (int, error) {
	m := copy(buf[n:], t.Ahead)
	t.Ahead = t.Ahead[m:]
	n += m
	for n < len(buf) && !t.eof {
		m, err := t.in.Read(buf[n:])
		n += m
		if err == io.EOF {
			t.eof = true
		} else if err != nil {
			return n, err
		}
	}
	return n, nil
}

func (t *Text) tooLong() error {
	want := fmt.Sprintf("lines of at most %d bytes", MaxLine)
	if t.csv {
		want += ", and quotes that are closed again"
	}
	return &Error{File: t.in.Path, Line: 1, Row: -1,
		Found: fmt.Sprintf("a line of more than %d bytes", MaxLine), Want: want}
}

// lastRow is where the last complete row of data ends, 0 if there is none.
func (t *Text) lastRow(data []byte) int {
	if !t.csv || bytes.IndexByte(data, '"') < 0 {
		return bytes.LastIndexByte(data, '\n') + 1
	}
	const (
		fresh  = iota // at the beginning of a field
		plain         // in a field without quotes, or behind a closing one
		quoted        // within quotes
		closed        // behind a quote that closes, unless another follows
	)
	end, state := 0, fresh
	for i, c := range data {
		switch {
		case state == quoted:
			if c == '"' {
				state = closed
			}
		case c == '\n':
			end, state = i+1, fresh
		case c == t.Delim:
			state = fresh
		case c == '"' && state != plain:
			state = quoted
		default:
			state = plain
		}
	}
	return end
}

// block is a piece of a text file and what became of it.
type block[T any] struct {
	buf  []byte
	data []byte // whole rows
	out  T
	err  error // reading it failed
	done chan struct{}
}

// InOrder runs parse over the blocks of t on all cores and merge over the results in the order of the file, on the
// caller's goroutine. A T is used again and again: parse resets it. All goroutines have ended when InOrder returns.
func InOrder[T any](ctx context.Context, t *Text, parse func(data []byte, out *T), merge func(out *T) error) error {
	workers := min(runtime.GOMAXPROCS(0), 4) // more would wait for the reader
	var (
		free  = make(chan *block[T], 2*workers+2)
		work  = make(chan *block[T], cap(free))
		order = make(chan *block[T], cap(free))
		stop  = make(chan struct{}) // closed when merge failed
		wg    sync.WaitGroup
	)
	for range cap(free) {
		free <- &block[T]{done: make(chan struct{}, 1)}
	}
	wg.Go(func() { // reads; the only one to touch t
		defer close(order)
		defer close(work)
		for {
			var b *block[T]
			select {
			case b = <-free:
			case <-stop:
				return
			}
			if b.buf == nil {
				b.buf = make([]byte, t.block)
			}
			buf, n, err := t.next(b.buf)
			// also at the end, which came early where whoever writes to us was stopped with us
			if stopped := ctx.Err(); stopped != nil {
				err = stopped
			}
			if err == io.EOF {
				return
			}
			b.buf, b.data, b.err = buf, buf[:n], err
			if err == nil {
				work <- b
			} else {
				b.done <- struct{}{}
			}
			order <- b
			if err != nil {
				return
			}
		}
	})
	for range workers {
		wg.Go(func() {
			for b := range work {
				parse(b.data, &b.out)
				b.done <- struct{}{}
			}
		})
	}
	var err error
	for b := range order {
		<-b.done
		if err != nil {
			continue
		}
		if err = b.err; err == nil {
			err = merge(&b.out)
		}
		if err != nil {
			close(stop)
			continue
		}
		free <- b
	}
	wg.Wait()
	return err
}
