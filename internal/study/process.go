package study

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Launch carries out an order and tells news as they come. It ends soon after ctx does, when what was done is kept.
type Launch func(ctx context.Context, o Order, tell func(News)) error

// Serve is the other side of Process: it reads an order, carries it out and writes news. When r ends, so does the work:
// whoever gave the order is gone, or wants it to stop.
func Serve(ctx context.Context, r io.Reader, w io.Writer) error {
	in := bufio.NewReader(r)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("an order of one line was expected: %w", err)
	}
	var o Order
	if err := json.Unmarshal(line, &o); err != nil {
		return fmt.Errorf("not an order: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		io.Copy(io.Discard, in)
		stop()
	}()
	enc := json.NewEncoder(w)
	var failed error
	work(ctx, o, func(n News) {
		if err := enc.Encode(n); err != nil { // nobody listens any more
			failed = err
			stop()
		}
	})
	return failed
}

// Here carries orders out in this process.
func Here(ctx context.Context, o Order, tell func(News)) error {
	work(ctx, o, tell)
	return nil
}

// grace is how long a worker may take to keep what it has done.
const grace = 20 * time.Second

// Process carries orders out in processes of their own, so that one that crashes takes no other with it: program is
// started with args and must call Serve.
func Process(program string, args ...string) Launch {
	return func(ctx context.Context, o Order, tell func(News)) error {
		raw, err := json.Marshal(o)
		if err != nil {
			return err
		}
		cmd := exec.Command(program, args...)
		in, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		var said tail
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			return err
		}
		if _, err := in.Write(append(raw, '\n')); err != nil {
			in.Close()
			return fmt.Errorf("the process took no order: %w%s", errors.Join(err, cmd.Wait()), said.words())
		}
		ended := make(chan struct{})
		var watching sync.WaitGroup
		watching.Go(func() {
			select {
			case <-ctx.Done():
				in.Close()
			case <-ended:
				in.Close()
				return
			}
			select {
			case <-time.After(grace):
				cmd.Process.Kill()
			case <-ended:
			}
		})
		over := false
		lines := bufio.NewReader(out)
		for {
			line, err := lines.ReadBytes('\n')
			var n News
			if json.Unmarshal(line, &n) == nil {
				over = over || n.Stopped || n.Error != "" && !n.Finished || n.Finished && n.Task == len(o.Tasks)-1
				tell(n)
			}
			if err != nil {
				break
			}
		}
		close(ended)
		err = cmd.Wait()
		watching.Wait()
		if over || ctx.Err() != nil {
			return nil
		}
		if err == nil {
			err = errors.New("exit status 0")
		}
		return fmt.Errorf("the process ended before its work did: %w%s", err, said.words())
	}
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	last []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	const most = 2000
	t.last = append(t.last, p...)
	t.last = bytes.Clone(t.last[max(0, len(t.last)-most):])
	return len(p), nil
}

func (t *tail) words() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := strings.TrimSpace(string(t.last)); text != "" {
		return ": " + text
	}
	return ""
}
