package serve

import (
	"net/http"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// A traced request has the client's trace, and its parts are children of its span.
func TestTraces(t *testing.T) {
	w := newWorld(t, dygmamba.DefaultModel)
	spans := tracetest.NewSpanRecorder()
	s := w.server(t, func(o *Options) { o.Tracing = sdk.NewTracerProvider(sdk.WithSpanProcessor(spans)) })
	const trace = "0af7651916cd43dd8448eb211c80319c"
	header := []string{"traceparent", "00-" + trace + "-b7ad6b7169203331-01"}
	n := w.early.Log.Len()
	for _, q := range []struct {
		path, body string
		status     int
		parts      []string
	}{
		{"/v1/events", w.body(n, n+1), 200, []string{"read the events", "append to the log and apply"}},
		{"/v1/score", `{"queries": [{"src": 1, "dst": 2}]}`, 200, []string{"wait for the model", "score"}},
		{"/v1/rank", `{"src": 1, "k": 1}`, 200, []string{"wait for the model", "answer"}},
		{"/v1/score", `{}`, 400, nil},
	} {
		spans.Reset()
		if got := call(s.Handler(), "POST", q.path, q.body, header...); got.Code != q.status {
			t.Fatalf("%s: %d %s", q.path, got.Code, got.Body)
		}
		all := spans.Ended()
		root := all[len(all)-1]
		if root.Name() != "POST "+q.path || root.SpanContext().TraceID().String() != trace ||
			root.Parent().SpanID().String() != "b7ad6b7169203331" || root.Status().Code == codes.Error {
			t.Errorf("%s: the last span is %s of %v under %v, %v", q.path, root.Name(), root.SpanContext().TraceID(),
				root.Parent().SpanID(), root.Status())
		}
		if want := attribute.Int("http.response.status_code", q.status); !slices.Contains(root.Attributes(), want) {
			t.Errorf("%s: %v lacks %v", q.path, root.Attributes(), want)
		}
		var parts []string
		for _, x := range all[:len(all)-1] {
			parts = append(parts, x.Name())
			if x.Parent().SpanID() != root.SpanContext().SpanID() {
				t.Errorf("%s: %s is not a part of the request", q.path, x.Name())
			}
		}
		if !slices.Equal(parts, q.parts) {
			t.Errorf("%s has the parts %q, want %q", q.path, parts, q.parts)
		}
	}
	spans.Reset()
	if got := call(s.Handler(), "GET", "/metrics", ""); got.Code != http.StatusOK || len(spans.Ended()) != 0 {
		t.Errorf("metrics: %d and %d spans, want none", got.Code, len(spans.Ended()))
	}
}
