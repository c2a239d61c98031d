// Command dygmamba learns from a stream of timed interactions and answers: will u and v interact at time t?
//
// Each subcommand has a file of its own. It turns flags into calls of the library and results into a table or, with --json,
// into one JSON document; nothing is computed here.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C does not wait for the first
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program but for the process around it. It returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	a := newApp(stdin, stdout, stderr)
	defer func() {
		if p := recover(); p != nil {
			code = a.crashed(p)
		}
	}()
	root := newRoot(a)
	a.json = asksForJSON(args)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	return a.finish(cmd, err)
}
