package serve

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba"
)

// systemd is told that the server is ready, and that it is alive.
func TestNotify(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("has no such sockets")
	}
	if err := Notify("READY=1"); err != nil {
		t.Error("nobody asked:", err)
	}
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", "20000")
	if err := Notify("READY=1"); err != nil {
		t.Fatal(err)
	}
	s := newWorld(t, dygmamba.DefaultModel).server(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go s.Watchdog(ctx)
	socket.SetReadDeadline(time.Now().Add(5 * time.Second))
	for _, want := range []string{"READY=1", "WATCHDOG=1", "WATCHDOG=1"} {
		buf := make([]byte, 100)
		if n, err := socket.Read(buf); err != nil || string(buf[:n]) != want {
			t.Errorf("%q, %v; want %s", buf[:n], err, want)
		}
	}
}

// What an alert or a dashboard needs is there.
func TestGauges(t *testing.T) {
	w := newWorld(t, dygmamba.DefaultModel)
	s, closed, err := w.stored(t, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closed()
	ask[receiptDoc](t, s, "POST", "/v1/events", w.body(0, 3))
	text := call(s.Handler(), "GET", "/metrics", "").Body.String()
	for _, name := range []string{"dygmamba_requests_running 0", "dygmamba_uploads 0", "dygmamba_log_lag_events 0",
		"dygmamba_snapshot_age_seconds", "dygmamba_snapshot_failures_total 0", "dygmamba_snapshot_behind_events 3",
		"dygmamba_disk_free_bytes", `dygmamba_queue{lane="rank"} 0`, "dygmamba_build_info{",
		"dygmamba_learning_attempts", "dygmamba_memory_live_bytes", "dygmamba_streams 0", "dygmamba_draining 0",
		"dygmamba_ready 1"} {
		if !strings.Contains(text, "\n"+name) {
			t.Errorf("no %s", name)
		}
	}
}

// The dashboard and the alerts use metrics that the server has.
func TestDeployedMetrics(t *testing.T) {
	w := newWorld(t, dygmamba.DefaultModel)
	s := w.server(t, nil)
	ask[scoresDoc](t, s, "POST", "/v1/score", `{"queries": [{"src": 1, "dst": 2}]}`)
	have := call(s.Handler(), "GET", "/metrics", "").Body.String()
	for _, file := range []string{"grafana.json", "alerts.yml"} {
		text, err := os.ReadFile(filepath.Join("..", "deploy", file))
		if err != nil {
			t.Fatal(err)
		}
		names := regexp.MustCompile(`\bdygmamba_[a-z_]+`).FindAllString(string(text), -1)
		if len(names) < 8 {
			t.Errorf("%s: %d metrics", file, len(names))
		}
		for _, name := range names {
			if !strings.Contains(have, "\n"+name+"{") && !strings.Contains(have, "\n"+name+" ") {
				t.Errorf("%s: there is no metric %s", file, name)
			}
		}
	}
}
