package audit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/queries"
	"github.com/dygmamba/dygmamba/internal/streamtest"
	"github.com/dygmamba/dygmamba/protocol"
)

// said is the table of a program that scores by a rule.
func said(t *testing.T, set *dataset.Set, strategy protocol.Negatives, rule func(batch, i int) float64) string {
	t.Helper()
	p, err := eval.Open(set, eval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := draw(p, eval.Test, strategy, eval.BatchSize)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("u,i,ts,label,score\n")
	for k, q := range list {
		for i, x := range q.queries {
			label := 0
			if i < q.events.Len() {
				label = 1
			}
			fmt.Fprintf(&b, "%d,%d,%v,%d,%v\n", x.Src, x.Dst, x.Time, label, rule(k, i))
		}
	}
	return b.String()
}

func TestScores(t *testing.T) {
	log := streamtest.Generate(streamtest.Shape{Events: 3000, Sources: 40, Dests: 40, Instants: 2000, Repeat: 0.5}, 1)
	set := &dataset.Set{Name: "stream", Log: log, Sampling: protocol.Native}
	constant := func(int, int) float64 { return 0.5 }
	honest := said(t, set, "random", constant)
	lines := strings.Split(strings.TrimSpace(honest), "\n")
	swapped := append([]string{lines[0], lines[3], lines[2], lines[1]}, lines[4:]...)
	for _, tt := range []struct{ name, table, negatives, verdict, want string }{
		{"as it should be", honest, "random", Pass, ""},
		{"other negatives", honest, "historical", Fail, "negatives"},
		{"a row less", strings.Join(lines[:len(lines)-1], "\n"), "random", Fail,
			"rows; labels; events; negatives; metrics"},
		{"another order of events", strings.Join(swapped, "\n"), "random", Fail, "events"},
		{"another label", strings.Replace(honest, ",1,0.5", ",0,0.5", 1), "random", Fail, "labels"},
		{"scores by batch", said(t, set, "random", func(k, i int) float64 { return float64(k*1000 + i) }),
			"random", Leak, "equal questions, equal scores"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rows, err := queries.NewReader(set).OpenScores("-", strings.NewReader(tt.table))
			if err != nil {
				t.Fatal(err)
			}
			r, err := Scores(ScoresOptions{Scores: rows, Set: set, Scenario: protocol.Transductive,
				Strategy: protocol.Negatives(tt.negatives)})
			if err != nil {
				t.Fatal(err)
			}
			var bad []string
			for _, c := range r.Checks {
				if !c.OK {
					bad = append(bad, c.Name)
				}
			}
			if r.Verdict != tt.verdict || strings.Join(bad, "; ") != tt.want {
				t.Errorf("verdict %s, %v, want %s, %s\n%+v", r.Verdict, bad, tt.verdict, tt.want, r.Checks)
			}
		})
	}
}
