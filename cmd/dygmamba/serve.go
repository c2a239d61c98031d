package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/eventlog/embedded"
	"github.com/dygmamba/dygmamba/eventlog/jetstream"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/serve"
)

func newServe(a *app) *cobra.Command {
	var s serving
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Take events over HTTP while they happen, and predict with a trained model",
		Args:  takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s.note(cmd)
			if err := configured(cmd); err != nil {
				return err
			}
			return s.run(cmd.Context(), a)
		},
	}
	s.add(cmd)
	cmd.AddCommand(newServeVerify(a), newServeExport(a), newServeBackup(a), newServeRestore(a))
	return cmd
}

type serving struct {
	loadFlags
	listen   serve.Listening
	store    string // --store
	log      string // --log
	stream   string // --stream
	monitor  []string
	tokens   string   // --tokens
	anyone   bool     // --insecure
	snapshot int      // --snapshot-every
	reload   []string // --reload-dir
	retain   string   // --retain
	ahead    string   // --max-ahead
	nats     jetstream.Options
	config   string // --config
	only     bool   // --check
	format   string // --log-format
	requests bool   // --log-requests
	given    []givenFlag
	limits   serve.Limits
	learn    serve.Learning
	surprise serve.Surprises
}

func (s *serving) add(cmd *cobra.Command) {
	s.loadFlags.add(cmd, modelNames)
	flags := cmd.Flags()
	flags.StringVar(&s.listen.Address, "listen", "127.0.0.1:8080", "`address` to listen on; port 0 takes a free port")
	dirVar(cmd, &s.store, "store", "`directory` to store events and snapshots in; created if it does not exist")
	flags.StringVar(&s.log, "log", "",
		"NATS JetStream server to store events in, such as `nats://127.0.0.1:4222`; "+
			"--store is then for snapshots only")
	flags.StringVar(&s.stream, "stream", "", "`name` of the JetStream stream (default: dygmamba)")
	flags.StringSliceVar(&s.monitor, "nats-monitor", nil,
		"monitoring `addresses` of the NATS servers, such as http://127.0.0.1:8222, "+
			"to check that they sync every event to disk")
	flags.StringVar(&s.nats.Credentials, "nats-creds", "", "`file` of the credentials of a NATS user")
	flags.StringVar(&s.nats.CA, "nats-ca", "", "`file` of the authorities of the NATS servers' certificates")
	flags.StringVar(&s.nats.Certificate, "nats-cert", "", "`file` of a client certificate for the NATS servers")
	flags.StringVar(&s.nats.Key, "nats-key", "", "`file` of the key of --nats-cert")
	flags.IntVar(&s.snapshot, "snapshot-every", 1_000_000, "number of events between two snapshots")
	flags.StringVar(&s.tokens, "tokens", "", "`file` of bearer tokens, one line per token: NAME RIGHTS TOKEN")
	flags.BoolVar(&s.anyone, "insecure", false, "allow requests from other machines without tokens")
	flags.StringVar(&s.listen.Certificate, "tls-cert", "", "`file` of the TLS certificate")
	flags.StringVar(&s.listen.Key, "tls-key", "", "`file` of the key of the TLS certificate")
	flags.StringVar(&s.listen.ClientCA, "tls-client-ca", "",
		"`file` of authorities; clients must have a certificate of one of them")
	flags.StringSliceVar(&s.reload, "reload-dir", nil,
		"`directory` from which /v1/admin/reload may load checkpoints; repeatable (default: only that of the run)")
	flags.Float64Var(&s.limits.Rate, "rate", 0,
		"maximum requests per second and client (default: no limit)")
	flags.Int64Var(&s.limits.Body, "max-body", serve.DefaultLimits.Body, "maximum bytes of a request")
	flags.IntVar(&s.limits.Batch, "max-batch", serve.DefaultLimits.Batch, "maximum events of a request")
	flags.IntVar(&s.limits.Nodes, "max-nodes", serve.DefaultLimits.Nodes,
		"maximum number of nodes; no events are taken beyond that")
	flags.IntVar(&s.limits.Events, "max-events", 0,
		"maximum number of events in memory, those of --data included; more are refused (default: no limit)")
	flags.StringVar(&s.retain, "retain", "",
		"`period` for which events are kept, such as 90d; older ones are dropped in steps of a tenth of it "+
			"(default: all are kept)")
	flags.StringVar(&s.ahead, "max-ahead", "", "`period` by which the time of an event may be ahead of the clock of "+
		"this machine; later ones are refused (default: 1d for dates and Unix times, otherwise any; off: any)")
	durationVar(flags, &s.limits.Timeout, "timeout", serve.DefaultLimits.Timeout, "maximum time of a request")
	flags.IntVar(&s.limits.Targets, "max-destinations", serve.DefaultLimits.Targets,
		"maximum number of destinations that a ranking without candidates is over")
	flags.StringVar(&s.config, "config", "", "`file` with lines NAME = VALUE for flags that are not given")
	flags.BoolVar(&s.only, "check", false, "check flags, files, the run and its data, and exit")
	flags.StringVar(&s.format, "log-format", "text", "form of the log lines: `text or json`")
	flags.BoolVar(&s.requests, "log-requests", false, "write a line for every request, not only for those that fail")
	flags.StringVar(&s.listen.Health, "health-listen", "",
		"`address` of another port with only /healthz, /readyz and /metrics, without tokens")
	durationVar(flags, &s.listen.Linger, "drain-wait", 0, "time in which requests are still answered after SIGTERM, "+
		"so that load balancers notice /readyz (default: 500ms while clients are connected)")
	flags.Float64Var(&s.surprise.Bits, "surprise-bits", serve.DefaultBits,
		"with a run of the task next: list events that carry at least this many bits as surprising")
	flags.StringVar(&s.surprise.Webhook, "surprise-webhook", "",
		"with a run of the task next: `URL` to which every surprising event is posted as JSON")
	flags.BoolVar(&s.learn.On, "learn", false,
		"learn from new events; a model that is better on the latest ones takes over")
}

