package page

import (
	"slices"
	"strings"
	"testing"
)

func TestTicks(t *testing.T) {
	tests := []struct {
		axis  Axis
		about int
		want  string
	}{
		{Axis{Min: 0, Max: 1}, 5, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{Axis{Min: 0.3, Max: 0.8}, 5, "0.3 0.4 0.5 0.6 0.7 0.8"},
		{Axis{Min: 0.6, Max: 1, Percent: true}, 5, "60 % 70 % 80 % 90 % 100 %"},
		{Axis{Min: 1, Max: 16}, 5, "5 10 15"},
		{Axis{Min: -1, Max: 1}, 2, "-1 0 1"},
		{Axis{Min: 1130, Max: 1231}, 4, "1150 1200"},
		{Axis{Min: 0, Max: 0.004}, 4, "0.000 0.001 0.002 0.003 0.004"},
		{Axis{Min: 3, Max: 3}, 5, "3"},
		{Axis{Min: 1714550000, Max: 1714550040, Date: true}, 5, "07:53:30 07:53:45 07:54:00"},
		{Axis{Min: 1714521600, Max: 1714608000, Date: true}, 5, "05-01 00:00 05-01 06:00 05-01 12:00 05-01 18:00 " +
			"05-02 00:00"},
		{Axis{Min: 1714521600, Max: 1714521600 + 9*86400, Date: true}, 5, "2024-05-01 2024-05-03 2024-05-05 " +
			"2024-05-07 2024-05-09"},
		{Axis{Min: 1714521600, Max: 1714521600 + 100*86400, Date: true}, 5, "2024-05 2024-06 2024-07 2024-08"},
		{Axis{Min: -5e8, Max: 17e8, Date: true}, 8, "1960 1970 1980 1990 2000 2010 2020"},
		{Axis{Min: 5, Max: 5, Date: true}, 8, "1970-01-01"},
		{Axis{Min: -1e30, Max: 1e30, Date: true}, 2, "– 1970 –"},
	}
	for _, tt := range tests {
		ticks := tt.axis.ticks(tt.about)
		var labels []string
		for _, v := range ticks {
			labels = append(labels, tt.axis.label(v, ticks))
		}
		if got := strings.Join(labels, " "); got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.axis, got, tt.want)
		}
	}
}

func TestLinesAreWhereTheirValuesAre(t *testing.T) {
	l := Lines{X: Axis{Min: 0, Max: 10}, Y: Axis{Min: 0, Max: 1}, Marks: []float64{5},
		Series: []Series{{X: []float64{0, 5, 10}, Y: []float64{0, 1, 0.5}}}}
	var m markup
	height := l.draw(&m, 400)
	box := l.frame(&markup{}, 400, height)
	middle := box.left + (box.right-box.left)/2
	want := "M" + px(box.left) + " " + px(box.bottom) + "L" + px(middle) + " " + px(box.top) + "L" + px(box.right) +
		" " + px((box.top+box.bottom)/2)
	if !strings.Contains(m.String(), `d="`+want+`"`) {
		t.Errorf("no path %s in\n%s", want, m.String())
	}
	if want := `class="mark" x1="` + px(middle) + `"`; !strings.Contains(m.String(), want) {
		t.Errorf("no mark %s in\n%s", want, m.String())
	}
}

// The largest column is as high as the room allows, others in proportion.
func TestColumnsAreInProportion(t *testing.T) {
	var m markup
	Columns{List: []Column{{Value: 4}, {Value: 1}}}.draw(&m, 200)
	var heights []string
	for part := range strings.SplitSeq(m.String(), ` height="`) {
		heights = append(heights, part[:strings.Index(part, `"`)])
	}
	if !slices.Equal(heights[1:], []string{"120", "30"}) {
		t.Errorf("heights are %v, want 120 and 30", heights[1:])
	}
}
