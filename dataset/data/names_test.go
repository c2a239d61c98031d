package data

import "testing"

func TestNames(t *testing.T) {
	var none *Names
	if id, ok := none.Source("17"); none.Name(17) != "17" || id != 17 || !ok || none.Len() != 0 {
		t.Error("nil names")
	}
	for _, bad := range []string{"0", "x", "-1", "99999999999"} {
		if _, ok := none.Target(bad); ok {
			t.Errorf("%s is a node", bad)
		}
	}
	if _, err := NewNames([]string{"a", "b", "a"}, 0); err == nil || err.Error() != `names: nodes 1 and 3 are both called "a"` {
		t.Error(err)
	}
	if _, err := NewNames([]string{"a"}, 2); err == nil {
		t.Error("more sources than nodes")
	}
	n, err := NewNames([]string{"", "a", "", "b"}, 2)
	if err != nil {
		t.Fatal(err)
	}
	u, _ := n.Source("")
	v, _ := n.Target("")
	if _, ok := n.Source("b"); u != 1 || v != 3 || ok || n.Name(4) != "b" || n.Name(9) != "9" {
		t.Error(u, v, ok)
	}
}
