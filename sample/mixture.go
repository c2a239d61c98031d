package sample

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/pyset"
	"github.com/dygmamba/dygmamba/internal/rng"
	"github.com/dygmamba/dygmamba/protocol"
)

// mixture is random negatives of which some are replaced: by pairs that met strictly before the batch, at the
// positive's time, by moments at which a pair of the stream did not meet, and by the positive with another kind. Random
// ones are drawn for every positive all the same, so that their generator goes on as it would; what else is drawn comes
// from streams of our own, one for each epoch and batch.
type mixture struct {
	random Negatives
	shares protocol.Shares
	log    *event.Log
	seed   uint64
	pairs  *nativePairs
	kinds  int      // of the log's events
	epoch  uint64   // 1 is the first; 0: none has begun
	ahead  *Moments // of this epoch
	drawn  uint64   // the epoch that ahead is of
}

// NewMixture mixes kinds of negatives for the training on a log, which is walked in batches from its beginning, epoch
// after epoch. A seed draws the same for the same epoch and batch, whatever was drawn before.
func NewMixture(log *event.Log, random Negatives, s protocol.Shares, seed uint64) (Negatives, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if !log.Sorted() {
		return nil, fmt.Errorf("mix negatives: the events are not in the order of time")
	}
	kinds := KindsOf(log.All())
	if s[protocol.KindNegatives] > 0 && kinds < 2 {
		return nil, fmt.Errorf("mix negatives: the events have %d kinds, %s%s needs at least 2", kinds,
			protocol.SharePrefix, protocol.KindNegatives)
	}
	p := pool{Pool: NewPool(log), observed: math.Inf(-1)}
	return &mixture{random: random, shares: s, log: log, seed: seed, pairs: newNativePairs(p, nil), kinds: kinds}, nil
}

func (m *mixture) Draw(pos event.Span, out []Query) {
	m.random.Draw(pos, out)
	if pos.First() == 0 {
		m.epoch++
	}
	gen := rng.New(m.seed, fmt.Sprintf("negatives of epoch %d from event %d", m.epoch, pos.First()))
	taken := m.moments(gen, pos, out)
	const random, historical = protocol.RandomNegatives, protocol.HistoricalNegatives
	if s := m.shares; s[historical] > 0 {
		m.historical(gen, pos, out, taken, s[historical]/s.Sum(random, historical))
	}
	if share := m.shares[protocol.KindNegatives]; share > 0 {
		m.otherKinds(pos, out, taken, share/m.shares.Sum(random, historical, protocol.KindNegatives))
	}
}

// otherKinds replaces rows that are not taken, each with a probability, by the positive with another kind. It has a
// stream of its own, so that all other draws are as they would be without it.
func (m *mixture) otherKinds(pos event.Span, out []Query, taken []bool, share float64) {
	gen := rng.New(m.seed, fmt.Sprintf("kinds of epoch %d from event %d", m.epoch, pos.First()))
	for i := range out {
		if gen.Float64() < share && !taken[i] {
			out[i] = Query{Src: pos.Src[i], Dst: pos.Dst[i], Time: pos.Time[i],
				Kind: drawKind(gen, m.kinds, pos.Kind(i))}
		}
	}
}

// KindsOf is the largest kind of some events.
func KindsOf(events event.Span) int {
	most := event.Kind(0)
	for i := 0; events.HasKinds() && i < events.Len(); i++ {
		most = max(most, events.Kind(i))
	}
	return int(most)
}

// moments replaces as many rows as there are moments while the batch lasts, and says which. Where these are more than
// rows, as in a long silence, an even draw of them is asked about.
func (m *mixture) moments(gen *rng.Source, pos event.Span, out []Query) (taken []bool) {
	taken = make([]bool, len(out))
	if m.shares[protocol.TimeNegatives] == 0 {
		return taken
	}
	if m.drawn != m.epoch {
		share := m.shares[protocol.TimeNegatives] / m.shares.Sum()
		m.ahead = NewMoments(m.log.All(), m.log, MomentOptions{
			Seed: m.seed, Stream: fmt.Sprintf("negatives time of epoch %d", m.epoch), Share: share,
		})
		m.drawn = m.epoch
	}
	now := m.ahead.During(pos)
	rows := min(len(now), len(out))
	which := gen.Sample(len(now), rows)
	for i, row := range gen.Sample(len(out), rows) {
		out[row], taken[row] = now[which[i]], true
	}
	return taken
}

// historical replaces rows that are not taken, each with a probability, as far as there are pairs.
func (m *mixture) historical(gen *rng.Source, pos event.Span, out []Query, taken []bool, share float64) {
	var rows []int
	for i := range out {
		if gen.Float64() < share && !taken[i] {
			rows = append(rows, i)
		}
	}
	m.pairs.Source = gen
	for i, k := range m.pairs.metBefore(pos, len(rows)) {
		q := &out[rows[i]]
		q.Src, q.Dst = pyset.Split(k)
	}
}

// Reset starts the draws over.
func (m *mixture) Reset() {
	m.random.Reset()
	m.epoch = 0
}

// State is where the random draws stand, and the epoch.
func (m *mixture) State() []byte { return m.AppendState(nil) }

// AppendState appends the state to b.
func (m *mixture) AppendState(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, m.epoch)
	return m.random.(Resumable).AppendState(b)
}

// SetState continues from a State.
func (m *mixture) SetState(b []byte) error {
	if len(b) < 8 {
		return fmt.Errorf("mixed negatives: a state of %d bytes, want at least 8", len(b))
	}
	m.epoch = binary.LittleEndian.Uint64(b)
	return m.random.(Resumable).SetState(b[8:])
}
