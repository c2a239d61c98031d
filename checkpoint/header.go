package checkpoint

import (
	"bytes"
	"encoding/json"
	"io"
)

// claim is what the header says about a tensor, not yet believed.
type claim struct {
	name       string
	dtype      string
	shape      []int
	begin, end int64
}

// parseHeader reads the header token by token: encoding/json alone would accept keys twice and arrays of any length.
func parseHeader(head []byte) (map[string]string, []claim, error) {
	d := json.NewDecoder(bytes.NewReader(head))
	d.UseNumber()
	var meta map[string]string
	var claims []claim
	err := object(d, "header", func(key string) error {
		if key == metadataKey {
			meta = map[string]string{}
			return object(d, metadataKey, func(key string) (err error) {
				meta[key], err = text(d, "metadata "+key)
				return err
			})
		}
		c := claim{name: key}
		if err := c.parse(d); err != nil {
			return err
		}
		claims = append(claims, c)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, nil, corrupt("something follows the header's JSON")
	}
	return meta, claims, nil
}

func (c *claim) parse(d *json.Decoder) error {
	seen := 0
	err := object(d, "tensor "+c.name, func(key string) (err error) {
		seen++
		var list []int64
		switch key {
		case "dtype":
			c.dtype, err = text(d, "type of "+c.name)
		case "shape":
			list, err = numbers(d, "shape of "+c.name)
			c.shape = make([]int, 0, len(list))
			for _, n := range list {
				c.shape = append(c.shape, int(n))
			}
		case "data_offsets":
			list, err = numbers(d, "offsets of "+c.name)
			if err == nil && len(list) != 2 {
				return corrupt("tensor %q has %d offsets, want 2", c.name, len(list))
			}
			if err == nil {
				c.begin, c.end = list[0], list[1]
			}
		default:
			return corrupt("tensor %q has an unknown property %q", c.name, key)
		}
		return err
	})
	if err == nil && seen != 3 {
		return corrupt("tensor %q lacks one of dtype, shape, data_offsets", c.name)
	}
	return err
}

// object reads a JSON object and calls f after each key, which may come once.
func object(d *json.Decoder, what string, f func(key string) error) error {
	if err := delim(d, what, '{'); err != nil {
		return err
	}
	seen := map[string]bool{}
	for d.More() {
		key, err := text(d, "key of "+what)
		if err != nil {
			return err
		}
		if seen[key] {
			return corrupt("%s has the key %q twice", what, key)
		}
		seen[key] = true
		if err := f(key); err != nil {
			return err
		}
	}
	return delim(d, what, '}')
}

func delim(d *json.Decoder, what string, want json.Delim) error {
	got, err := token[json.Delim](d, what, want.String())
	if err == nil && got != want {
		return corrupt("%s: found %v, want %v", what, got, want)
	}
	return err
}

func text(d *json.Decoder, what string) (string, error) { return token[string](d, what, "a string") }

// token reads a token of a type that is called want.
func token[T json.Token](d *json.Decoder, what, want string) (v T, err error) {
	tok, err := d.Token()
	if err != nil {
		return v, corrupt("%s: %v", what, err)
	}
	v, ok := tok.(T)
	if !ok {
		return v, corrupt("%s: found %v, want %s", what, tok, want)
	}
	return v, nil
}

// numbers reads an array of numbers that are not negative.
func numbers(d *json.Decoder, what string) ([]int64, error) {
	if err := delim(d, what, '['); err != nil {
		return nil, err
	}
	list := []int64{}
	for d.More() {
		text, err := token[json.Number](d, what, "a number")
		if err != nil {
			return nil, err
		}
		n, err := text.Int64()
		if err != nil || n < 0 {
			return nil, corrupt("%s: found %v, want a whole number from 0", what, text)
		}
		list = append(list, n)
	}
	return list, delim(d, what, ']')
}
