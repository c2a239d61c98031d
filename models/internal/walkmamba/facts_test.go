package walkmamba

import "testing"

func TestNextFactText(t *testing.T) {
	for want, n := range map[string]nextFact{
		"nobody had done anything yet":            {},
		"nothing had come after tea yet":          {After: []string{"tea"}},
		"rum was the first of 3 of 1,200 sources": {AfterLast: share{3, 1200}},
		"after tea came rum 3 of 9 times":         {After: []string{"tea"}, AfterLast: share{3, 9}},
		"after tea came rum 3 of 9 times, after gin and tea 1 of 2": {
			After: []string{"tea", "gin"}, AfterLast: share{3, 9}, AfterBoth: share{1, 2},
		},
	} {
		if got := n.Text("rum"); got != want {
			t.Errorf("%+v: %q, want %q", n, got, want)
		}
	}
}
