package main

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// tracing sends the spans of requests to the OTLP endpoint that OpenTelemetry's environment variables name. It returns
// nil where they name none. The caller ends it, which sends what is left.
func tracing(ctx context.Context, log *slog.Logger) (*sdk.TracerProvider, error) {
	traces := os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if traces == "" && os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" ||
		strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if p := os.Getenv(name); p != "" {
			if p != "http/protobuf" {
				return nil, usagef("%s is %q, must be http/protobuf", name, p)
			}
			break // the first one counts
		}
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(), resource.WithAttributes(
		attribute.String("service.name", "dygmamba"),
		attribute.String("service.version", cmp.Or(release, "devel"))),
		resource.WithFromEnv()) // last: OTEL_SERVICE_NAME wins
	if err != nil {
		return nil, err
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces: " + err.Error()) }))
	return sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about)), nil
}

// endTracing sends the spans that were not sent yet, for a short time.
func endTracing(p *sdk.TracerProvider, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if err := p.Shutdown(ctx); err != nil {
		log.Warn("traces: " + err.Error())
	}
}
