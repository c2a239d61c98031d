package sample

import (
	"fmt"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/rng"
	"github.com/dygmamba/dygmamba/protocol"
)

// otherKinds are the positives with another kind, each of them equally likely.
type otherKinds struct {
	kinds int
	*rng.Source
}

func newOtherKinds(kinds int, seed uint64) (Negatives, error) {
	if kinds < 2 {
		return nil, fmt.Errorf("%s negatives of events of %d kinds, must be at least 2", protocol.KindNegatives, kinds)
	}
	return &otherKinds{kinds, rng.New(seed, "negatives "+string(protocol.KindNegatives))}, nil
}

func (o *otherKinds) Draw(pos event.Span, out []Query) {
	repeat(pos, out)
	for i := range out {
		out[i].Kind = drawKind(o.Source, o.kinds, pos.Kind(i))
	}
}

// drawKind draws one of the kinds 1 … n but for one of them.
func drawKind(gen *rng.Source, n int, but event.Kind) event.Kind {
	if but == 0 || int(but) > n {
		return event.Kind(1 + gen.Below(n))
	}
	k := event.Kind(1 + gen.Below(n-1))
	if k >= but {
		k++
	}
	return k
}

// EveryKind asks about all other kinds of the positives, one in each of Rounds draws for a batch: the kind that follows
// the positive's own, the one after that, and so on, from the last to the first.
type EveryKind struct {
	Kinds int
	round int
}

// Rounds is how many other kinds there are.
func (e *EveryKind) Rounds() int { return e.Kinds - 1 }

// Draw asks about the next of the other kinds.
func (e *EveryKind) Draw(pos event.Span, out []Query) {
	repeat(pos, out)
	for i := range out {
		out[i].Kind = event.Kind((int(pos.Kind(i))+e.round)%e.Kinds + 1)
	}
	e.round = (e.round + 1) % e.Rounds()
}

// Reset begins with the first round.
func (e *EveryKind) Reset() { e.round = 0 }
