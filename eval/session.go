package eval

import (
	"context"
	"slices"
	"time"

	"github.com/dygmamba/dygmamba/calibration"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/await"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/replay"
)

// Contender is something to measure beside others.
type Contender struct {
	Name        string // tells it from the others
	Scorer      replay.Scorer
	Calibration *calibration.Map // of its logits; nil: none
	Ask         CandidateScorer  // about many destinations at once; nil: query by query
	// Warm says whether the scorer's memory is already the one after the protocol's validation. If not, or if Warm is
	// nil, a session replays training and validation to make it.
	Warm func(*Protocol) bool
}

// Session measures contenders under one protocol. All of them are ready for the test.
type Session struct {
	protocol   *Protocol
	contenders []Contender
	sharing    []int // for each: the first contender with the same memory, itself where there is none before it
}

// OpenSession opens the protocol of a data set and warms contenders up for it. Trained models open their sessions
// themselves: see predict.Predictor.Evaluation.
func OpenSession(ctx context.Context, set *dataset.Set, o Options, list ...Contender) (*Session, error) {
	p, err := await.Do(ctx, func() (*Protocol, error) { return Open(set, o) })
	if err != nil {
		return nil, err
	}
	return p.Session(ctx, list...)
}

// Session warms contenders up for the protocol.
func (p *Protocol) Session(ctx context.Context, list ...Contender) (*Session, error) {
	s := &Session{protocol: p}
	return s, s.Join(ctx, list...)
}

// Join warms contenders up and adds them. Those that can share a memory with an earlier one do.
func (s *Session) Join(ctx context.Context, list ...Contender) error {
	type memory struct {
		model.StatefulScorer
		of int // contender
	}
	var cold []memory // each a memory of its own
	sharing := slices.Clone(s.sharing)
	for i, c := range list {
		own := memory{of: len(s.contenders) + i}
		sharing = append(sharing, own.of)
		var remembers bool
		own.StatefulScorer, remembers = c.Scorer.(model.StatefulScorer)
		if !remembers || c.Warm != nil && c.Warm(s.protocol) {
			continue
		}
		sharer, shares := c.Scorer.(model.MemorySharer)
		shared := func(m memory) bool { return shares && sharer.ShareMemory(m.StatefulScorer) }
		if at := slices.IndexFunc(cold, shared); at >= 0 {
			sharing[own.of] = cold[at].of
		} else {
			cold = append(cold, own)
		}
	}
	for _, m := range cold {
		if err := s.protocol.Warm(ctx, m.StatefulScorer); err != nil {
			return err
		}
	}
	s.contenders, s.sharing = append(s.contenders, list...), sharing
	return nil
}

// As is the session with a part that has the events of a record: see Protocol.As.
func (s *Session) As(part Part, sampled *Sampled) *Session {
	return &Session{s.protocol.As(part, sampled), s.contenders, s.sharing}
}

// Protocol is what the session asks.
func (s *Session) Protocol() *Protocol { return s.protocol }

// Contenders are those that joined.
func (s *Session) Contenders() []Contender { return s.contenders }

// Evaluate measures a contender on a part. Listen is told every batch of answers; nil: Options.OnAnswers is.
func (s *Session) Evaluate(
	ctx context.Context, c Contender, part Part, strategy protocol.Negatives, listen func(Answers),
) (Result, error) {
	return s.asking(c, listen).Evaluate(ctx, c.Scorer, part, strategy)
}

// Revalidate measures a contender on Val from what it remembers after Train, as a training does.
func (s *Session) Revalidate(ctx context.Context, c Contender, listen func(Answers)) (Result, error) {
	return s.asking(c, listen).Revalidate(ctx, c.Scorer)
}

// Rank measures a contender by the places of destinations, as the Temporal Graph Benchmark does.
func (s *Session) Rank(ctx context.Context, c Contender, o RankOptions) (Ranked, error) {
	o.Ask = c.Ask
	return s.protocol.Rank(ctx, c.Scorer, o)
}

