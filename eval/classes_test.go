package eval

import (
	"math"
	"testing"
)

// TestClassMeter: four events of three classes, by hand.
func TestClassMeter(t *testing.T) {
	m := NewClassMeter([]string{"a", "b", "c"})
	for _, x := range []struct {
		class  int
		shares []float64
	}{
		{0, []float64{0.7, 0.2, 0.1}}, // right
		{0, []float64{0.3, 0.6, 0.1}}, // b instead
		{1, []float64{0.2, 0.5, 0.3}}, // right
		{1, []float64{0.1, 0.5, 0.4}}, // right
	} {
		m.Add(x.class, x.shares)
	}
	var r Result
	m.Put(&r)
	// a: 1 of 1 said, of 2 → F1 2/3; b: 2 of 3 said, of 2 → 4/5; c does not occur and is never said
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-6 {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	near("accuracy", *r.Accuracy, 0.75)
	near("macro F1", *r.MacroF1, (2./3+4./5)/2)
	near("AUC of a", r.Classes[0].AUC, 1)
	near("AUC of b", r.Classes[1].AUC, 0.5)
	near("AUC", r.AUC, 0.75)
	near("loss", *r.Loss, -(math.Log(0.7)+math.Log(0.3)+2*math.Log(0.5))/4)
	if r.Events != 4 || r.Classes[2].Events != 0 || r.Classes[2].F1 != 0 {
		t.Errorf("%d events, class c has %+v", r.Events, r.Classes[2])
	}
}

// TestClassRules: a rule says what it knows of a node, or else of all.
func TestClassRules(t *testing.T) {
	c := NewClassRules([]string{"a", "b"})
	for _, class := range []int{0, 0, 1, -1} { // node 1
		c.Learn(1, class)
	}
	c.Learn(2, 0)
	c.Ask(1, 1) // majority a, last b, own majority a
	c.Ask(3, 0) // nothing is known of it: a
	want := map[string]float64{"majority": 0.5, "node_last": 1, "node_majority": 0.5}
	for _, s := range c.Scores() {
		if *s.Accuracy != want[s.Rule] {
			t.Errorf("%s is right in %v, want %v", s.Rule, *s.Accuracy, want[s.Rule])
		}
	}
}
