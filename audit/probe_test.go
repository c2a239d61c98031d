package audit

import (
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/streamtest"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
)

// looker scores by what rule makes of a gathered batch.
type looker struct {
	rule func(b *sample.Batch, i int) float32
}

func (l looker) Plan() sample.Plan {
	return sample.Plan{Draws: sample.Both(sample.Draw{Neighbors: 3, RowLen: 3})}
}

func (l looker) Score(b *sample.Batch, out []float32) error {
	for i := range b.Queries {
		out[i] = l.rule(b, i)
	}
	return nil
}

// met says whether the newest neighbour of the source is the destination.
func met(b *sample.Batch, i int) float32 {
	if b.Rows[0].Node[3*i+2] == b.Queries[i].Dst {
		return 1
	}
	return 0
}

// present lets a query see what happens at its own time.
type present struct{ index.View }

func (p present) Before(n event.Node, t event.Time) index.History {
	return p.View.Before(n, t+1)
}

// Models that peek are caught by what they peek at; one that does not is left in peace.
func TestPeeking(t *testing.T) {
	log := streamtest.Generate(streamtest.Shape{Events: 900, Sources: 20, Dests: 15, Instants: 150, Repeat: 0.5}, 1)
	set := &dataset.Set{Name: "crowds", Log: log, Sampling: protocol.Native}
	for _, tt := range []struct {
		name, want string
		present    bool
		rule       func(b *sample.Batch, i int) float32
	}{
		{"honest", "", false, met},
		{"which queries are positives", shuffled, false, func(b *sample.Batch, i int) float32 {
			if i < b.Positives {
				return 1
			}
			return 0
		}},
		{"the events themselves", asAsked, false, func(b *sample.Batch, i int) float32 {
			for k, u := range b.Events.Src {
				if u == b.Queries[i].Src && b.Events.Dst[k] == b.Queries[i].Dst {
					return 1
				}
			}
			return 0
		}},
		{"its own instant", blind, true, met},
		{"how many are asked about", cutApart, false, func(b *sample.Batch, i int) float32 {
			return float32(len(b.Queries)) / 100
		}},
		{"who else is asked about", otherQueries, false, func(b *sample.Batch, i int) float32 {
			most := event.Node(0)
			for _, q := range b.Queries {
				most += q.Dst
			}
			return float32(most) / 1000
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var answers []scored
			o := eval.Options{BatchSize: 20, OnAnswers: func(b eval.Answers) { answers = append(answers, keep(b)) }}
			proto, err := eval.Open(set, o)
			if err != nil {
				t.Fatal(err)
			}
			questions, _, err := draw(proto, eval.Test, protocol.RandomNegatives, o.BatchSize)
			if err != nil {
				t.Fatal(err)
			}
			pass, err := proto.Pass(eval.Test, protocol.RandomNegatives)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := proto.Evaluate(t.Context(), looker{tt.rule}, eval.Test, protocol.RandomNegatives); err != nil {
				t.Fatal(err)
			}
			p := prober{scorer: looker{tt.rule}, pass: pass, test: test{questions: questions, answers: answers}}
			if tt.present {
				p.pass.Past = present{p.pass.Past}
			}
			var r Report
			if err := p.look(t.Context(), &r); err != nil {
				t.Fatal(err)
			}
			r.judge()
			var names []string
			for _, c := range r.Checks {
				if !c.OK {
					names = append(names, c.Name)
				}
			}
			moved := strings.Join(names, "; ")
			want := Leak
			if tt.want == "" {
				want = Pass
			}
			if r.Verdict != want || !strings.Contains(moved, tt.want) || tt.want == "" && moved != "" {
				t.Errorf("verdict %s by %q, want %s by %q", r.Verdict, moved, want, tt.want)
			}
		})
	}
}

// What cannot be as it should weighs more than a leak.
func TestJudge(t *testing.T) {
	var r Report
	r.tell("a", "x")
	if r.judge(); r.Verdict != Pass {
		t.Errorf("information gives %s", r.Verdict)
	}
	r.leak("b", false, "x", "y")
	if r.judge(); r.Verdict != Leak {
		t.Errorf("a leak gives %s", r.Verdict)
	}
	r.same("c", "x", "y")
	if r.judge(); r.Verdict != Fail {
		t.Errorf("another record gives %s", r.Verdict)
	}
}
