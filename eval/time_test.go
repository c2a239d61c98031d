package eval_test

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/streamtest"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// witness looks at the past and remembers events, and objects to whatever is not before a question.
type witness struct {
	t      *rapid.T
	log    *event.Log
	latest event.Time // of all that it remembers
	asked  int
}

func (w *witness) Plan() sample.Plan {
	return sample.Plan{Draws: sample.Both(sample.Draw{Neighbors: 4, RowLen: 4}), PairGaps: 3}
}
func (w *witness) UnitPlan() sample.Plan { return sample.Plan{} }

func (w *witness) Commit(b *sample.Batch) error {
	for _, at := range b.Events.Time {
		w.latest = max(w.latest, at)
	}
	return nil
}
func (w *witness) Snapshot() ([]tensor.Named, error) { return nil, nil }
func (w *witness) Restore([]tensor.Named) error      { w.latest = -1e9; return nil }

// Score gathers once more from a stream that ends before the question, which must make no difference.
func (w *witness) Score(b *sample.Batch, out []float32) error {
	for i, q := range b.Queries {
		w.asked++
		if w.latest >= q.Time {
			w.t.Fatalf("asked about %v, something at %v is remembered", q, w.latest)
		}
		before := w.log.Select(func(k int) bool { return w.log.At(k).Time < q.Time })
		var alone sample.Batch
		sample.Gather(index.Freeze(before), w.Plan(), []sample.Query{q}, &alone)
		for d, r := range b.Rows {
			if row := r.Edge[i*r.Len : (i+1)*r.Len]; !slices.Equal(row, alone.Rows[d].Edge) {
				w.t.Fatalf("asked about %v, events %v are looked at, %v without what comes later",
					q, row, alone.Rows[d].Edge)
			}
		}
		if row := b.Gaps[i*3 : (i+1)*3]; !slices.Equal(row, alone.Gaps) {
			w.t.Fatalf("asked about %v, gaps are %v, %v without what comes later", q, row, alone.Gaps)
		}
		out[i] = float32(q.Src) - float32(q.Dst)
	}
	return nil
}

// Removing what happens at a moment, or after it, changes no answer: neither what is looked up nor what is remembered.
func TestMomentsSeeNothingLater(t *testing.T) { rapid.Check(t, momentsSeeNothingLater) }

func FuzzMomentsSeeNothingLater(f *testing.F) { f.Fuzz(rapid.MakeFuzz(momentsSeeNothingLater)) }

func momentsSeeNothingLater(t *rapid.T) {
	events := streamtest.Few(t)
	slices.SortStableFunc(events, func(a, b event.Event) int { return int(a.Time - b.Time) })
	for i := range events { // room for moments
		events[i].Time *= 7
	}
	if len(events) < 10 {
		return
	}
	log := streamtest.Log(t, events)
	s, err := dataset.NewSplit(log, dataset.SplitOptions{Sampling: protocol.Native})
	if err != nil {
		t.Fatal(err)
	}
	size := rapid.IntRange(1, 6).Draw(t, "batch")
	p := eval.NewProtocol(s, eval.Options{Sampling: protocol.Native, BatchSize: size, Order: protocol.Strict,
		Threads: 1})
	w := &witness{t: t, log: log}
	if err := p.Warm(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	r, err := p.Evaluate(t.Context(), w, eval.Test, protocol.TimeNegatives)
	if err != nil {
		t.Fatal(err)
	}
	if w.asked != r.Positives+r.Moments || r.Positives != s.Test.Len() {
		t.Fatalf("%d questions, want %d events and %d moments", w.asked, r.Positives, r.Moments)
	}
}

// Who knows when everybody meets tells every moment from every event, however the events are cut; who knows nothing
// does not.
func TestTimeNegatives(t *testing.T) {
	shape := streamtest.Shape{Events: 3000, Sources: 30, Dests: 20, Instants: 2000, Repeat: 0.9}
	s := split(t, streamtest.Generate(shape, 1))
	all := due{}
	for i := range s.Full.Len() {
		e := s.Full.At(i)
		all[meeting{e.Src, e.Dst, e.Time}] = 1
	}
	var hashes []string
	for _, size := range []int{200, 17} {
		p := eval.NewProtocol(s, eval.Options{BatchSize: size})
		r, err := p.Evaluate(t.Context(), all, eval.Test, protocol.TimeNegatives)
		if err != nil {
			t.Fatal(err)
		}
		if r.AP != 1 || r.AUC != 1 || r.Moments < r.Positives*9/10 || r.Moments > r.Positives {
			t.Errorf("AP %v, AUC %v of %d events and %d moments", r.AP, r.AUC, r.Positives, r.Moments)
		}
		hashes = append(hashes, r.Negatives)
		if r, err = p.Evaluate(t.Context(), due{}, eval.Test, protocol.TimeNegatives); err != nil || r.AUC != 0.5 {
			t.Errorf("who knows nothing has AUC %v, %v", r.AUC, err)
		}
	}
	if hashes[0] != hashes[1] {
		t.Error("moments depend on the size of batches")
	}
}

// warm is a protocol with an EdgeBank that knows what it begins with.
type warm struct {
	*eval.Protocol
	bank replay.Scorer
}

// edgeBanks are ready to be asked, in every order of the events of an instant.
func edgeBanks(t *testing.T, s *dataset.Split) map[protocol.Order]warm {
	t.Helper()
	all := map[protocol.Order]warm{}
	for _, order := range protocol.Orders() {
		list, _, err := models.Contenders("edgebank")
		if err != nil {
			t.Fatal(err)
		}
		p := eval.NewProtocol(s, eval.Options{Order: order})
		if _, err := p.Session(t.Context(), list[0]); err != nil {
			t.Fatal(err)
		}
		all[order] = warm{p, list[0].Scorer}
	}
	return all
}

// A memory in the order of arrival may know what comes after a moment, and is refused; in strict order EdgeBank is
// measured like everyone.
func TestTimeNegativesNeedStrictOrder(t *testing.T) {
	shape := streamtest.Shape{Events: 1000, Sources: 30, Dests: 20, Instants: 800, Repeat: 0.9}
	s := split(t, streamtest.Generate(shape, 1))
	for order, p := range edgeBanks(t, s) {
		r, err := p.Evaluate(t.Context(), p.bank, eval.Test, protocol.TimeNegatives)
		if (order == protocol.Strict) != (err == nil) || err != nil && !errors.Is(err, eval.ErrArrival) {
			t.Errorf("%s: %v, %v", order, r, err)
		}
	}
}
