package model

import (
	"math"
	"strings"
	"testing"
)

func TestDims(t *testing.T) {
	shapes := map[string][]int{"w": {6, 4}, "b": {6}, "l.0.w": {1}, "l.1.w": {1}, "l.3.w": {1}, "empty": {0, 3}}
	d := &Dims{of: "toy", shapes: shapes}
	if rows, cols := d.Matrix("w"); rows != 6 || cols != 4 {
		t.Errorf("w is [%d %d]", rows, cols)
	}
	got := [4]int{d.Vector("b"), d.Divide("w", 6, 3, "three"), d.Less("w", 6, 2, "two"), d.Count("l.%d.w")}
	if want := [4]int{6, 2, 4, 2}; got != want {
		t.Errorf("sizes %v, want %v", got, want)
	}
	if d.err != nil || !d.Has("w") || d.Has("v") {
		t.Errorf("%v, w there: %v, v there: %v", d.err, d.Has("w"), d.Has("v"))
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
		d := &Dims{of: "toy", shapes: shapes}
		ask(d)
		d.Matrix("missing too") // only the first complaint is kept
		if err := d.err; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestBounds(t *testing.T) {
	type inner struct {
		A int `json:"a" in:"[1,8]"`
	}
	type config struct {
		inner
		B float64 `json:"b" in:"[0,1)"`
		C float64 `json:"c" in:"(0,inf)"`
	}
	good := config{inner{1}, 0, 1}
	if err := checkBounds(&good); err != nil {
		t.Error(err)
	}
	for want, bad := range map[string]config{
		"a is 0, must be at least 1 and at most 8": {inner{0}, 0, 1},
		"a is 9, must be at least 1 and at most 8": {inner{9}, 0, 1},
		"b is -1, must be at least 0 and below 1":  {inner{8}, -1, 1},
		"b is 1, must be at least 0 and below 1":   {inner{8}, 1, 1},
		"b is NaN, must be at least 0 and below 1": {inner{8}, math.NaN(), 1},
		"c is 0, must be above 0":                  {inner{8}, 0, 0},
		"c is +Inf, must be above 0":               {inner{8}, 0, math.Inf(1)},
	} {
		if err := checkBounds(bad); err == nil || err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
