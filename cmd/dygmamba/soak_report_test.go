package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// soakReport is the figures of a soak. Spans of time are in seconds, latencies in milliseconds.
type soakReport struct {
	Seconds    float64 `json:"seconds"`
	Retain     float64 `json:"retain_s"`
	CPUs       int     `json:"cpus"`
	Throughput float64 `json:"throughput_rounds_per_s"` // that the servers answer at most
	Reached    float64 `json:"load_rounds_per_s"`       // that they were sent and answered: about half of it
	Round      string  `json:"round"`

	Events     int          `json:"events"`
	Scores     int          `json:"scores"`
	Rankings   int          `json:"rankings"`
	Reloads    int          `json:"reloads"`
	Kills      []soakSpan   `json:"kills"`
	Failed     int          `json:"failed_attempts"`         // at a server that was not killed
	FailedElse int          `json:"failed_attempts_no_kill"` // of them when nothing was killed
	FirstFails []string     `json:"first_failures,omitempty"`
	Behind     int          `json:"behind"`  // requests that waited more than a second for a client
	First      soakLatency  `json:"first"`   // scores of the first sixth, without those during kills
	Last       soakLatency  `json:"last"`    // scores of the last sixth
	Minutes    []soakMinute `json:"minutes"` // or sixths of a short run
	MemoryThen float64      `json:"memory_second_sixth_mib"`
	MemoryLast float64      `json:"memory_last_sixth_mib"`
	MemoryMost float64      `json:"memory_most_mib"` // of one server at any time
	Checks     []string     `json:"checks"`          // what was done after the load, and what it found
	Problems   []string     `json:"problems"`
}

// soakSeen is what was noted during a soak.
type soakSeen struct {
	kills    []soakSpan
	memory   []soakMemory
	reloads  int
	scores   []soakTime
	rankings []soakTime
	ingests  []soakTime
	failed   []soakFailure
	stale    []string
	behind   int
}

type soakLatency struct {
	N   int     `json:"n"`
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
	Max float64 `json:"max_ms"`
}

type soakMinute struct {
	From   float64     `json:"from_s"`
	Score  soakLatency `json:"score"` // without those during kills
	Rank   soakLatency `json:"rank"`
	Ingest soakLatency `json:"ingest"`
	All    soakLatency `json:"score_with_kills"`
	Memory float64     `json:"memory_mib"`
	Known  float64     `json:"events_known"`
	Load   float64     `json:"load_average"` // of the machine, over a minute
}

// soakMemory is the resident memory of the servers, the median of those that run and the most, and the events they
// know. Load is the number of processes of the machine that want to run.
type soakMemory struct{ at, bytes, most, known, load float64 }

func newSoakReport(d, retain time.Duration) soakReport {
	return soakReport{Seconds: d.Seconds(), Retain: retain.Seconds(), CPUs: runtime.NumCPU(),
		Problems: []string{}, Checks: []string{},
		Round: fmt.Sprintf("%d events, %d scores, %.1f rankings", soakEvents, soakScores, 1.0/soakRank)}
}

