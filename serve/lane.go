package serve

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/predict"
)

// lane is a goroutine that owns a predictor. It scores the queries of all waiting jobs in one pass, unless the model's
// scores depend on the other queries of a pass.
type lane struct {
	epoch     *epoch
	names     *names
	predictor *predict.Predictor
	chooser   *predict.Chooser // behind which the predictor is, for a model of the task "next"; nil: it is of links
	alone     bool             // scores depend on the other queries of a pass
	most      int              // queries in a pass
	jobs      chan *job
	quit      chan struct{} // closed to end it
	gone      chan struct{} // closed when it has ended
	passes    func(queries float64)
	device    *sync.Mutex // held while the predictor computes on a device that lanes share; nil: it has its own
	waiting   *job        // taken from jobs, for the next pass
	running   bool
	historic  bool      // it may go back in time
	follows   *follower // of what the model derives from the events; nil: it derives nothing
}

// job is one request. The lane answers it at the latest state.
type job struct {
	ctx   context.Context
	pairs []pair                                        // queries to score, or what the following is about
	do    func(p *predict.Predictor, a *resolver) error // something else to do; nil: score
	// choose is for a model of the task "next"; pairs are then only what it asks about
	choose func(c *predict.Chooser, a *resolver) error
	least  uint64 // the sequence that the answer is as of at least
	own    bool   // it is the server's own: it is not refused when many wait

	at          resolver
	logits      []float32
	probability func(logit float32) (probability float64) // by the model that answered
	answers     []predict.Answer                          // instead of both, of a model that answers in words
	err         error
	done        chan struct{}
	taken       func() // ends the span of waiting for the lane
}

// pair is a query with the names of its nodes.
type pair struct {
	src, dst string
	kind     event.Kind // that is asked about; 0: none
	time     event.Time
	now      bool // right after the latest event, whatever time says
}

// resolver turns names into nodes and back, at the state at which a job is answered.
type resolver struct {
	*state
	names   *names
	unknown map[sided]event.Node
	nextID  event.Node // the first id that no node has
}

func newLane(s *Server, ep *epoch, p *predict.Predictor, device *sync.Mutex) *lane {
	l := &lane{epoch: ep, names: ep.names, predictor: p,
		alone: len(p.Spec().Conditions()) > 0, most: max(1, p.Spec().Training.BatchSize),
		jobs: make(chan *job, s.options.Limits.Waiting), quit: make(chan struct{}), gone: make(chan struct{}),
		passes: s.metrics.passes.Observe, device: device}
	if of := p.Derived(); of != nil && !p.Remembers() {
		l.follows = ep.follower(of)
	}
	return l
}

// hold locks a mutex that may be nil.
func hold(m *sync.Mutex) (release func()) {
	if m == nil {
		return func() {}
	}
	m.Lock()
	return m.Unlock
}

// errMoved says that the lane has ended because another model replaced its own.
var errMoved = errors.New("the model was replaced")

func (l *lane) ask(j *job) error {
	j.done = make(chan struct{})
	select {
	case <-l.quit:
		return errMoved
	default:
	}
	j.taken = tracePart(j.ctx, "wait for the model")
	select {
	case l.jobs <- j:
	default:
		if err := l.queue(j); err != nil {
			j.taken()
			return err
		}
	}
	select {
	case <-j.done:
		return j.err
	case <-j.ctx.Done():
		return j.ctx.Err()
	case <-l.gone:
		select {
		case <-j.done:
			return j.err
		default:
			return errMoved
		}
	}
}

// queue waits until there is room for a job of the server itself. Requests are refused.
func (l *lane) queue(j *job) error {
	if !j.own {
		return fail("busy", "too many requests are waiting")
	}
	select {
	case l.jobs <- j:
		return nil
	case <-l.quit:
		return errMoved
	case <-j.ctx.Done():
		return j.ctx.Err()
	}
}

// run answers jobs until the lane is closed, and then those that wait.
func (l *lane) run() {
	defer close(l.gone)
	var tick <-chan time.Time
	if l.model().Derives() {
		idle := time.NewTicker(20 * time.Millisecond)
		defer idle.Stop()
		tick = idle.C
	}
	for {
		if j := l.waiting; j != nil {
			l.waiting = nil
			l.answer(j)
			continue
		}
		select {
		case j := <-l.jobs:
			l.answer(j)
		case <-tick:
			l.catchUp()
		case <-l.quit:
			if len(l.jobs) == 0 {
				return
			}
			l.answer(<-l.jobs)
		}
	}
}

// catchUp updates the model's memory, or what it derives from the events, one unit at a time, so that requests need not
// wait for that.
func (l *lane) catchUp() {
	if l.follows != nil {
		if !l.follows.work.TryLock() {
			return // another lane does so: a second one would only wait for it
		}
		defer l.follows.work.Unlock()
	}
	defer hold(l.device)()
	to := l.epoch.now()
	if l.follows != nil {
		if to, _ = l.follows.target(l); to == nil {
			return
		}
	}
	if l.model().Look(to.PastView) != nil {
		return // the next request gets the error
	}
	for len(l.jobs) == 0 {
		left, err := l.model().CatchUp(context.Background(), 1)
		if err == nil && left == 0 && l.follows != nil {
			l.follows.reached(to)
		}
		if err != nil || left == 0 {
			return
		}
		select {
		case <-l.quit:
			return
		default:
		}
	}
}

