package eval_test

import (
	"math"
	"testing"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/sample"
)

// members scores a pair by how many of the two it takes for members of the congress.
type members func(n event.Node, congress int) bool

func (members) Plan() sample.Plan { return sample.Plan{} }
func (members) RankOnly()         {}

func (is members) Score(b *sample.Batch, out []float32) error {
	for i, q := range b.Queries {
		out[i] = 0
		for _, n := range []event.Node{q.Src, q.Dst} {
			if is(n, int(q.Time)) {
				out[i]++
			}
		}
	}
	return nil
}

// listed are members that also know who of the two stood first more often in the congress before: the order of the file
// is a fact of its own, and goes on in part.
type listed struct {
	members
	first map[int]map[event.Node]int // how often, by congress
}

func (l listed) Score(b *sample.Batch, out []float32) error {
	if err := l.members.Score(b, out); err != nil {
		return err
	}
	for i, q := range b.Queries {
		if before := l.first[int(q.Time)-1]; before[q.Src] > before[q.Dst] {
			out[i] += 0.5
		}
	}
	return nil
}

// strangers know besides that a historical negative is a pair that met: whoever never did is none.
type strangers struct {
	listed
	met map[[2]event.Node]int // the first congress in which they did
}

func (s strangers) Score(b *sample.Batch, out []float32) error {
	if err := s.listed.Score(b, out); err != nil {
		return err
	}
	for i, q := range b.Queries {
		if at, ever := s.met[[2]event.Node{q.Src, q.Dst}]; !ever || at >= int(q.Time) {
			out[i] += 3
		}
	}
	return nil
}

// TestMembersTell: in every congress of USLegis each member meets each other member once, so that there is nothing to
// predict but who is a member, and which of the two stands first in the file. That bounds what a model can reach that
// sees no order.
func TestMembersTell(t *testing.T) {
	set, split := published(t, "USLegis")
	sat := map[int]map[event.Node]bool{} // members by congress
	led := map[int]map[event.Node]int{}  // how often a member stands first
	met := map[[2]event.Node]int{}       // the first congress of a pair
	first := map[event.Node]int{}
	meetings := map[int]int{}
	for i := range set.Log.Len() {
		e := set.Log.At(i)
		at := int(e.Time)
		meetings[at]++
		if sat[at] == nil {
			sat[at], led[at] = map[event.Node]bool{}, map[event.Node]int{}
		}
		led[at][e.Src]++
		if pair := [2]event.Node{e.Src, e.Dst}; met[pair] == 0 {
			met[pair] = at
		}
		for _, n := range []event.Node{e.Src, e.Dst} {
			if _, seen := first[n]; !seen {
				first[n] = at
			}
			sat[at][n] = true
		}
	}
	for at, all := range sat {
		if pairs := len(all) * (len(all) - 1) / 2; meetings[at] < pairs*98/100 || meetings[at] > pairs {
			t.Errorf("congress %d has %d members and %d meetings, want one of each of %d pairs",
				at, len(all), meetings[at], pairs)
		}
	}
	now := members(func(n event.Node, at int) bool { return sat[at][n] }) // nobody can know
	before := members(func(n event.Node, at int) bool { return sat[at-1][n] || first[n] >= at })

	proto := eval.NewProtocol(split, eval.Options{})
	for _, c := range []struct {
		who       string
		scorer    replay.Scorer
		negatives protocol.Negatives
		ap, auc   float64
	}{
		{"members now", now, protocol.RandomNegatives, 0.6922, 0.7773},
		{"members now", now, protocol.HistoricalNegatives, 0.8875, 0.9364},
		{"members now", now, protocol.InductiveNegatives, 0.8377, 0.9028},
		{"members now, and who was first", listed{now, led}, protocol.RandomNegatives, 0.7079, 0.7927},
		{"members now, and who was first", listed{now, led}, protocol.HistoricalNegatives, 0.8957, 0.9414},
		{"members now, and who was first", listed{now, led}, protocol.InductiveNegatives, 0.8560, 0.9149},
		{"the same, and who never met", strangers{listed{now, led}, met}, protocol.HistoricalNegatives, 0.9430, 0.9658},
		{"members before, and newcomers", before, protocol.RandomNegatives, 0.6638, 0.7456},
		{"members before, and newcomers", before, protocol.HistoricalNegatives, 0.8156, 0.8858},
		{"members before, and newcomers", before, protocol.InductiveNegatives, 0.7996, 0.8724},
	} {
		r, err := proto.Evaluate(t.Context(), c.scorer, eval.Test, c.negatives)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s, %s negatives: AP %.4f, AUC %.4f", c.who, c.negatives, r.AP, r.AUC)
		if math.Abs(r.AP-c.ap) > 0.0001 || math.Abs(r.AUC-c.auc) > 0.0001 {
			t.Errorf("%s, %s negatives: AP %.4f, AUC %.4f, want %.4f, %.4f",
				c.who, c.negatives, r.AP, r.AUC, c.ap, c.auc)
		}
	}
}