func (s *serving) check() error {
	_, _, malformed := net.SplitHostPort(s.listen.Address)
	switch {
	case (s.listen.Certificate == "") != (s.listen.Key == ""):
		return usagef("--tls-cert and --tls-key belong together")
	case s.listen.ClientCA != "" && s.listen.Certificate == "":
		return usagef("--tls-client-ca needs --tls-cert and --tls-key")
	case s.format != "text" && s.format != "json":
		return usagef("--log-format is %q, must be text or json", s.format)
	case (s.nats.Certificate == "") != (s.nats.Key == ""):
		return usagef("--nats-cert and --nats-key belong together")
	case s.log == "" && (s.nats.Credentials != "" || s.nats.CA != "" || s.nats.Certificate != ""):
		return usagef("--nats-creds, --nats-ca and --nats-cert belong to --log, which is missing")
	case s.snapshot < 1:
		return usagef("--snapshot-every is %d, must be at least 1", s.snapshot)
	case s.limits.Events < 0:
		return usagef("--max-events is %d, must be at least 0", s.limits.Events)
	case s.limits.Rate < 0 || s.limits.Body < 1 || s.limits.Batch < 1 || s.limits.Nodes < 1 || s.limits.Timeout <= 0:
		return usagef("--rate, --max-body, --max-batch, --max-nodes and --timeout must be above 0")
	case malformed != nil:
		return usagef("--listen is %q, must be HOST:PORT, such as 127.0.0.1:8080 or :8080", s.listen.Address)
	case !serve.Loopback(s.listen.Address) && s.tokens == "" && !s.anyone:
		return usagef("--listen %s lets other machines connect: want --tokens FILE, or --insecure to allow all "+
			"requests", s.listen.Address)
	case s.log == "" && (s.stream != "" || s.monitor != nil):
		return usagef("--stream and --nats-monitor belong to --log, which is missing")
	case s.log != "" && !strings.HasPrefix(s.log, "nats://") && !strings.HasPrefix(s.log, "tls://"):
		return usagef("--log is %q, must be the address of a NATS server, such as nats://127.0.0.1:4222", s.log)
	}
	for _, dir := range s.reload {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return usagef("--reload-dir is %q, must be a directory", dir)
		}
	}
	if s.listen.Linger < 0 {
		return usagef("--drain-wait is %v, must not be below 0", s.listen.Linger)
	}
	s.listen.Patient = s.listen.Linger > 0
	if s.limits.Rate == 0 {
		s.limits.Rate = -1
	}
	return checkOrder(s.order)
}

