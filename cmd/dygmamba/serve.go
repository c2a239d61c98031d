package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/serve"
)

func newServe(a *app) *cobra.Command {
	var s serving
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Take events over HTTP while they happen, and answer with a trained model",
		Long: `Starts a server: POST /v1/events takes events, /v1/score, /v1/rank and /v1/explain answer from all ` +
			`that is
known by then, GET / is a page to look at. docs/SERVING.md and /v1/openapi.json have the whole interface.

The data set is what is known at the beginning, that of the run unless --data names another. Events that come in are
kept in --store DIR, or in a NATS JetStream stream with --log nats://…, before they are acknowledged; without either
they live in memory and end with the server. A restart takes up the last snapshot and what the log has after it.

The server can be reached from this machine alone unless --listen says otherwise; other machines need --tokens FILE
with a line for each token, NAME RIGHTS TOKEN, where rights are some of ingest, query and admin.

SIGHUP, or POST /v1/admin/reload, opens the checkpoint anew without dropping a request. SIGTERM and Ctrl-C let requests
that are under way come to their end, write a snapshot and exit with 0.`,
		Example: `  dygmamba serve --run runs/visits --store visits.store
  dygmamba serve --checkpoint model.safetensors --data visits.dgm --listen 127.0.0.1:9000
  dygmamba serve --run runs/visits --listen :8443 --tokens tokens.txt --tls-cert c.pem --tls-key k.pem
  dygmamba serve --run runs/visits --store visits.store --learn
  dygmamba serve verify --run runs/uci`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context(), a) },
	}
	s.add(cmd)
	cmd.AddCommand(newServeVerify(a))
	return cmd
}

// serving is one call of serve.
type serving struct {
	from     trainedFlags
	data     dataFlags
	what     modelFlags
	where    deviceFlags
	order    string
	listen   serve.Listening
	store    string // --store
	log      string // --log
	stream   string // --stream
	monitor  []string
	tokens   string // --tokens
	anyone   bool   // --insecure
	snapshot int    // --snapshot-every
	limits   serve.Limits
	learn    serve.Learning
}

func (s *serving) add(cmd *cobra.Command) {
	s.from.add(cmd)
	s.data.add(cmd)
	s.what.add(cmd, modelNames, "")
	s.where.add(cmd)
	addOrder(cmd, &s.order)
	flags := cmd.Flags()
	flags.StringVar(&s.listen.Address, "listen", "127.0.0.1:8080", "`address` to listen on; port 0 is any that is free")
	flags.StringVar(&s.store, "store", "", "`directory` that keeps events and snapshots; it is made if it is not there")
	flags.StringVar(&s.log, "log", "",
		"keep events in a NATS JetStream stream instead, such as `nats://127.0.0.1:4222`; --store then keeps snapshots")
	flags.StringVar(&s.stream, "stream", "", "with --log: the `name` of the stream (default: dygmamba)")
	flags.StringSliceVar(&s.monitor, "nats-monitor", nil,
		"with --log: `addresses` of the brokers' monitoring, to see that they sync always, "+
			"such as http://127.0.0.1:8222")
	flags.IntVar(&s.snapshot, "snapshot-every", 1_000_000, "write a snapshot after so many events")
	flags.StringVar(&s.tokens, "tokens", "", "`file` of bearer tokens, a line for each: NAME RIGHTS TOKEN")
	flags.BoolVar(&s.anyone, "insecure", false, "let other machines in without tokens")
	flags.StringVar(&s.listen.Certificate, "tls-cert", "", "`file` of a TLS certificate")
	flags.StringVar(&s.listen.Key, "tls-key", "", "`file` of its key")
	flags.Float64Var(&s.limits.Rate, "rate", 0,
		"requests a second that a client may make (default: as many as it likes)")
	flags.Int64Var(&s.limits.Body, "max-body", serve.DefaultLimits.Body, "bytes of a request")
	flags.IntVar(&s.limits.Batch, "max-batch", serve.DefaultLimits.Batch, "events of a request")
	flags.IntVar(&s.limits.Nodes, "max-nodes", serve.DefaultLimits.Nodes, "take no events when so many nodes are known")
	flags.DurationVar(&s.limits.Timeout, "timeout", serve.DefaultLimits.Timeout, "how long an answer may take")
	flags.BoolVar(&s.learn.On, "learn", false,
		"go on learning from what comes in; a model that is better on recent events takes over")
	if err := cmd.MarkFlagDirname("store"); err != nil {
		panic(err)
	}
}