// asking is the protocol for a contender's answers.
func (s *Session) asking(c Contender, listen func(Answers)) *Protocol {
	return s.protocol.With(func(o *Options) {
		if o.Calibration = c.Calibration; listen != nil {
			o.OnAnswers = listen
		}
	})
}

// Row is what one contender achieved in one scenario under one kind of negatives.
type Row struct {
	Scenario  protocol.Scenario `json:"Setting"` // as records of rules have it
	Strategy  protocol.Negatives
	Contender string
	Result
}

// Tests are the tests of a session. Node classification and regression have one, without negatives, whatever is asked
// for.
type Tests struct {
	Scenarios  []protocol.Scenario  // nil: both
	Strategies []protocol.Negatives // nil: protocol.Published()
	Until      time.Time            // all tests share the time until then, see Protocol.Until; zero: no limit

	// OnBatch is told of the events of all passes together; may be nil.
	OnBatch func(done, total int64, scenario protocol.Scenario, strategy protocol.Negatives)
}

// Test measures all contenders on the same questions, scenario by scenario and within it one kind of negatives after
// the other. Rows without events have no batches.
func (s *Session) Test(ctx context.Context, t Tests) ([]Row, error) {
	if t.Scenarios == nil {
		t.Scenarios = protocol.Scenarios()
	}
	if t.Strategies == nil {
		t.Strategies = protocol.Published()
	}
	if s.protocol.Task().OfEvents() {
		t.Scenarios, t.Strategies = []protocol.Scenario{protocol.Transductive}, []protocol.Negatives{""}
	}
	total := 0
	for _, scenario := range t.Scenarios {
		part, err := PartOf(scenario)
		if err != nil {
			return nil, err
		}
		total += s.protocol.Events(part).Len() * len(t.Strategies) * len(s.contenders)
	}
	before, left := 0, len(t.Scenarios)*len(t.Strategies)*len(s.contenders)
	var rows []Row
	for _, scenario := range t.Scenarios {
		part, _ := PartOf(scenario)
		for _, strategy := range t.Strategies {
			results := make([]Result, len(s.contenders))
			for _, members := range s.groups(strategy) {
				proto := s.asking(s.contenders[members[0]], nil)
				if t.OnBatch != nil {
					proto.options.OnBatch = func(done, _ int) {
						t.OnBatch(int64(before+len(members)*done), int64(total), scenario, strategy)
					}
				}
				if !t.Until.IsZero() {
					share := time.Until(t.Until) * time.Duration(len(members)) / time.Duration(left)
					proto = proto.Until(time.Now().Add(share))
				}
				left -= len(members)
				if err := s.measure(ctx, proto, part, strategy, members, results); err != nil {
					return nil, err
				}
				before += len(members) * results[members[0]].Positives
			}
			for i, one := range s.contenders {
				rows = append(rows, Row{scenario, strategy, one.Name, results[i]})
			}
		}
	}
	return rows, nil
}

// groups are the contenders, by number, that are measured together: those that share a memory, where nothing but links
// is asked about and no other process takes part.
func (s *Session) groups(strategy protocol.Negatives) (groups [][]int) {
	together := s.protocol.Task() == protocol.LinkPrediction && strategy != protocol.TimeNegatives &&
		s.protocol.options.Ranks == nil
	for i, with := range s.sharing {
		at := slices.IndexFunc(groups, func(g []int) bool { return together && s.sharing[g[0]] == with })
		if at < 0 {
			groups = append(groups, []int{i})
		} else {
			groups[at] = append(groups[at], i)
		}
	}
	return groups
}

// measure measures the members of a group.
func (s *Session) measure(ctx context.Context, proto *Protocol, part Part, strategy protocol.Negatives, members []int,
	results []Result) error {
	if len(members) == 1 {
		r, err := proto.Evaluate(ctx, s.contenders[members[0]].Scorer, part, strategy)
		results[members[0]] = r
		return err
	}
	var list []Contender
	for _, i := range members {
		list = append(list, s.contenders[i])
	}
	found, err := proto.evaluateTogether(ctx, list, part, strategy)
	for i, r := range found {
		results[members[i]] = r
	}
	return err
}
