package protocol

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	if err := Check("order", Strict, Orders()); err != nil {
		t.Error(err)
	}
	err := Check("negatives", "histrical", Published())
	var wrong *Error
	const want = `negatives "histrical", must be random, historical or inductive; did you mean historical?`
	if !errors.As(err, &wrong) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// The table says which kinds there are; who draws, validates or reads settings looks them up.
func TestKinds(t *testing.T) {
	for _, c := range []struct{ found, want []Negatives }{
		{Published(), []Negatives{"random", "historical", "inductive"}},
		{Trained(), []Negatives{"random", "historical", "time", "kind"}},
		{Selecting(""), []Negatives{"random"}},
		{Selecting("random"), []Negatives{"random"}},
		{Selecting(All), Published()},
		{Selecting("time"), []Negatives{"random", "time"}},
		{Selecting("kind"), []Negatives{"random", "kind"}},
	} {
		if !slices.Equal(c.found, c.want) {
			t.Errorf("%v, want %v", c.found, c.want)
		}
	}
	if got := strings.Join(Selections(), " "); got != "random all time kind" {
		t.Errorf("select_by takes %s", got)
	}
	if TimeNegatives.SameTime() || !InductiveNegatives.SameTime() || Negatives("x").SameTime() {
		t.Error("time negatives alone are asked about between events")
	}
}

func TestShares(t *testing.T) {
	plain := PlainShares()
	mixed := With(plain, TimeNegatives, 0.5)
	if !plain.IsZero() || plain.Mixed() || plain[TimeNegatives] != 0 || !mixed.Mixed() || mixed.Sum() != 1.5 ||
		mixed.Sum(TimeNegatives) != 0.5 || mixed.Equal(plain) ||
		!mixed.Equal(Shares{RandomNegatives: 1, TimeNegatives: 0.5}) {
		t.Errorf("plain %v, mixed %v", plain, mixed)
	}
	for want, s := range map[string]Shares{
		"": mixed, "negatives_time is -1, must be at least 0": {TimeNegatives: -1},
		"negatives_random, negatives_historical, negatives_time and negatives_kind are all 0": {},
	} {
		if err := s.Check(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", s, err, want)
		}
	}
}