func (r *soakReport) problem(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// finish computes the figures and says what is wrong with them.
func (r *soakReport) finish(s soakSeen) {
	r.Events, r.Scores, r.Rankings = soakEvents*len(s.ingests), len(s.scores), len(s.rankings)
	r.Reloads, r.Kills, r.Behind = s.reloads, s.kills, s.behind
	r.Reached = float64(len(s.ingests)) / r.Seconds
	r.failures(s)
	r.latencies(s)
	sixth := r.Seconds / 6
	r.MemoryThen, r.MemoryLast = s.mean(sixth, 2*sixth).bytes, s.mean(5*sixth, r.Seconds).bytes
	for _, m := range s.memory {
		r.MemoryMost = max(r.MemoryMost, m.most/(1<<20))
	}
	r.judge(s)
}

// latencies computes those of the first and the last sixth, and of each minute.
func (r *soakReport) latencies(s soakSeen) {
	sixth := r.Seconds / 6
	quiet := slices.DeleteFunc(slices.Clone(s.scores), func(x soakTime) bool { return s.killing(x.at, x.took) })
	r.First, r.Last = within(quiet, 0, sixth), within(quiet, 5*sixth, r.Seconds)
	step := min(60, sixth)
	for from := 0.0; from < r.Seconds-1; from += step {
		mean := s.mean(from, from+step)
		r.Minutes = append(r.Minutes, soakMinute{From: from, Score: within(quiet, from, from+step),
			All: within(s.scores, from, from+step), Rank: within(s.rankings, from, from+step),
			Ingest: within(s.ingests, from, from+step), Memory: mean.bytes, Known: mean.known, Load: mean.load})
	}
}

// judge notes what is not as it should be.
func (r *soakReport) judge(s soakSeen) {
	for _, text := range s.stale {
		r.problem("%s", text)
	}
	switch {
	case r.First.N == 0 || r.Last.N == 0:
		r.problem("no scores without kills in the first or the last sixth")
	case r.Last.P99 > 1.2*r.First.P99:
		r.problem("p99 of scores: %.1f ms in the last sixth, %.1f ms in the first", r.Last.P99, r.First.P99)
	}
	if r.MemoryLast > 1.2*r.MemoryThen {
		r.problem("memory: %.0f MiB in the last sixth, %.0f MiB in the second", r.MemoryLast, r.MemoryThen)
	}
	if r.Reloads == 0 || len(r.Kills) < 5 {
		r.problem("%d reloads and %d kills", r.Reloads, len(r.Kills))
	}
	if r.Reached < 0.45*r.Throughput {
		r.problem("%.1f rounds/s were answered, want half of %.1f", r.Reached, r.Throughput)
	}
}

func (r *soakReport) failures(s soakSeen) {
	for _, f := range s.failed {
		r.Failed++
		if !s.killing(f.at, 0) {
			r.FailedElse++
			if len(r.FirstFails) < 10 {
				r.FirstFails = append(r.FirstFails, fmt.Sprintf("%.1f s: %s", f.at, f.err))
			}
		}
	}
}

// killing says whether a request falls into the time around a kill.
func (s soakSeen) killing(at float64, took time.Duration) bool {
	return slices.ContainsFunc(s.kills, func(k soakSpan) bool { return at <= k.To && at+took.Seconds() >= k.From })
}

// mean is that of the servers' memory in MiB, of the events that they know, and of the load in a span of time.
func (s soakSeen) mean(from, to float64) (sum soakMemory) {
	n := 0.0
	for _, m := range s.memory {
		if m.at >= from && m.at < to {
			sum.bytes, sum.known, sum.load, n = sum.bytes+m.bytes/(1<<20), sum.known+m.known, sum.load+m.load, n+1
		}
	}
	if n == 0 {
		return soakMemory{}
	}
	return soakMemory{bytes: sum.bytes / n, known: sum.known / n, load: sum.load / n}
}

func within(list []soakTime, from, to float64) soakLatency {
	var ms []float64
	for _, x := range list {
		if x.at >= from && x.at < to {
			ms = append(ms, float64(x.took.Microseconds())/1000)
		}
	}
	if len(ms) == 0 {
		return soakLatency{}
	}
	slices.Sort(ms)
	return soakLatency{len(ms), ms[len(ms)/2], ms[len(ms)*99/100], ms[len(ms)-1]}
}

// watch notes the memory of the servers now and then.
func (s *soak) watch(ctx context.Context, every time.Duration) {
	for pause(ctx, every) {
		var bytes, known []float64
		for _, r := range s.replicas {
			if r.dead.Load() {
				continue
			}
			doc, err := soakStatus(ctx, *r.url.Load())
			if rss := resident(r.cmd.Process.Pid); err == nil && rss > 0 {
				bytes, known = append(bytes, rss), append(known, float64(doc.Events))
			}
		}
		if len(bytes) > 0 {
			slices.Sort(bytes)
			slices.Sort(known)
			s.mu.Lock()
			s.memory = append(s.memory, soakMemory{s.since(), bytes[len(bytes)/2], bytes[len(bytes)-1],
				known[len(known)/2], loadAverage()})
			s.mu.Unlock()
		}
	}
}

// loadAverage is the machine's, over a minute.
func loadAverage() (load float64) {
	if raw, err := os.ReadFile("/proc/loadavg"); err == nil {
		fmt.Sscan(string(raw), &load)
	}
	return load
}

// resident is the resident memory of a process in bytes.
func resident(pid int) float64 {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "VmRSS:"); ok {
			kib, _ := strconv.ParseFloat(strings.Fields(text)[0], 64)
			return 1024 * kib
		}
	}
	return 0
}

// soakStatusDoc is what a soak looks at in the status of a server.
type soakStatusDoc struct {
	Events    int
	Last      uint64
	Retention struct {
		Cut    float64
		Moving bool
	}
}

func soakStatus(ctx context.Context, url string) (doc soakStatusDoc, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/v1/status", nil)
	if err != nil {
		return doc, err
	}
	answer, err := soakHTTP(20 * time.Second).Do(r)
	if err != nil {
		return doc, err
	}
	defer answer.Body.Close()
	return doc, json.NewDecoder(answer.Body).Decode(&doc)
}

// save writes the figures to the file that the environment names.
func (r *soakReport) save(t *testing.T) []byte {
	t.Helper()
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Error(err)
	}
	if out := os.Getenv("DYGMAMBA_SOAK_OUT"); out != "" {
		if err := os.WriteFile(out, append(raw, '\n'), 0o644); err != nil {
			t.Error(err)
		}
	}
	return raw
}
