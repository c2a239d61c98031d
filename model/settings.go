package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/dygmamba/dygmamba/internal/suggest"
	"github.com/dygmamba/dygmamba/protocol"
)

// ErrSetting is in the chain of every error about a setting: an unknown key, a value of the wrong kind or out of range.
var ErrSetting = errors.New("bad setting")

// Apply changes fields of the given structs by "key=value" settings. A key is a field's JSON name, or the one it had
// before it was renamed: its tag "was". The first struct that has it takes it.
func Apply(settings []string, targets ...any) error {
	for _, s := range settings {
		key, value, found := strings.Cut(s, "=")
		if !found {
			return fmt.Errorf("%w %q: must be key=value", ErrSetting, s)
		}
		if err := apply(strings.TrimSpace(key), strings.TrimSpace(value), targets); err != nil {
			return err
		}
	}
	return nil
}

// Setting is one that Apply knows.
type Setting struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
	About string `json:"about"` // what it is, in a few words: the field's tag
}

// Settings lists those of the given structs, or pointers to structs.
func Settings(from ...any) []Setting {
	var list []Setting
	for _, f := range from {
		for field, value := range fields(f) {
			if shares, ok := value.Interface().(protocol.Shares); ok {
				list = append(list, shareSettings(shares)...)
				continue
			}
			list = append(list, Setting{keyOf(field), value.Interface(), field.Tag.Get("about")})
		}
	}
	return list
}

// fields are those of a struct, or of a pointer to one, that are settings. Those of embedded structs are among them.
func fields(of any) iter.Seq2[reflect.StructField, reflect.Value] {
	return func(yield func(reflect.StructField, reflect.Value) bool) {
		v := reflect.Indirect(reflect.ValueOf(of))
		for _, f := range reflect.VisibleFields(v.Type()) {
			if keyOf(f) != "" && !yield(f, v.FieldByIndex(f.Index)) {
				return
			}
		}
	}
}

// allShares is the JSON name of the field that stands for the settings of all kinds of negatives.
const allShares = protocol.SharePrefix + "*"

// shareSettings are those of the shares of negatives, one for each kind that training draws.
func shareSettings(s protocol.Shares) (list []Setting) {
	for _, k := range protocol.Kinds() {
		if k.Share != "" {
			list = append(list, Setting{protocol.SharePrefix + string(k.Name), s[k.Name], k.Share})
		}
	}
	return list
}

// Keys lists the keys that Apply knows for these structs.
func Keys(targets ...any) []string {
	var keys []string
	for _, s := range Settings(targets...) {
		keys = append(keys, s.Key)
	}
	return keys
}

// settingKey is the key of a setting.
func settingKey(setting string) string {
	key, _, _ := strings.Cut(setting, "=")
	return strings.TrimSpace(key)
}

// agrees says whether applying settings would leave c as it is. Keys that c does not have, or leaves empty, are not
// looked at.
func agrees(settings []string, c any) error {
	own := Settings(c)
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		i := slices.IndexFunc(own, func(x Setting) bool { return x.Key == strings.TrimSpace(key) })
		if i >= 0 && own[i].Value != "" && fmt.Sprint(own[i].Value) != strings.TrimSpace(value) {
			return fmt.Errorf("%s is %v, not %s", key, own[i].Value, value)
		}
	}
	return nil
}

func apply(key, value string, targets []any) error {
	for _, t := range targets {
		for f, v := range fields(t) {
			if shares, ok := v.Interface().(protocol.Shares); ok && isShare(key) {
				var share float64
				err := assign(reflect.ValueOf(&share).Elem(), key, value)
				kind := protocol.Negatives(strings.TrimPrefix(key, protocol.SharePrefix))
				v.Set(reflect.ValueOf(protocol.With(shares, kind, share)))
				return err
			}
			if key != "" && key != allShares && (keyOf(f) == key || f.Tag.Get("was") == key) {
				return assign(v, key, value)
			}
		}
	}
	keys := Keys(targets...)
	slices.Sort(keys)
	return fmt.Errorf("%w: no key %q%s; there are %s", ErrSetting, key, suggest.Hint(key, keys),
		strings.Join(keys, ", "))
}

// isShare says whether a key is that of a share of negatives.
func isShare(key string) bool {
	return slices.ContainsFunc(shareSettings(nil), func(s Setting) bool { return s.Key == key })
}

// assign parses value into a field. Numbers may be written as Go and Python write them.
func assign(field reflect.Value, key, value string) error {
	var err error
	want := ""
	switch field.Kind() {
	case reflect.Int:
		var n int64
		n, err = strconv.ParseInt(value, 10, 64)
		field.SetInt(n)
		want = "a whole number"
	case reflect.Float64:
		var x float64
		x, err = strconv.ParseFloat(value, 64)
		field.SetFloat(x)
		want = "a number"
	case reflect.Bool:
		var b bool
		b, err = strconv.ParseBool(value)
		field.SetBool(b)
		want = "true or false"
	case reflect.String:
		field.SetString(value)
	default:
		panic(fmt.Sprintf("model: setting %s has kind %s, which Apply cannot set", key, field.Kind()))
	}
	if err != nil {
		return fmt.Errorf("%w %s=%q: must be %s", ErrSetting, key, value, want)
	}
	return nil
}

// decodeRenamed sets the fields of a struct that a JSON object has under an earlier name.
func decodeRenamed(object map[string]json.RawMessage, target any) error {
	for field, value := range fields(target) {
		was := field.Tag.Get("was")
		if _, renamed := object[keyOf(field)]; renamed || was == "" || object[was] == nil {
			continue
		}
		if err := json.Unmarshal(object[was], value.Addr().Interface()); err != nil {
			return fmt.Errorf("%s: %w", was, err)
		}
	}
	return nil
}

// keyOf is a field's JSON name, "" if it has none.
func keyOf(f reflect.StructField) string {
	key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if key == "-" {
		return ""
	}
	return key
}
