package serve

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are the values of /metrics and of the page.
type metrics struct {
	registry *prometheus.Registry
	handler  http.Handler
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	events   prometheus.Counter
	again    prometheus.Counter
	passes   prometheus.Histogram
	failed   prometheus.Counter // snapshots
	recent   latencies
}

func newMetrics(s *Server) *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	m.requests = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dygmamba_requests_total",
		Help: "Requests, by route and status."}, []string{"route", "status"})
	m.seconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "dygmamba_request_seconds",
		Help:    "Time that requests took, by route.",
		Buckets: []float64{.00025, .0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30}},
		[]string{"route"})
	m.events = prometheus.NewCounter(prometheus.CounterOpts{Name: "dygmamba_events_accepted_total",
		Help: "Events that this server acknowledged."})
	m.again = prometheus.NewCounter(prometheus.CounterOpts{Name: "dygmamba_batches_again_total",
		Help: "Batches with an idempotency key that was seen before."})
	m.passes = prometheus.NewHistogram(prometheus.HistogramOpts{Name: "dygmamba_pass_queries",
		Help: "Queries scored in one pass.", Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128, 256}})
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	m.failed = prometheus.NewCounter(prometheus.CounterOpts{Name: "dygmamba_snapshot_failures_total",
		Help: "Snapshots that could not be written."})
	m.registry.MustRegister(s.gauges()...)
	m.registry.MustRegister(m.requests, m.seconds, m.events, m.again, m.passes, m.failed,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		gauge("dygmamba_events", "Known events.", func() float64 { return float64(s.engine.now().Len()) }),
		gauge("dygmamba_last_sequence", "Sequence of the last known event.",
			func() float64 { return float64(s.engine.now().Last) }),
		gauge("dygmamba_log_last_sequence", "Sequence of the last event in the log.",
			func() float64 { return float64(s.options.Log.Last()) }),
		gauge("dygmamba_nodes", "Known nodes.", func() float64 { return float64(s.engine.names().count()) }),
		gauge("dygmamba_generation", "Number of the current model.",
			func() float64 { return float64(s.models.current.Load().Number) }),
		gauge("dygmamba_ready", "1 while the server takes events.", func() float64 {
			if s.ready() != nil {
				return 0
			}
			return 1
		}),
		gauge("dygmamba_memory_live_bytes", "Memory of objects that the last garbage collection found in use.",
			func() float64 { return float64(s.room.usage().live) }),
		gauge("dygmamba_memory_limit_bytes", "Memory that the process should not exceed.",
			func() float64 { return float64(s.room.usage().limit) }),
		gauge("dygmamba_memory_refusal_bytes", "Live memory above which events are refused; 0: no limit is known.",
			func() float64 { return s.room.refusal() }),
		gauge("dygmamba_memory_free_bytes", "Memory that the machine and the control groups leave.",
			func() float64 { return float64(s.room.usage().free) }),
		gauge("dygmamba_retention_cut", "Time before which events were dropped; 0: none were.",
			func() float64 {
				if cut := s.engine.epoch.Load().cut; !math.IsInf(cut, -1) {
					return cut
				}
				return 0
			}),
		gauge("dygmamba_live_ap", "Average precision on recent events, scored before the model saw them.",
			func() float64 { return s.quality.now().Model.AP }),
		gauge("dygmamba_live_mrr", "Mean reciprocal rank on recent events, scored before the model saw them.",
			func() float64 { return s.quality.now().Model.MRR }),
		gauge("dygmamba_live_mrr_met", "Mean reciprocal rank of EdgeBank on the same events.",
			func() float64 { return s.quality.now().Met.MRR }),
	)
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	return m
}

func (m *metrics) request(route string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
	if status == 200 && route == "POST /v1/score" {
		m.recent.add(took)
	}
}

func (s *Server) getMetrics(w http.ResponseWriter, r *http.Request) (any, error) {
	s.metrics.handler.ServeHTTP(w, r)
	return nil, nil
}
