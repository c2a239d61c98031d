package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// Spans reach the endpoint that the environment names, also those that end right before the server does.
func TestTracesReachTheCollector(t *testing.T) {
	var got atomic.Pointer[[]byte]
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/v1/traces" {
			got.Store(&body)
		}
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_SERVICE_NAME", "shop-ranking")
	log := slog.New(slog.DiscardHandler)
	p, err := tracing(context.Background(), log)
	if err != nil {
		t.Fatal(err)
	}
	_, span := p.Tracer("test").Start(context.Background(), "POST /v1/score")
	span.End()
	endTracing(p, log)
	body := got.Load()
	if body == nil {
		t.Fatal("the collector received nothing")
	}
	for _, want := range []string{"POST /v1/score", "shop-ranking"} {
		if !bytes.Contains(*body, []byte(want)) {
			t.Errorf("what the collector received lacks %q", want)
		}
	}
}

func TestTracingIsOffByDefault(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
	if p, err := tracing(context.Background(), slog.New(slog.DiscardHandler)); p != nil || err != nil {
		t.Errorf("without an endpoint: %v, %v", p, err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	if _, err := tracing(context.Background(), slog.New(slog.DiscardHandler)); err == nil ||
		!strings.Contains(err.Error(), "http/protobuf") {
		t.Errorf("a protocol that is not supported: %v", err)
	}
}
