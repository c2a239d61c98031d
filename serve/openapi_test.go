package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba"
)

// openDoc is /v1/openapi.json.
type openDoc struct {
	Paths map[string]map[string]struct {
		RequestBody struct {
			Content map[string]struct{ Schema openSchema }
		}
		Responses map[string]struct {
			Content map[string]struct{ Schema openSchema }
		}
	}
	Components struct{ Schemas map[string]openSchema }
}

// openSchema is the part of JSON Schema that the document uses.
type openSchema struct {
	Ref        string `json:"$ref"`
	Type       any
	Required   []string
	Properties map[string]openSchema
	Items      *openSchema
	AllOf      []openSchema
	AnyOf      []openSchema
}

// flat is a schema with what it refers to and is made of. Of alternatives all properties are known, none is required.
func (d *openDoc) flat(s openSchema) openSchema {
	if s.Ref != "" {
		s = d.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	for i, part := range slices.Concat(s.AllOf, s.AnyOf) {
		part = d.flat(part)
		if i < len(s.AllOf) {
			s.Required = append(s.Required, part.Required...)
		}
		if s.Properties == nil {
			s.Properties = map[string]openSchema{}
		}
		for name, p := range part.Properties {
			s.Properties[name] = p
		}
	}
	return s
}

// check says how a document differs from a schema: wrong types, what is missing, and what the schema does not know.
func (d *openDoc) check(s openSchema, where string, value any) (wrong []string) {
	s = d.flat(s)
	is := map[bool]string{}
	switch x := value.(type) {
	case nil:
		is[true] = "null"
	case string:
		is[true] = "string"
	case bool:
		is[true] = "boolean"
	case float64:
		if is[true] = "number"; x == float64(int64(x)) {
			is[false] = "integer"
		}
	case []any:
		is[true] = "array"
		for i, item := range x {
			if s.Items != nil {
				wrong = append(wrong, d.check(*s.Items, fmt.Sprintf("%s[%d]", where, i), item)...)
			}
		}
	case map[string]any:
		is[true] = "object"
		for _, name := range s.Required {
			if _, ok := x[name]; !ok {
				wrong = append(wrong, where+"."+name+" is missing")
			}
		}
		for name, field := range x {
			if p, ok := s.Properties[name]; ok {
				wrong = append(wrong, d.check(p, where+"."+name, field)...)
			} else if s.Properties != nil {
				wrong = append(wrong, where+"."+name+" is not in the document")
			}
		}
	}
	types := strings.Fields(strings.Trim(fmt.Sprint(s.Type), "[]"))
	if s.Type != nil && !slices.Contains(types, is[true]) && !slices.Contains(types, is[false]) {
		wrong = append(wrong, fmt.Sprintf("%s is a %s, the document says %v", where, is[true], s.Type))
	}
	return wrong
}

// TestOpenAPI: the document has all routes and no others, its requests have the fields that are read, and answers are
// as it says, with nothing that it does not know.
func TestOpenAPI(t *testing.T) {
	w := newWorld(t, dygmamba.DefaultModel, "strict")
	s := w.server(t, func(o *Options) { o.Set = w.named(t) })
	var doc openDoc
	if err := json.Unmarshal(openAPI, &doc); err != nil {
		t.Fatal(err)
	}
	var routes, documented []string
	for _, r := range s.list() {
		routes = append(routes, strings.TrimSuffix(r.pattern, "{$}"))
	}
	routes = append(routes, "GET /healthz", "GET /readyz")
	for path, methods := range doc.Paths {
		for method := range methods {
			documented = append(documented, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(routes)
	slices.Sort(documented)
	if !slices.Equal(routes, documented) {
		t.Errorf("the document has\n%q\nthe server\n%q", documented, routes)
	}
	doc.fields(t, s)
	status := doc.Paths["/v1/status"]["get"].Responses["200"].Content[typeJSON].Schema.Properties
	for f := range reflect.TypeFor[statusDoc]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if _, ok := status[name]; !ok {
			t.Errorf("the status has %s, the document does not", name)
		}
	}
	events := w.body(w.early.Log.Len(), w.early.Log.Len()+9)
	for _, c := range []struct{ method, path, at, body string }{
		{"POST", "/v1/events", "", events},
		{"POST", "/v1/score", "", `{"queries": [{"src": "1", "dst": "2"}, {"src": "1", "dst": "x", "time": 1e9}]}`},
		{"POST", "/v1/rank", "", `{"src": "1", "k": 3}`},
		{"POST", "/v1/explain", "", `{"queries": [{"src": "1", "dst": "2"}]}`},
		{"GET", "/v1/nodes/1/history", "/v1/nodes/{id}/history", ""},
		{"POST", "/v1/retractions", "", `{"sequences": [2]}`},
		{"DELETE", "/v1/nodes/3", "/v1/nodes/{id}", ""},
		{"GET", "/v1/status", "", ""},
		{"GET", "/v1/live", "", ""},
		{"GET", "/v1/admin/state", "", ""},
		{"POST", "/v1/admin/reload", "", "{}"},
		{"POST", "/v1/admin/rollback", "", ""},
	} {
		at := c.at
		if at == "" {
			at = c.path
		}
		answer := call(s.Handler(), c.method, c.path, c.body)
		schema := doc.Paths[at][strings.ToLower(c.method)].Responses["200"].Content[typeJSON].Schema
		if answer.Code != http.StatusOK {
			t.Errorf("%s %s: %d %s", c.method, c.path, answer.Code, answer.Body)
			continue
		}
		var value any
		if err := json.Unmarshal(answer.Body.Bytes(), &value); err != nil {
			t.Errorf("%s %s: %v", c.method, c.path, err)
		}
		for _, wrong := range doc.check(schema, c.method+" "+at, value) {
			t.Error(wrong)
		}
	}
}

// fields asks with a field that nobody knows: the answer lists those that are known.
func (d *openDoc) fields(t *testing.T, s *Server) {
	t.Helper()
	known := regexp.MustCompile(`want a known field: ([a-z_, ]+)`)
	for _, c := range []struct{ path, list string }{
		{"/v1/events", ""}, {"/v1/events", "events"}, {"/v1/score", ""}, {"/v1/score", "queries"}, {"/v1/rank", ""},
		{"/v1/explain", ""}, {"/v1/explain", "queries"}, {"/v1/retractions", ""}, {"/v1/admin/reload", ""},
	} {
		schema := d.flat(d.Paths[c.path]["post"].RequestBody.Content[typeJSON].Schema)
		body := `{"?": 0}`
		if c.list != "" {
			schema = d.flat(*schema.Properties[c.list].Items)
			body = fmt.Sprintf(`{%q: [%s]}`, c.list, body)
		}
		var want []string
		for name := range schema.Properties {
			want = append(want, name)
		}
		answer := call(s.Handler(), "POST", c.path, body)
		var doc struct{ Error struct{ Message string } }
		json.Unmarshal(answer.Body.Bytes(), &doc)
		found := known.FindStringSubmatch(doc.Error.Message)
		if found == nil {
			t.Errorf("%s %s: %d %s", c.path, body, answer.Code, answer.Body)
			continue
		}
		got := strings.Split(found[1], ", ")
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s %s: read are %q, the document has %q", c.path, c.list, got, want)
		}
	}
}
