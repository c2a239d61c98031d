package study

import (
	"strings"
	"testing"
)

// One table in every format: marks, ranks and deviations are in each, and text is escaped.
func TestTableFormats(t *testing.T) {
	mean, std := 0.5, 0.25
	table := Table{Title: "A & B", Columns: []string{"model", "AP"}, Rows: [][]Cell{
		{{Text: "a_1"}, {Text: "50.00 ± 25.00 (2)", Value: &mean, Std: &std, Marks: "ru", Rank: 1}},
		{{Text: "b|c"}, {Text: "-1.00", Rank: 2}},
	}}
	table.explain()
	part := Shown{Exhibit: Exhibit{ID: "x", Title: "P"}, Tables: []Table{table}}
	doc := Document{Title: "T", Lead: "lead", Parts: []Shown{part}}
	for ending, parts := range map[string][]string{
		".md": {"# T\n\nlead\n\n## P\n", "| a_1 | **50.00 ± 25.00 (2) ʳᵘ** |", "| b\\|c | <u>-1.00</u> |",
			"ᵘ stopped before"},
		".csv": {"model,AP,AP std,AP marks\na_1,0.5,0.25,ru\nb|c,-1.00,,\n"},
		".tex": {`\caption{A \& B}`, `\begin{tabular}{lr}`, `a\_1 & \textbf{50.00 $\pm$ 25.00 (2)}$^{\mathrm{ru}}$ \\`,
			`\underline{$-$1.00}`, `$^{\mathrm{u}}$ stopped before`, `\bottomrule`},
		".json": {`"marks": "ru"`, `"value": 0.5`},
		".html": {"<!doctype html>", `<data value="0.5">50.00 ± 25.00 (2) ʳᵘ</data>`},
	} {
		var b strings.Builder
		if err := doc.Write(&b, ending); err != nil {
			t.Fatal(err)
		}
		for _, want := range parts {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s has no %q:\n%.2000s", ending, want, b.String())
			}
		}
	}
	if err := doc.Write(&strings.Builder{}, ".pdf"); err == nil {
		t.Error("there is a format .pdf")
	}
}
