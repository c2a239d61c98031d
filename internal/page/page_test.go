package page

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

// everything is a page with one of each, all text given.
func everything(text string) Page {
	lines := Lines{
		X: Axis{Name: text, Min: 0, Max: 10}, Y: Axis{Name: text, Min: 0, Max: 1, Percent: true}, Dots: true,
		Marks:  []float64{5, 11},
		Series: []Series{{Name: text, Tone: First, X: []float64{0, 5, 10}, Y: []float64{0, math.NaN(), 1}}},
	}
	return Page{
		Title: text, Lead: text, Foot: text,
		Parts: []Part{
			Heading(text), Text(text), Code(text),
			Numbers{{Value: text, Name: text, Tone: Fact}, {text, text, text, Fact}},
			Table{Head: []string{text, text}, Rows: [][]string{{text, text}}, Words: 2},
			Grid{Head: []string{text, text}, Words: 2,
				Rows: [][]Cell{{{Text: text, Link: text, Note: text}, {Text: text, Exact: text, Mark: Best}}}},
			Section{"here", text, text}, Contents{{"here", text, text}}, Remark(text),
			Facts{{text, text}}, Folds{{Title: text, Note: text, Value: text, Open: true, Parts: []Part{Text(text)}}},
			Figures{{Title: text, Note: text, Key: []Key{{text, First}}, Chart: lines}},
			Figures{
				{Title: text, Chart: Bars{Rows: []Bar{{text, 0.7, Second}}, Chance: 0.5}},
				{Title: text, Chart: Columns{Line: 2,
					List: []Column{{Value: 3, Above: text, Below: [2]string{text, text}, Title: text}}}},
			},
			Figures{{Title: text, Chart: Raster{X: Axis{Max: 4},
				Rows: []RasterRow{{Name: text, Times: []float64{1, 2}, Tone: First}}}}},
		},
	}
}

func written(t *testing.T, p Page) string {
	t.Helper()
	var b strings.Builder
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// elements parses a page as XML, which is stricter than HTML, and lists its elements and texts.
func elements(t *testing.T, source string) (tags []xml.StartElement, texts []string) {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(source, "<!doctype html>")))
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return tags, texts
		}
		if err != nil {
			t.Fatalf("the page is not well formed: %v", err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			tags = append(tags, x.Copy())
		case xml.CharData:
			texts = append(texts, strings.TrimSpace(string(x)))
		}
	}
}

// Whatever the words are, they stay words.
func TestTextIsEscaped(t *testing.T) {
	const hostile = `"><script>alert('1')</script><img src="http://example.com/x"> & ü`
	tags, texts := elements(t, written(t, everything(hostile)))
	_, plain := elements(t, written(t, everything("plain")))
	if got, want := count(texts, hostile), count(plain, "plain"); got != want || want < 20 {
		t.Errorf("found the text %d times, want %d", got, want)
	}
	allowed := strings.Fields("html head meta title style body main h1 h2 p pre code data dl dt dd details " +
		"summary em div strong span table tr th td figure figcaption small svg line text path g circle rect footer " +
		"nav a")
	for _, tag := range tags {
		if !slices.Contains(allowed, tag.Name.Local) {
			t.Errorf("the page has an element %s", tag.Name.Local)
		}
		for _, a := range tag.Attr {
			if slices.Contains([]string{"src", "onload", "onclick"}, a.Name.Local) ||
				a.Name.Local == "href" && a.Value != "#here" {
				t.Errorf("the page has an attribute %s=%q", a.Name.Local, a.Value)
			}
		}
	}
}

func count(list []string, want string) int {
	n := 0
	for _, x := range list {
		if x == want {
			n++
		}
	}
	return n
}

// Nothing is fetched, and both colour schemes and narrow screens are provided for.
func TestStandsAlone(t *testing.T) {
	source := written(t, everything("x"))
	for _, part := range []string{"url(", "@import", "http:", "https:", "<script", "<link"} {
		if strings.Contains(source, part) {
			t.Errorf("the page has %q", part)
		}
	}
	for _, part := range []string{"prefers-color-scheme: dark", "width=device-width", "max-width: 640px",
		`class="small"`, `class="large"`} {
		if !strings.Contains(source, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	if source != written(t, everything("x")) {
		t.Error("the same page was written differently")
	}
}

func TestOddValues(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, chart := range map[string]Chart{
		"no lines":  Lines{},
		"no values": Lines{Series: []Series{{}}},
		"one value": Lines{X: Axis{Min: 1, Max: 1}, Y: Axis{Min: 2, Max: 2}, Dots: true,
			Series: []Series{{X: []float64{1}, Y: []float64{2}}}},
		"nothing finite": Lines{X: Axis{Max: 1}, Y: Axis{Max: 1}, Dots: true,
			Series: []Series{{X: []float64{0, 1}, Y: []float64{nan, inf}}}},
		"no bars":          Bars{},
		"too long a bar":   Bars{Rows: []Bar{{Value: 7}, {Value: -1}}},
		"no columns":       Columns{},
		"columns of zero":  Columns{List: []Column{{}, {}}},
		"negative columns": Columns{List: []Column{{Value: -1}, {Value: 1}}},
		"empty raster":     Raster{},
		"point in time":    Raster{X: Axis{Min: 3, Max: 3}, Rows: []RasterRow{{Times: []float64{3}}}},
	} {
		t.Run(name, func(t *testing.T) {
			source := written(t, Page{Parts: []Part{Figures{{Chart: chart}}}})
			elements(t, source)
			_, body, _ := strings.Cut(source, "<body>")
			for _, bad := range []string{"NaN", "Inf", `width="-`, `height="-`} {
				if strings.Contains(body, bad) {
					t.Errorf("the drawing has %s:\n%s", bad, body)
				}
			}
		})
	}
}
