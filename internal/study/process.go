package study

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
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

// Process carries orders out in processes of their own, so that one that crashes takes no other with it: program is
// started with args and must call Serve.
func Process(program string, args ...string) Launch {
	return func(ctx context.Context, o Order, tell func(News)) error {
		cmd := exec.CommandContext(ctx, program, args...)
		var said bytes.Buffer
		cmd.Stderr = &said
		err := give(cmd, o, tell)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		const most = 2000
		if last := bytes.TrimSpace(said.Bytes()[max(0, said.Len()-most):]); len(last) > 0 {
			err = fmt.Errorf("%w: %s", err, last)
		}
		return err
	}
}

// give starts a worker that carries out an order. When its context ends, the worker is told by the end of its input.
func give(cmd *exec.Cmd, o Order, tell func(News)) error {
	raw, err := json.Marshal(o)
	if err != nil {
		return err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	const grace = 20 * time.Second // to keep what it has done
	cmd.Cancel, cmd.WaitDelay = in.Close, grace
	if err := cmd.Start(); err != nil {
		return err
	}
	if _, err := in.Write(append(raw, '\n')); err != nil {
		in.Close()
		return fmt.Errorf("the process took no order: %w", errors.Join(err, cmd.Wait()))
	}
	over := false
	for lines := bufio.NewReader(out); err == nil; {
		var line []byte
		var n News
		line, err = lines.ReadBytes('\n')
		if json.Unmarshal(line, &n) == nil {
			over = over || n.Stopped || n.Error != "" && !n.Finished || n.Finished && n.Task == len(o.Tasks)-1
			tell(n)
		}
	}
	if err = cmd.Wait(); over {
		return nil
	}
	return fmt.Errorf("the process ended before its work did: %w", cmp.Or(err, errors.New("exit status 0")))
}
