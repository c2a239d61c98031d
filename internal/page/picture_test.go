package page

import (
	"strings"
	"testing"
)

func TestPictureStandsAlone(t *testing.T) {
	const text = `<script>&"`
	chart := Lines{X: Axis{Name: text, Min: 64, Max: 8192, Log: true, Ticks: []float64{64, 1024, 8192}},
		Y:      Axis{Min: 1, Max: 1000, Log: true},
		Series: []Series{{Name: text, Points: true, X: []float64{64, 1024}, Y: []float64{10, 100}}}}
	var b strings.Builder
	if err := (Picture{{Title: text, Note: text, Chart: chart}, {Title: text, Chart: chart}}).Write(&b); err != nil {
		t.Fatal(err)
	}
	tags, texts := elements(t, b.String())
	count := map[string]int{}
	for _, tag := range tags {
		count[tag.Name.Local]++
	}
	if tags[0].Name.Local != "svg" || tags[0].Name.Space != "http://www.w3.org/2000/svg" || count["circle"] != 4 ||
		count["script"] != 0 {
		t.Errorf("root %v, elements %v", tags[0].Name, count)
	}
	if count["path"] != 0 {
		t.Errorf("points have %d lines", count["path"])
	}
	all := strings.Join(texts, " ")
	if !strings.Contains(all, "prefers-color-scheme: dark") || !strings.Contains(all, text) {
		t.Errorf("style or text is missing: %s", all)
	}
}

func TestLogAxis(t *testing.T) {
	a := Axis{Min: 1, Max: 100, Log: true}
	for v, want := range map[float64]float64{1: 0, 10: 50, 100: 100} {
		if got := a.at(v, 0, 100); got < want-1e-9 || got > want+1e-9 {
			t.Errorf("%v lies at %v, want %v", v, got, want)
		}
	}
	tests := []struct {
		axis Axis
		want string
	}{
		{Axis{Min: 20, Max: 400, Log: true}, "20 50 100 200"},
		{Axis{Min: 0.5, Max: 3000, Log: true}, "1 10 100 1000"},
		{Axis{Min: 64, Max: 8192, Log: true, Ticks: []float64{64, 128, 256, 512, 1024, 2048, 4096, 8192}},
			"128 512 2048 8192"},
	}
	for _, tt := range tests {
		ticks := tt.axis.ticks(5)
		var labels []string
		for _, v := range ticks {
			labels = append(labels, tt.axis.label(v, ticks))
		}
		if got := strings.Join(labels, " "); got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.axis, got, tt.want)
		}
	}
}