func (s *serving) run(ctx context.Context, a *app) error {
	if err := s.check(); err != nil {
		return err
	}
	o, err := s.options(a)
	if err != nil {
		return err
	}
	if s.only {
		return s.tryOut(ctx, a)
	}
	s.listen.Logger = o.Logger
	a.slow.Store(new(func() {
		o.Logger.Info("still stopping; a second signal stops the server at once")
	}))
	if traces, err := tracing(ctx, o.Logger); err != nil {
		return err
	} else if traces != nil {
		o.Tracing = traces
		defer endTracing(traces, o.Logger)
	}
	port, err := serve.Listen(s.listen)
	if err != nil {
		return err
	}
	defer port.Close()
	port.Answer()
	o.Phase = port.Phase
	started, err := startOrStop(ctx, stopPatience, func() (*startedServer, error) { return s.start(ctx, a, o) })
	if err != nil {
		return err
	}
	if started == nil {
		a.log().Info("stopped before the server was ready")
		return a.emit(serve.Summary{}, func(io.Writer, term.Style) error { return nil })
	}
	server := started.server
	defer started.close()
	defer s.reloads(ctx, a, server, port)()
	port.Use(server) // before anybody is told
	fmt.Fprintln(a.err, "listening on "+port.URL())
	if err := serve.Notify("READY=1"); err != nil {
		o.Logger.Warn("tell systemd: " + err.Error())
	}
	watching, unwatch := context.WithCancel(ctx)
	defer unwatch()
	go server.Watchdog(watching)
	err = server.Serve(ctx, port)
	end := server.Summary()
	if err := errors.Join(err, server.Close()); err != nil {
		return err
	}
	return a.emit(end, func(w io.Writer, _ term.Style) error {
		_, err := fmt.Fprintf(w, "%s events, %s received since start, last sequence %d\n", term.Count(end.Events),
			term.Count(end.Received), end.Last)
		return err
	})
}

// startedServer is a server and what is to be closed after it.
type startedServer struct {
	server *serve.Server
	close  func()
}

// start opens the run, its data and the event log, and starts the server.
func (s *serving) start(ctx context.Context, a *app, o serve.Options) (_ *startedServer, err error) {
	var closers []func()
	out := &startedServer{close: func() {
		for _, f := range slices.Backward(closers) {
			f()
		}
	}}
	defer func() {
		if err != nil {
			out.close()
		}
	}()
	o.Phase("reading the run and its data")
	opened, err := s.open(ctx, a)
	if err != nil {
		return nil, err
	}
	closers = append(closers, func() { opened.close() })
	o.Set, o.Checkpoint, o.Load = opened.set, opened.files[0], opened.load
	if o.Retain.Period, o.MaxAhead, err = s.periods(opened.set); err != nil {
		return nil, err
	}
	o.Phase("opening the event log")
	if err := s.keep(ctx, a, &o); err != nil {
		return nil, err
	}
	closers = append(closers, func() { o.Log.Close() })
	limitGarbage()
	if out.server, err = serve.New(ctx, o); err != nil {
		return nil, loadError(err)
	}
	return out, nil
}

// maxAhead is how far ahead times may be in the unit of a data set, 0: any.
func (s *serving) maxAhead(set *dataset.Set) (float64, error) {
	known := set.Clock().Known()
	text := s.ahead
	switch {
	case text == "off" || text == "" && !known:
		return 0, nil
	case text == "":
		text = "1d"
	case !known:
		return 0, usagef("--max-ahead is %q, but the times of %s are neither dates nor Unix times, so no clock tells "+
			"which of them are ahead; want off", text, set.Name)
	}
	p, err := parsePeriod("--max-ahead", text)
	if err != nil {
		return 0, err
	}
	return p.in(set)
}

// stopPatience is how long a start that is interrupted may take to end by itself.
const stopPatience = 2 * time.Second

// startOrStop starts something. When ctx ends before that it returns nil, without waiting for long: nothing was
// acknowledged yet, so nothing is lost with what goes on until the process ends.
func startOrStop[T any](ctx context.Context, patience time.Duration, start func() (*T, error)) (*T, error) {
	type outcome struct {
		it  *T
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		it, err := start()
		done <- outcome{it, err}
	}()
	select {
	case o := <-done:
		if o.err != nil && ctx.Err() != nil {
			return nil, nil
		}
		return o.it, o.err
	case <-ctx.Done():
	}
	select {
	case o := <-done:
		return o.it, nil
	case <-time.After(patience):
		return nil, nil
	}
}

// options are those that flags alone decide.
func (s *serving) options(a *app) (o serve.Options, err error) {
	o = serve.Options{Limits: s.limits, Learn: s.learn, Surprises: s.surprise, Logger: s.logger(a),
		Quality: true, Models: s.reload, LogRequests: s.requests}
	if s.retain != "" {
		if _, err := parsePeriod("--retain", s.retain); err != nil {
			return o, err
		}
	}
	if s.ahead != "" && s.ahead != "off" {
		if _, err := parsePeriod("--max-ahead", s.ahead); err != nil {
			return o, err
		}
	}
	if s.tokens != "" {
		o.Tokens, err = serve.ReadTokens(s.tokens)
	} else if serve.Loopback(s.listen.Address) {
		o.Hosts = []string{"localhost", "127.0.0.1", "::1"}
	}
	return o, err
}

