package serve

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/predict"
)

// lane is a goroutine that owns a predictor. Questions that wait at the same time are scored in one pass, unless the
// model's scores depend on who else is asked about.
type lane struct {
	engine    *engine
	predictor *predict.Predictor
	alone     bool // scores depend on their batch
	most      int  // queries of a pass
	jobs      chan *job
	quit      chan struct{} // closed to end it
	gone      chan struct{} // closed when it has ended
	passes    func(queries int)
	device    *sync.Mutex // held while the predictor computes, as others use the same device; nil: it has its own
	waiting   *job        // taken from jobs, for the next pass
}

// job is one question. The lane answers it at a state of its choice, which is the latest.
type job struct {
	ctx   context.Context
	pairs []pair                                     // to score; or else
	do    func(p *predict.Predictor, a *asked) error // what to do

	asked  asked
	logits []float32
	means  func(logit float32) (probability float64) // to the model that answered
	err    error
	done   chan struct{}
}

// pair is a query by names.
type pair struct {
	src, dst string
	time     event.Time
	now      bool // right after the latest event, whatever time says
}

// asked is the state at which a question was answered, and the nodes of the names in it.
type asked struct {
	*state
	names     *names
	strangers map[string]event.Node
	above     event.Node // ids that nobody has, from here on
}

func newLane(e *engine, p *predict.Predictor, queue int, device *sync.Mutex, passes func(int)) *lane {
	l := &lane{engine: e, predictor: p,
		alone: len(p.Spec().Conditions()) > 0, most: max(1, p.Spec().Training.BatchSize),
		jobs: make(chan *job, queue), quit: make(chan struct{}), gone: make(chan struct{}),
		passes: passes, device: device}
	go l.run()
	return l
}

// errMoved says that a lane has ended: another one has its work.
var errMoved = errors.New("the model was replaced")

// ask hands a job to the lane and waits for the answer.
func (l *lane) ask(j *job) error {
	j.done = make(chan struct{})
	select {
	case <-l.quit:
		return errMoved
	default:
	}
	select {
	case l.jobs <- j:
	default:
		return busy("too many questions wait already")
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

// run answers until the lane is closed, and what waits then.
func (l *lane) run() {
	defer close(l.gone)
	var idle *time.Ticker
	var tick <-chan time.Time
	if l.predictor.Remembers() {
		idle = time.NewTicker(20 * time.Millisecond)
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
			for {
				select {
				case j := <-l.jobs:
					l.answer(j)
				default:
					return
				}
			}
		}
	}
}

// catchUp lets a memory learn of what came in, a little at a time, so that questions find it there.
func (l *lane) catchUp() {
	if l.device != nil {
		l.device.Lock()
		defer l.device.Unlock()
	}
	if l.predictor.Look(l.engine.now().Moment) != nil {
		return // the next question hears of it
	}
	for len(l.jobs) == 0 {
		if left, err := l.predictor.CatchUp(context.Background(), 1); err != nil || left == 0 {
			return
		}
		select {
		case <-l.quit:
			return
		default:
		}
	}
}

// answer answers a job, and with it those that wait and go together with it.
func (l *lane) answer(j *job) {
	if l.device != nil {
		l.device.Lock()
		defer l.device.Unlock()
	}
	if j.do != nil || l.alone {
		l.single(j)
		return
	}
	together, queries := []*job{j}, len(j.pairs)
	for queries < l.most {
		select {
		case next := <-l.jobs:
			if next.do != nil || queries+len(next.pairs) > l.most {
				l.waiting = next
				l.score(together)
				return
			}
			together, queries = append(together, next), queries+len(next.pairs)
			continue
		default:
		}
		break
	}
	l.score(together)
}

// single answers a job by itself.
func (l *lane) single(j *job) {
	if j.do == nil {
		l.score([]*job{j})
		return
	}
	defer close(j.done)
	if j.err = j.ctx.Err(); j.err != nil {
		return
	}
	if j.asked, j.err = l.look(); j.err == nil {
		j.err = j.do(l.predictor, &j.asked)
	}
}

// score scores all pairs of some jobs at once. If that fails each is asked alone, so that nobody suffers from what
// another one asked.
func (l *lane) score(jobs []*job) {
	at, err := l.look()
	var qs []predict.Query
	var live []*job
	for _, j := range jobs {
		if j.err = j.ctx.Err(); j.err != nil || err != nil {
			j.err = errors.Join(j.err, err)
			close(j.done)
			continue
		}
		live = append(live, j)
		for _, p := range j.pairs {
			qs = append(qs, at.query(p))
		}
	}
	if len(live) == 0 {
		return
	}
	ctx := context.Background() // others may still want to know
	if len(live) == 1 {
		ctx = live[0].ctx
	}
	l.passes(len(qs))
	logits, err := l.predictor.Score(ctx, qs)
	if err != nil && len(live) > 1 {
		for _, j := range live {
			l.score([]*job{j})
		}
		return
	}
	for _, j := range live {
		j.asked, j.err = at, err
		if err == nil {
			j.logits, logits = logits[:len(j.pairs):len(j.pairs)], logits[len(j.pairs):]
			j.means = l.predictor.Probability
		}
		close(j.done)
	}
}

// look turns the predictor to what is known now.
func (l *lane) look() (asked, error) {
	s := l.engine.now()
	a := asked{state: s, names: l.engine.names, above: event.Node(l.engine.names.count()) + 1} // in this order
	return a, l.predictor.Look(s.Moment)
}

// close ends the lane when it has answered what waits, and gives the predictor back.
func (l *lane) close() error {
	close(l.quit)
	<-l.gone
	if l.device != nil {
		l.device.Lock()
		defer l.device.Unlock()
	}
	return l.predictor.Close()
}

// node is the node of a name. A name that nobody has is a node of which nothing is known, one for each such name: it
// has
// an id that nobody can have got before this state.
func (a *asked) node(name string, source bool) event.Node {
	if id, ok := a.names.find(name, source); ok && id < a.above {
		return id
	}
	key := name
	if a.names.apart && source {
		key = "\x00" + name
	}
	if id, ok := a.strangers[key]; ok {
		return id
	}
	if a.strangers == nil {
		a.strangers = map[string]event.Node{}
	}
	id := a.above + event.Node(len(a.strangers))
	a.strangers[key] = id
	return id
}

// query is a pair as the model knows it.
func (a *asked) query(p pair) predict.Query {
	return predict.Query{Src: a.node(p.src, true), Dst: a.node(p.dst, false), Time: a.moment(p.time, p.now)}
}

// name is what a node of a question is called.
func (a *asked) name(n event.Node) string {
	for name, id := range a.strangers {
		if id == n {
			if name[0] == 0 {
				name = name[1:]
			}
			return name
		}
	}
	return a.names.name(n)
}
