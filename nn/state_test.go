package nn

import (
	"reflect"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/tensor"
)

// Where tables are large and few rows were written, a snapshot has these rows alone, and brings back the same tables.
// Whole tables are restored as before.
func TestStateOfFewRows(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	before := denseBytes
	t.Cleanup(func() { denseBytes = before })
	make2 := func() (*State, *Table, *Table) {
		s := NewState(dev, 1000)
		a, b := s.Add("a", 3), s.Add("b", 1)
		s.Touch(nil)
		return s, a, b
	}
	write := func(s *State, tables []*Table, rows ...int32) {
		s.Touch(rows)
		for _, table := range tables {
			for _, r := range rows {
				row := make([]float32, table.Cols())
				for k := range row {
					row[k] = float32(r) + float32(k)/8
				}
				dev.Write(table.Data.Slice(int(r)*table.Cols(), (int(r)+1)*table.Cols()), row)
			}
		}
	}
	whole := func(table *Table) []float32 {
		host := make([]float32, table.Len())
		dev.Read(host, table.Data)
		return host
	}
	s, a, b := make2()
	defer s.Close()
	write(s, []*Table{a, b}, 3, 4, 5, 500, 999)
	denseBytes = 1 << 30
	dense := s.Snapshot()
	denseBytes = 0
	few := s.Snapshot()
	if len(dense) != 2 || len(dense[0].Data) != 3000 || len(few) != 3 || len(few[0].Data) != 3*6 ||
		!slices.Equal(few[2].Shape, []int{4 * 6}) {
		t.Fatalf("snapshots %v and %v", shapes(dense), shapes(few))
	}
	check := func(written, want []tensor.Named) {
		t.Helper()
		if len(written) != len(want) {
			t.Fatalf("written are %v, want %v", shapes(written), shapes(want))
		}
		for i, x := range written {
			if want := want[i]; x.Name != want.Name || !slices.Equal(x.Shape, want.Shape) ||
				!slices.Equal(slices.Concat(x.Pieces...), want.Data) || !slices.Equal(x.Bytes, want.Bytes) {
				t.Errorf("written is %v, want what a snapshot has, %v", x, want)
			}
		}
	}
	check(s.Written(), few)
	denseBytes = 1 << 30
	check(s.Written(), dense)
	denseBytes = 0
	for name, list := range map[string][]tensor.Named{"all": dense, "few": few} {
		other, oa, ob := make2()
		write(other, []*Table{oa}, 7) // is forgotten
		if err := other.Restore(list); err != nil {
			t.Fatal(name, err)
		}
		if !slices.Equal(whole(oa), whole(a)) || !slices.Equal(whole(ob), whole(b)) {
			t.Errorf("%s: other tables came back", name)
		}
		if got := other.Snapshot(); !reflect.DeepEqual(got, few) {
			t.Errorf("%s: the next snapshot is %v, want %v", name, shapes(got), shapes(few))
		}
		other.Grow(5000)
		if got := whole(oa); !slices.Equal(got[:3000], whole(a)) || slices.Max(got[3000:]) != 0 {
			t.Errorf("%s: other tables after growing", name)
		}
		if err := other.Restore(nil); err != nil || slices.Max(whole(oa)) != 0 || len(other.Snapshot()[0].Data) != 3 {
			t.Errorf("%s: something is left: %v", name, err)
		}
		other.Close()
	}
	small := NewState(dev, 2)
	defer small.Close()
	sa, _ := small.Add("a", 3), small.Add("b", 1)
	if err := small.Restore(few); err != nil || !slices.Equal(whole(sa)[:3000], whole(a)) {
		t.Errorf("fewer rows than there were: %v", err)
	}
	for name, spoil := range map[string]func(list []tensor.Named){
		"descending":  func(list []tensor.Named) { list[2].Bytes[4] = 9 },
		"cut":         func(list []tensor.Named) { list[2].Bytes = list[2].Bytes[:7] },
		"none":        func(list []tensor.Named) { list[2].Bytes = nil },
		"below 0":     func(list []tensor.Named) { list[2].Bytes[3] = 255 },
		"too few":     func(list []tensor.Named) { list[2].Bytes = list[2].Bytes[:8] },
		"other width": func(list []tensor.Named) { list[0].Shape = []int{9, 2} },
	} {
		list := slices.Clone(few)
		list[2].Bytes = slices.Clone(few[2].Bytes)
		spoil(list)
		if err := s.Restore(list); err == nil || !slices.Equal(whole(a), whole(sa)[:3000]) {
			t.Errorf("%s: error %v, want one and nothing changed", name, err)
		}
	}
}

func shapes(list []tensor.Named) (out [][]int) {
	for _, x := range list {
		out = append(out, x.Shape)
	}
	return out
}

// A model that does not say which rows it writes keeps whole tables.
func TestStateOfAllRows(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	before := denseBytes
	t.Cleanup(func() { denseBytes = before })
	denseBytes = 0
	s := NewState(dev, 100)
	defer s.Close()
	s.Add("a", 2)
	if got := s.Snapshot(); len(got) != 1 || len(got[0].Data) != 200 {
		t.Errorf("a snapshot of %v", shapes(got))
	}
}