// natsOptions are how the event log of --log is opened.
func (s *serving) natsOptions() jetstream.Options {
	o := s.nats
	o.Stream, o.Monitor = s.stream, s.monitor
	return o
}

// logger writes log lines in the form of --log-format.
func (s *serving) logger(a *app) *slog.Logger {
	if s.format == "json" {
		return slog.New(slog.NewJSONHandler(a.err, nil))
	}
	return a.log()
}

// reconfigure reads tokens, certificates and limits again. After an error all stay as they are.
func (s *serving) reconfigure(a *app, server *serve.Server, port *serve.Listener) error {
	fresh, err := s.again()
	if err != nil {
		return err
	}
	o, err := fresh.options(a)
	if err != nil {
		return err
	}
	if err := port.ReloadCertificates(); err != nil {
		return err
	}
	server.Configure(serve.Settings{Limits: o.Limits, Tokens: o.Tokens})
	return nil
}

// periods are --retain and --max-ahead in the unit of a data set's times; 0: none.
func (s *serving) periods(set *dataset.Set) (retain, ahead float64, err error) {
	if s.retain != "" {
		p, err := parsePeriod("--retain", s.retain)
		if err == nil {
			retain, err = p.in(set)
		}
		if err != nil {
			return 0, 0, err
		}
	}
	ahead, err = s.maxAhead(set)
	return retain, ahead, err
}

// tryOut checks all that a start needs, without starting.
func (s *serving) tryOut(ctx context.Context, a *app) error {
	if err := s.listen.Check(); err != nil {
		return err
	}
	opened, err := s.open(ctx, a)
	if err != nil {
		return err
	}
	defer opened.close()
	if _, _, err := s.periods(opened.set); err != nil {
		return err
	}
	if s.store != "" {
		if _, err := os.Stat(s.store); err == nil {
			if _, err := os.ReadDir(s.store); err != nil {
				return fmt.Errorf("--store: %w", err)
			}
		}
	}
	doc := struct {
		Checkpoint string `json:"checkpoint"`
		Data       string `json:"data"`
		Events     int    `json:"events"`
	}{opened.files[0], opened.set.Name, opened.set.Log.Len()}
	return a.emit(doc, func(w io.Writer, _ term.Style) error {
		_, err := fmt.Fprintf(w, "ok: %s, %s events of %s\n", doc.Checkpoint, term.Count(doc.Events), doc.Data)
		return err
	})
}

// reloads loads tokens, certificates, limits and the checkpoint again at every SIGHUP, until stop is called.
func (s *serving) reloads(ctx context.Context, a *app, server *serve.Server, port *serve.Listener) (stop func()) {
	hangups, over := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for {
			select {
			case <-hangups:
				log := s.logger(a)
				if err := s.reconfigure(a, server, port); err != nil {
					log.Error("tokens, certificates and limits stay as they are: " + err.Error())
				} else {
					log.Info("read tokens, certificates and limits again")
				}
				if err := server.Reload(ctx, ""); err != nil {
					log.Error("the model stays as it is: " + err.Error())
				}
			case <-over:
				return
			}
		}
	}()
	return func() {
		signal.Stop(hangups)
		close(over)
	}
}

// keep opens the event log that the flags name.
func (s *serving) keep(ctx context.Context, a *app, o *serve.Options) (err error) {
	if s.store != "" {
		if err := os.MkdirAll(s.store, 0o755); err != nil {
			return fmt.Errorf("--store: %w", err)
		}
		o.Snapshots = serve.Snapshots{File: filepath.Join(s.store, "snapshot"), Every: s.snapshot}
		o.Learn.Dir = filepath.Join(s.store, "learned")
	}
	o.Durable = true
	switch {
	case s.log != "":
		within, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		o.Log, err = jetstream.Open(within, s.log, s.natsOptions())
	case s.store != "":
		o.Log, err = embedded.Open(s.store,
			embedded.Options{Cut: func(what string) { s.logger(a).Warn("event log: " + what) }})
	default:
		log := eventlog.NewMemory()
		o.Log, o.Applied, o.Durable = log, log.Forget, false // the server has them: once is enough
		s.logger(a).Warn("no --store: events are lost when the server stops")
	}
	if errors.Is(err, eventlog.ErrDamaged) {
		err = &inputError{err}
	}
	return err
}
