package serve

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// tracerName is the instrumentation scope of the server's spans.
const tracerName = "github.com/dygmamba/dygmamba/serve"

// traceRequest begins the span of a request, a child of the client's span where the request names one. The caller calls
// end with the status of the answer. Without Options.Tracing, and for metrics and pages, it does nothing.
func (s *Server) traceRequest(what route, r *http.Request, id string) (traced *http.Request,
	end func(status int, err error)) {
	if s.options.Tracing == nil || what.how&aside != 0 {
		return r, func(int, error) {}
	}
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := s.options.Tracing.Tracer(tracerName).Start(ctx, what.pattern,
		trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("http.request.method", r.Method),
			attribute.String("http.route", what.path()), attribute.String("request_id", id)))
	return r.WithContext(ctx), func(status int, err error) {
		span.SetAttributes(attribute.Int("http.response.status_code", status))
		if status >= http.StatusInternalServerError && err != nil {
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}

// tracePart begins a part of a traced request. It does nothing for other requests. Calling end again does nothing.
func tracePart(ctx context.Context, name string) (end func()) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return func() {}
	}
	_, part := parent.TracerProvider().Tracer(tracerName).Start(ctx, name)
	return func() { part.End() }
}

// traceID is the id of the trace that a request belongs to, "" if it is not traced.
func traceID(ctx context.Context) string {
	if c := trace.SpanContextFromContext(ctx); c.IsValid() {
		return c.TraceID().String()
	}
	return ""
}
