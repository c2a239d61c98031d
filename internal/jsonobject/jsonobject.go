// Package jsonobject answers: how do several values become one JSON object? Package json inlines embedded structs, but
// neither maps nor values that marshal themselves.
package jsonobject

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Join marshals values that are JSON objects as one, with the members of all of them in order.
func Join(values ...any) ([]byte, error) {
	out := []byte{'{'}
	for _, v := range values {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false) // whoever encodes the whole decides that
		if err := e.Encode(v); err != nil {
			return nil, err
		}
		object := bytes.TrimSpace(b.Bytes())
		if object[0] != '{' {
			return nil, fmt.Errorf("join JSON objects: a %T is %.40s, want an object", v, object)
		}
		if members := object[1 : len(object)-1]; len(members) > 0 {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, members...)
		}
	}
	return append(out, '}'), nil
}
