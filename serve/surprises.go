package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/dygmamba/dygmamba/predict"
)

// Surprises says which events are listed as surprising, for a model of the task "next".
type Surprises struct {
	Bits    float64 // listed from this many bits on; 0: DefaultBits
	Webhook string  // where each of them is posted to as JSON; "": nowhere
}

// DefaultBits is the surprise of a destination that had a probability of one in a thousand.
const DefaultBits = 10

const (
	surprisesKept    = 500
	surprisesWaiting = 256 // batches of events, before some are left out
	webhookTimeout   = 5 * time.Second
)

// surprises judges every event as it comes in, from what was strictly before its time. It has a model of its own, which
// goes through the events once.
type surprises struct {
	Surprises
	server *Server
	offers chan [2]*state
	posts  chan surpriseDoc
	model  *predict.Chooser
	number int    // of the generation that the model is of
	epoch  *epoch // and of the past that it looks at

	mu      sync.Mutex // guards what follows
	list    []surpriseDoc
	judged  int
	bits    float64 // of all that were judged
	missed  int     // events that came too fast, or that could not be judged
	dropped int     // that the webhook did not take
}

// surpriseDoc is a surprising event.
type surpriseDoc struct {
	pairDoc
	Sequence uint64   `json:"sequence"` // of the batch that it came with
	Bits     float64  `json:"who_bits"`
	Nats     *float64 `json:"when_nats,omitempty"`
	Reasons  []string `json:"reasons"`
}

func newSurprises(s *Server, o Surprises) *surprises {
	o.Bits = cmp.Or(o.Bits, DefaultBits)
	return &surprises{Surprises: o, server: s, offers: make(chan [2]*state, surprisesWaiting),
		posts: make(chan surpriseDoc, surprisesKept)}
}

// applied is called by the engine's goroutine after every batch.
func (x *surprises) applied(before, after *state) {
	select {
	case x.offers <- [2]*state{before, after}:
	default:
		x.miss(after.Len() - before.Len())
	}
}

func (x *surprises) miss(n int) {
	x.mu.Lock()
	x.missed += n
	x.mu.Unlock()
}

// watch judges events until ctx ends.
func (x *surprises) watch(ctx context.Context) {
	defer func() {
		if x.model != nil {
			x.model.Close()
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case o := <-x.offers:
			if err := x.judge(ctx, o[0], o[1]); err != nil && ctx.Err() == nil {
				x.miss(o[1].Len() - o[0].Len())
				x.server.log.Warn("judge new events: " + err.Error())
			}
		}
	}
}

// open makes the model that of the current generation; nil where that is of another task.
func (x *surprises) open() error {
	g := x.server.models.current.Load()
	if x.number == g.Number && x.epoch == g.epoch {
		return nil
	}
	if x.model != nil {
		x.model.Close()
	}
	x.model, x.number, x.epoch = nil, g.Number, g.epoch
	if g.slow.chooser == nil {
		return nil
	}
	o := x.server.options.Load
	o.Set, o.Live, o.Names = x.server.options.Set, g.epoch.past, g.epoch.names
	o.Device, o.Threads = nil, 1
	var err error
	x.model, err = predict.LoadChooser(g.Checkpoint, o)
	return err
}

// judge looks at the events of a batch.
func (x *surprises) judge(ctx context.Context, before, after *state) error {
	if err := x.open(); err != nil || x.model == nil {
		return err
	}
	if before.epoch != after.epoch || x.epoch != after.epoch { // events were dropped meanwhile
		x.miss(1)
		return nil
	}
	if err := x.model.Look(after.PastView); err != nil {
		return err
	}
	events := after.Events().Slice(before.Len(), after.Len())
	queries := make([]predict.Query, events.Len())
	for i := range queries {
		queries[i] = predict.Query{Src: events.Src[i], Dst: events.Dst[i], Time: events.Time[i]}
	}
	found, err := x.model.Surprises(ctx, queries, nil)
	if err != nil {
		return err
	}
	names := after.epoch.names
	at := x.server.options.Set.Clock().Show
	for i, f := range found {
		if f.Bits < x.Bits {
			continue
		}
		u, v := names.Name(queries[i].Src), names.Name(queries[i].Dst)
		doc := surpriseDoc{pairDoc{x.server.show(u), x.server.show(v), queries[i].Time}, after.Last, f.Bits, f.Nats,
			f.Reasons(queries[i].Dst, names.Name, at)}
		x.note(doc)
	}
	x.mu.Lock()
	x.judged += len(found)
	for _, f := range found {
		x.bits += f.Bits
	}
	x.mu.Unlock()
	return nil
}

