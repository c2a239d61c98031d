package serve

import (
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/dygmamba/dygmamba/internal/disk"
)

// gauges are the values of /metrics that say how the server works, rather than what it was asked.
func (s *Server) gauges() (list []prometheus.Collector) {
	for _, g := range []struct {
		name, help string
		value      func() float64
	}{
		{"dygmamba_requests_running", "Requests that are being answered.",
			func() float64 { return float64(s.limiter.requests.running.Load()) }},
		{"dygmamba_requests_running_limit", "Requests that may be answered at the same time.",
			func() float64 { return float64(s.limits().Concurrent) }},
		{"dygmamba_uploads", "Bodies that are being received.",
			func() float64 { return float64(s.limiter.uploads.count()) }},
		{"dygmamba_body_bytes", "Bytes of request bodies in memory.",
			func() float64 { return float64(s.limiter.bytes.Load()) }},
		{"dygmamba_streams", "Streams of events that are open.",
			func() float64 { return float64(s.limiter.streams.running.Load()) }},
		{"dygmamba_log_lag_events", "Events of the log that the server does not know yet.", func() float64 {
			return max(0, float64(s.options.Log.Last())-float64(s.engine.now().Last))
		}},
		{"dygmamba_snapshot_age_seconds", "Time since the last snapshot, or since the start if there is none.",
			func() float64 { return time.Since(s.snapshotter.lastDoc().Time).Seconds() }},
		{"dygmamba_snapshot_behind_events", "Events since the last snapshot.",
			func() float64 { return float64(s.engine.now().Last) - float64(s.snapshotter.lastDoc().Last) }},
		{"dygmamba_snapshot_bytes", "Size of the last snapshot.",
			func() float64 { return float64(s.snapshotter.lastDoc().Bytes) }},
		{"dygmamba_disk_free_bytes", "Space that is left on the disk of the store; −1 if it is not known.", s.diskFree},
		{"dygmamba_draining", "1 while the server stops.", func() float64 {
			if s.health.draining.Load() {
				return 1
			}
			return 0
		}},
		{"dygmamba_learning_attempts", "Attempts of --learn.",
			func() float64 { return float64(s.learning().Attempts) }},
		{"dygmamba_learning_promoted", "Attempts of --learn that took over.",
			func() float64 { return float64(s.learning().Promoted) }},
	} {
		list = append(list, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: g.name, Help: g.help}, g.value))
	}
	for lane, of := range map[string]func(*generation) *lane{
		"score": func(g *generation) *lane { return g.quick },
		"rank":  func(g *generation) *lane { return g.slow },
	} {
		list = append(list, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "dygmamba_queue",
			Help: "Requests that wait for the model.", ConstLabels: prometheus.Labels{"lane": lane}},
			func() float64 { return float64(len(of(s.models.current.Load()).jobs)) }))
	}
	return append(list, buildInfo())
}

// buildInfo is 1, with labels that say which program runs.
func buildInfo() prometheus.Collector {
	labels := prometheus.Labels{"go": runtime.Version(), "version": "unknown", "revision": "unknown"}
	if info, ok := debug.ReadBuildInfo(); ok {
		labels["version"] = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				labels["revision"] = s.Value
			}
		}
	}
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "dygmamba_build_info", Help: "The program that runs.",
		ConstLabels: labels}, func() float64 { return 1 })
}

func (s *Server) diskFree() float64 {
	if s.snapshotter.File == "" {
		return -1
	}
	free, ok := disk.Free(filepath.Dir(s.snapshotter.File))
	if !ok {
		return -1
	}
	return float64(free)
}

// learning is what --learn did so far.
func (s *Server) learning() learningDoc {
	if doc := s.learner.doc(); doc != nil {
		return *doc
	}
	return learningDoc{}
}

func (u *uploads) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.open)
}
