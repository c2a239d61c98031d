package dataset

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
	blockSize = 256 << 10
	maxLine   = 1 << 20
)

// text reads a text file in blocks of whole rows.
type text struct {
	in    *input
	carry []byte // read but not yet delivered: the beginning of a row, and after header the rest of the first block
	csv   bool   // rows may have quoted fields with line ends in them
	delim byte
	block int // bytes to read at a time
	eof   bool
}

// newText checks that in can be text, and skips the byte order mark some programs write.
func newText(in *input, csv bool, want string) (*text, error) {
	if kind := in.kind(); kind != "" {
		return nil, fileError(in.path, kind, want)
	}
	if bom, _ := in.r.Peek(3); string(bom) == "\xef\xbb\xbf" {
		in.r.Discard(3)
	}
	return &text{in: in, csv: csv, delim: ',', block: in.block}, nil
}

// firstLine is the first line without its line end. Next goes on behind it, or with it if it is kept. An empty file has an empty first line.
func (t *text) firstLine(keep bool) ([]byte, error) {
	buf := make([]byte, maxLine)
	n, err := t.fill(buf, 0)
	if err != nil {
		return nil, err
	}
	buf = buf[:n]
	end := bytes.IndexByte(buf, '\n')
	if end < 0 {
		if !t.eof {
			return nil, t.tooLong()
		}
		end = n
	}
	if t.carry = buf; !keep {
		t.carry = buf[min(end+1, n):]
	}
	return bytes.TrimSuffix(buf[:end], []byte{'\r'}), nil
}

// next reads whole rows into buf, which it may replace by a larger one; it returns the buffer and how many of its bytes those rows are.
// The error is io.EOF after the last.
func (t *text) next(buf []byte) ([]byte, int, error) {
	for n := 0; ; {
		var err error
		if n, err = t.fill(buf, n); err != nil {
			return buf, 0, err
		}
		if n == 0 {
			return buf, 0, io.EOF
		}
		if t.eof && len(t.carry) == 0 {
			return buf, n, nil
		}
		if end := t.lastRow(buf[:n]); end > 0 {
			t.carry = append(bytes.Clone(buf[end:n]), t.carry...)
			return buf, end, nil
		}
		if len(buf) >= maxLine {
			return buf, 0, t.tooLong()
		}
		buf = append(buf, make([]byte, len(buf))...)
	}
}

// fill reads into buf from n on until it is full or the file ends, which it notes in t.eof.
func (t *text) fill(buf []byte, n int) (int, error) {
	m := copy(buf[n:], t.carry)
	t.carry = t.carry[m:]
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

func (t *text) tooLong() error {
	want := fmt.Sprintf("lines of at most %d bytes", maxLine)
	if t.csv {
		want += ", and quotes that are closed again"
	}
	return &InputError{File: t.in.path, Line: 1, Row: -1, Found: fmt.Sprintf("a line of more than %d bytes", maxLine), Want: want}
}

// lastRow is where the last complete row of data ends, 0 if there is none.
func (t *text) lastRow(data []byte) int {
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
		case c == t.delim:
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

// inOrder runs parse over the blocks of t on all cores and merge over the results in the order of the file, on the caller's goroutine.
// A T is used again and again: parse resets it. All goroutines have ended when inOrder returns.
func inOrder[T any](ctx context.Context, t *text, parse func(data []byte, out *T), merge func(out *T) error) error {
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
			if stopped := ctx.Err(); stopped != nil { // also at the end, which came early where whoever writes to us was stopped with us
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
