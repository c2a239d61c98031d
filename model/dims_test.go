package model

import (
	"strings"
	"testing"
)

func TestDims(t *testing.T) {
	shapes := map[string][]int{"w": {6, 4}, "b": {6}, "l.0.w": {1}, "l.1.w": {1}, "l.3.w": {1}, "empty": {0, 3}}
	d := NewDims("toy", shapes)
	if rows, cols := d.Matrix("w"); rows != 6 || cols != 4 {
		t.Errorf("w is [%d %d]", rows, cols)
	}
	got := [4]int{d.Vector("b"), d.Divide("w", 6, 3, "three"), d.Less("w", 6, 2, "two"), d.Count("l.%d.w")}
	if want := [4]int{6, 2, 4, 2}; got != want {
		t.Errorf("sizes %v, want %v", got, want)
	}
	if d.Err() != nil || !d.Has("w") || d.Has("v") {
		t.Errorf("%v, w there: %v, v there: %v", d.Err(), d.Has("w"), d.Has("v"))
	}
	for want, ask := range map[string]func(*Dims){
		"tensor v is missing: these are not the weights of toy":     func(d *Dims) { d.Matrix("v") },
		"tensor b is [6], want two dimensions":                      func(d *Dims) { d.Matrix("b") },
		"tensor w is [6 4], want one dimension":                     func(d *Dims) { d.Vector("w") },
		"tensor empty is [0 3], want two dimensions":                func(d *Dims) { d.Matrix("empty") },
		"tensor w is [6 4]: 6 is no multiple of four 4":             func(d *Dims) { d.Divide("w", 6, 4, "four") },
		"tensor w is [6 4]: 6 has no room beside six 6":             func(d *Dims) { d.Less("w", 6, 6, "six") },
		"tensor k.0.w is missing: these are not the weights of toy": func(d *Dims) { d.Count("k.%d.w") },
	} {
		d := NewDims("toy", shapes)
		ask(d)
		d.Matrix("missing too") // only the first complaint is kept
		if err := d.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestCheckSizes(t *testing.T) {
	if err := CheckSizes(Size{"a", 1, 1}, Size{"b", 7, Wide}); err != nil {
		t.Error(err)
	}
	for _, s := range []Size{{"b", 0, 8}, {"b", -1, 8}, {"b", 9, 8}} {
		if err := CheckSizes(Size{"a", 1, 1}, s); err == nil || !strings.Contains(err.Error(), "b is ") {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
