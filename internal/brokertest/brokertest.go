// Package brokertest answers: what if a NATS server goes away? Its servers run in the process of a test, or in
// processes of their own that can be killed, alone or as a cluster of three.
package brokertest

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Settings are those of a server that has on disk what it acknowledges, and listens where there is room.
func Settings(dir string) *server.Options {
	return &server.Options{
		Host: "127.0.0.1", Port: -1, HTTPHost: "127.0.0.1", HTTPPort: -1, NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: dir, SyncAlways: true, JetStreamMaxStore: 1 << 30, JetStreamMaxMemory: 1 << 26,
	}
}

// Run runs a server in this process until the test ends.
func Run(t testing.TB, o *server.Options) *server.Server {
	t.Helper()
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server is not ready")
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}
