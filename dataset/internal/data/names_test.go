package data

import (
	"testing"

	"github.com/dygmamba/dygmamba/event"
)

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
	if _, err := NewNames([]string{"a", "b", "a"}, 0); err == nil ||
		err.Error() != `names: nodes 1 and 3 are both called "a"` {
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

// A source that came when the numbers behind the first sources were taken is a source all the same.
func TestLaterSources(t *testing.T) {
	n := NamesFrom(NameColumns{Text: []byte("axby"), Ends: []int64{1, 2, 3, 4}, Later: []event.Node{3}}, 1)
	for name, want := range map[string][2]event.Node{"a": {1, 0}, "x": {0, 2}, "b": {3, 0}, "y": {0, 4}} {
		u, _ := n.Source(name)
		v, _ := n.Target(name)
		if u != want[0] || v != want[1] {
			t.Errorf("%s is source %d and destination %d, want %v", name, u, v, want)
		}
	}
	if !n.IsSource(3) || n.IsSource(4) || n.Columns().Later[0] != 3 {
		t.Error("who is a source")
	}
}

// TestSides: nodes of one side have different names, and those without a name a side of their own.
func TestSides(t *testing.T) {
	both, err := NewNames([]string{"1", "2", "1"}, 2)
	if err != nil {
		t.Fatal(err)
	}
	one, err := NewNames([]string{"3", "2", "1"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		names *Names
		want  [5]uint8 // of nodes 0 to 4
	}{
		{both, [5]uint8{SideNameless, SideSource, SideSource, SideTarget, SideNameless}},
		{one, [5]uint8{SideNameless, SideSource, SideSource, SideSource, SideNameless}},
		{nil, [5]uint8{}},
	} {
		for n, want := range c.want {
			if got := c.names.Side(event.Node(n)); got != want {
				t.Errorf("node %d of %d is on side %d, want %d", n, c.names.Len(), got, want)
			}
		}
	}
}
