package jsonobject

import (
	"encoding/json"
	"testing"
)

func TestJoin(t *testing.T) {
	type pair struct {
		A int    `json:"a"`
		B string `json:"b,omitempty"`
	}
	got, err := Join(struct{}{}, pair{1, "<x>"}, map[string]any{}, map[string]any{"c": pair{A: 2}})
	if want := `{"a":1,"b":"<x>","c":{"a":2}}`; err != nil || string(got) != want {
		t.Errorf("%s and %v, want %s", got, err, want)
	}
	if got, err := Join(); err != nil || string(got) != "{}" {
		t.Errorf("nothing at all is %s and %v", got, err)
	}
	for _, bad := range []any{3, []int{1}, nil, make(chan int)} {
		if got, err := Join(bad); err == nil || json.Valid(got) {
			t.Errorf("%v is %s", bad, got)
		}
	}
}
