// Command dygmamba learns from a stream of timed interactions and answers: will u and v interact at time t?
//
// Each subcommand has a file of its own. It turns flags into calls of the library and results into a table or, with
// --json, into one JSON document; nothing is computed here.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/memory"
)

// patience is how long after the first Ctrl-C a second one ends the program at once. What comes sooner is the first one
// again: timeout(1) and others send a signal to the program and then to all of its group.
const patience = time.Second

func main() {
	memory.Heed()
	ctx, interrupt := context.WithCancel(context.Background())
	heed(interrupt)
	code := launch(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	os.Exit(shut(os.Stdout, os.Stderr, code))
}

// heed interrupts the program at the first signal from now on, and ends it at the next that comes when it has been
// given time. That end is the signal's own, so that whoever waits for the program knows.
func heed(interrupt func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		soon := time.Now().Add(patience) // before the program hears of it: it must not promise too early
		interrupt()
		for s := range signals {
			if time.Now().Before(soon) {
				continue
			}
			signal.Reset(s)
			if self, err := os.FindProcess(os.Getpid()); err != nil || self.Signal(s) != nil {
				os.Exit(exitInterrupted)
			}
		}
	}()
}

// shut closes standard output, as some file systems say only then that they lost what was written. One that was
// closed all along lost nothing: whoever had written to it would know.
func shut(stdout *os.File, stderr io.Writer, code int) int {
	err := stdout.Close()
	if code != exitDone || err == nil || errors.Is(err, syscall.EBADF) {
		return code
	}
	fmt.Fprintln(stderr, "error: the output was lost:", err)
	return exitFailed
}

// attend answers an interruption that is not over soon, such as in a long step: the program has heard it, and can be
// stopped at once. Whoever calls it calls done when the work has ended.
func (a *app) attend(ctx context.Context, soon time.Duration) (done func()) {
	ended, answered := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(answered)
		select {
		case <-ctx.Done():
		case <-ended:
			return
		}
		select {
		case <-time.After(soon):
			if say := a.slow.Load(); say != nil {
				(*say)()
			} else {
				a.log().Info("interrupted: finishing the step; press Ctrl-C again to stop now")
			}
		case <-ended:
		}
	}()
	return func() {
		close(ended)
		<-answered
	}
}

// run is the whole program but for the process around it. It returns the exit code.
func launch(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	a := newApp(stdin, stdout, stderr)
	defer a.attend(ctx, patience)()
	defer func() {
		if p := recover(); p != nil {
			code = a.crashed(p)
		}
	}()
	root := newRoot(a)
	a.json, a.args = asksForJSON(args), args
	root.SetArgs(args)
	cmd := root
	var err error
	if damage := event.Guard(func() { cmd, err = root.ExecuteContextC(ctx) }); damage != nil {
		err = damage
	}
	return a.finish(cmd, err)
}