// answer answers a job, together with waiting jobs that fit into the same pass.
func (l *lane) answer(j *job) {
	defer hold(l.device)()
	if j.do != nil || j.choose != nil || l.chooser != nil {
		defer close(j.done)
		j.err = l.one(j)
		return
	}
	together, queries := []*job{j}, len(j.pairs)
	for !l.alone && l.waiting == nil && queries < l.most && len(l.jobs) > 0 {
		next := <-l.jobs // nobody else takes one
		if next.do != nil || next.choose != nil || queries+len(next.pairs) > l.most {
			l.waiting = next
		} else {
			together, queries = append(together, next), queries+len(next.pairs)
		}
	}
	l.score(together)
}

// one answers a job that is not only queries.
func (l *lane) one(j *job) (err error) {
	j.taken()
	defer tracePart(j.ctx, "answer")()
	switch err := j.ctx.Err(); {
	case err != nil:
		return err
	case j.own: // is about what the model keeps, whatever its task
	case (j.choose != nil) != (l.chooser != nil): // the model was replaced
		if l.chooser != nil {
			return errNext
		}
		return fail("conflict", "the model was replaced by one of another task; ask again")
	}
	if j.at, err = l.look(j); err != nil {
		return err
	}
	defer l.looked()
	if j.choose != nil {
		return j.choose(l.chooser, &j.at)
	}
	if !l.mayAnswer(j) {
		return j.err
	}
	return j.do(l.predictor, &j.at)
}

// score scores the pairs of several jobs in one pass. If that fails, each job is scored alone, so that only the one at
// fault gets the error.
func (l *lane) score(jobs []*job) {
	at, err := l.look(jobs...)
	defer l.looked()
	var qs []predict.Query
	var live []*job
	for _, j := range jobs {
		j.taken()
		if j.err = j.ctx.Err(); j.err != nil || err != nil || !l.mayAnswer(j) {
			j.err = errors.Join(j.err, err)
			close(j.done)
			continue
		}
		live = append(live, j)
		defer tracePart(j.ctx, "score")()
		for _, p := range j.pairs {
			qs = append(qs, at.query(p))
		}
	}
	if len(live) == 0 {
		return
	}
	ctx := context.Background() // the other jobs still want their answers
	if len(live) == 1 {
		ctx = live[0].ctx
	}
	l.passes(float64(len(qs)))
	var logits []float32
	var answers []predict.Answer
	if l.predictor.InWords() {
		answers, err = l.inWords(ctx, qs)
	} else {
		logits, err = l.predictor.Score(ctx, qs)
	}
	if err != nil && len(live) > 1 {
		for _, j := range live {
			l.score([]*job{j})
		}
		return
	}
	for _, j := range live {
		j.at, j.err = at, err
		switch n := len(j.pairs); {
		case err != nil:
		case answers != nil:
			j.answers, answers = answers[:n:n], answers[n:]
		default:
			j.logits, logits = logits[:n:n], logits[n:]
			j.probability = l.predictor.Probability
		}
		close(j.done)
	}
}

// inWords are the answers of a model of classes or values.
func (l *lane) inWords(ctx context.Context, qs []predict.Query) ([]predict.Answer, error) {
	said, err := l.predictor.Said(ctx, qs)
	if err != nil {
		return nil, err
	}
	answers := make([]predict.Answer, len(said))
	for i, x := range said {
		answers[i] = l.predictor.Answer(x)
	}
	return answers, nil
}

// mayAnswer says whether a job needs no replay of the past; otherwise the job gets errPast.
func (l *lane) mayAnswer(j *job) bool {
	if l.historic || !goesBack(l.predictor, j) {
		return true
	}
	j.err = errPast
	return false
}

// look lets the predictor answer at the latest state, or one before while late events are followed up.
func (l *lane) look(jobs ...*job) (resolver, error) {
	s := l.epoch.now()
	if l.follows != nil {
		least := uint64(0)
		for _, j := range jobs {
			least = max(least, j.least)
		}
		s = l.follows.choose(l, least)
	}
	a := resolver{state: s, names: l.names}
	a.nextID = event.Node(l.names.count()) + 1 // read after the state: above all of its nodes
	return a, l.model().Look(s.PastView)
}

// answering is a model that looks at a past, and goes through its events before questions come.
type answering interface {
	Derives() bool
	Look(v *predict.PastView) error
	CatchUp(ctx context.Context, units int) (left int, err error)
	Close() error
}

// model is what answers: of the task next, or of links.
func (l *lane) model() answering {
	if l.chooser != nil {
		return l.chooser
	}
	return l.predictor
}

// looked notes that the questions about the state that was looked at are answered.
func (l *lane) looked() {
	if l.follows != nil {
		l.follows.answered(l)
	}
}

// close answers the jobs that wait, ends the lane and closes the predictor.
func (l *lane) close() error {
	if l.running {
		close(l.quit)
		<-l.gone
		defer hold(l.device)()
	}
	return l.model().Close()
}

// node is the node of a name. An unknown name gets an id of its own that no node of this state has: a node without a
// past.
func (a *resolver) node(name string, source bool) event.Node {
	if id, ok := a.names.find(name, source); ok && id < a.nextID {
		return id
	}
	key := sided{name, a.names.side(source)}
	id, ok := a.unknown[key]
	if !ok {
		if a.unknown == nil {
			a.unknown = map[sided]event.Node{}
		}
		id = a.nextID + event.Node(len(a.unknown))
		a.unknown[key] = id
	}
	return id
}

// sided is a name of a source or of a destination.
type sided struct {
	name string
	side int
}

func (a *resolver) query(p pair) predict.Query {
	return predict.Query{Src: a.node(p.src, true), Dst: a.node(p.dst, false), Time: a.queryTime(p),
		Kind: p.kind}
}

func (a *resolver) name(n event.Node) string {
	for key, id := range a.unknown {
		if id == n {
			return key.name
		}
	}
	return a.names.Name(n)
}