// note lists an event and lets it be posted.
func (x *surprises) note(doc surpriseDoc) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.list = append(x.list, doc)
	if len(x.list) > surprisesKept {
		x.list = append(x.list[:0], x.list[1:]...)
	}
	if x.Webhook == "" {
		return
	}
	select {
	case x.posts <- doc:
	default:
		x.dropped++
	}
}

// post sends surprising events to the webhook, one after another, each up to three times.
func (x *surprises) post(ctx context.Context) {
	client := &http.Client{Timeout: webhookTimeout}
	for {
		select {
		case <-ctx.Done():
			return
		case doc := <-x.posts:
			body, err := json.Marshal(doc)
			for try := range 3 {
				if try > 0 && !sleep(ctx, time.Duration(try)*time.Second) {
					return
				}
				if err = send(ctx, client, x.Webhook, body); err == nil {
					break
				}
			}
			if err != nil && ctx.Err() == nil {
				x.mu.Lock()
				x.dropped++
				x.mu.Unlock()
				x.server.log.Warn("the webhook took no surprising event: " + err.Error())
			}
		}
	}
}

func send(ctx context.Context, client *http.Client, url string, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", typeJSON)
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("it answered %s", answer.Status)
	}
	return nil
}

// surprisesDoc is the list of surprising events, the newest first.
type surprisesDoc struct {
	Threshold float64       `json:"threshold"` // bits
	Judged    int           `json:"judged"`    // events since the server started
	Missed    int           `json:"missed"`    // events that came too fast
	Dropped   int           `json:"dropped,omitempty"`
	Mean      *float64      `json:"mean_bits,omitempty"` // of the judged events; nil: there were none
	Items     []surpriseDoc `json:"items"`
}

// clear forgets the list: what it says of events, and of what came before them, may name what was removed.
func (x *surprises) clear() {
	x.mu.Lock()
	defer x.mu.Unlock()
	clear(x.list[:cap(x.list)])
	x.list = nil
}

// last is the latest surprising events of at least some bits.
func (x *surprises) last(n int, bits float64) surprisesDoc {
	x.mu.Lock()
	defer x.mu.Unlock()
	doc := surprisesDoc{Threshold: max(bits, x.Bits), Judged: x.judged, Missed: x.missed, Dropped: x.dropped,
		Items: []surpriseDoc{}}
	if x.judged > 0 {
		mean := x.bits / float64(x.judged)
		doc.Mean = &mean
	}
	for i := len(x.list) - 1; i >= 0 && len(doc.Items) < n; i-- {
		if x.list[i].Bits >= bits {
			doc.Items = append(doc.Items, x.list[i])
		}
	}
	return doc
}

// getSurprises answers with the latest surprising events.
func (s *Server) getSurprises(_ http.ResponseWriter, r *http.Request) (any, error) {
	if !s.models.chooses() {
		return nil, fail("not_found", "the model is not of the task next: it cannot tell how surprising events are")
	}
	limit, bits := 100, 0.0
	query := r.URL.Query()
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > surprisesKept {
			return nil, bad("limit", strconv.Quote(clip(text)),
				fmt.Sprintf("a whole number from 1 to %d", surprisesKept))
		}
		limit = n
	}
	if text := query.Get("bits"); text != "" {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !(x >= 0) {
			return nil, bad("bits", strconv.Quote(clip(text)), "a number from 0 on")
		}
		bits = x
	}
	return s.surprises.last(limit, bits), nil
}