// check looks at the flags alone.
func (s *serving) check() error {
	switch {
	case (s.listen.Certificate == "") != (s.listen.Key == ""):
		return usagef("--tls-cert and --tls-key belong together")
	case s.snapshot < 1:
		return usagef("--snapshot-every is %d, must be at least 1", s.snapshot)
	case s.limits.Rate < 0 || s.limits.Body < 1 || s.limits.Batch < 1 || s.limits.Nodes < 1 || s.limits.Timeout <= 0:
		return usagef("--rate, --max-body, --max-batch, --max-nodes and --timeout must be above 0")
	case !serve.Loopback(s.listen.Address) && s.tokens == "" && !s.anyone:
		return usagef("--listen %s lets other machines in: want --tokens with a file of who may do what, "+
			"or --insecure if everybody may do everything", s.listen.Address)
	case s.log == "" && (s.stream != "" || s.monitor != nil):
		return usagef("--stream and --nats-monitor belong to --log")
	case s.log != "" && !strings.HasPrefix(s.log, "nats://") && !strings.HasPrefix(s.log, "tls://"):
		return usagef("--log is %q, must be the address of a NATS server, such as nats://127.0.0.1:4222", s.log)
	}
	if s.limits.Rate == 0 {
		s.limits.Rate = -1
	}
	return checkOrder(s.order)
}

// open is the data set and the checkpoint.
func (s *serving) open(ctx context.Context, a *app) (file string, set *dataset.Set, err error) {
	if file, err = s.from.file(); err != nil {
		return "", nil, err
	}
	if err := s.data.recall(file); err != nil {
		return "", nil, err
	}
	if set, err = s.data.open(ctx, a); err != nil {
		return "", nil, err
	}
	s.data.compare(a, file, set)
	return file, set, nil
}

func (s *serving) run(ctx context.Context, a *app) error {
	if err := s.check(); err != nil {
		return err
	}
	o := serve.Options{Limits: s.limits, Learn: s.learn, Logger: a.log(), Quality: true}
	if s.tokens != "" {
		tokens, err := serve.ReadTokens(s.tokens)
		if err != nil {
			return err
		}
		o.Tokens = tokens
	} else if serve.Loopback(s.listen.Address) {
		o.Hosts = []string{"localhost", "127.0.0.1", "::1"}
	}
	port, err := serve.Listen(s.listen)
	if err != nil {
		return err
	}
	defer port.Close()
	file, set, err := s.open(ctx, a)
	if err != nil {
		return err
	}
	defer set.Close()
	dev, err := s.where.open(a)
	if err != nil {
		return err
	}
	defer dev.Close()
	o.Set, o.Checkpoint = set, file
	o.Load = s.what.load(s.order, dev, s.where)
	if err := s.keep(ctx, a, &o); err != nil {
		return err
	}
	defer o.Log.Close()
	server, err := serve.New(ctx, o)
	if err != nil {
		return loadError(err)
	}
	reloads := make(chan os.Signal, 1)
	signal.Notify(reloads, syscall.SIGHUP)
	defer signal.Stop(reloads)
	over := make(chan struct{})
	defer close(over)
	go func() {
		for {
			select {
			case <-reloads:
				if _, err := server.Reload(ctx, ""); err != nil {
					a.log().Error("the model stays as it is: " + err.Error())
				}
			case <-over:
				return
			}
		}
	}()
	fmt.Fprintln(a.err, "listening on "+port.URL())
	err = server.Serve(ctx, port)
	end := server.Summary()
	if err := errors.Join(err, server.Close()); err != nil {
		return err
	}
	return a.emit(end, func(w io.Writer, _ term.Style) error {
		_, err := fmt.Fprintf(w, "served %s events, %s of them came in, until sequence %d\n", term.Count(end.Events),
			term.Count(end.Came), end.Last)
		return err
	})
}
