package serve

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/eventlog"
)

var eventFields = []string{"src", "dst", "time", "label", "features", "kind", "id", "columns"}

// postEvents takes all events of a request, and answers when they are durable; or takes none of them.
func (s *Server) postEvents(w http.ResponseWriter, r *http.Request) (any, error) {
	receipt, err := s.take(r, r.Header.Get("Idempotency-Key"), bodyOf(r), 0)
	if err != nil {
		return nil, err
	}
	return struct {
		Accepted int    `json:"accepted"`
		Last     uint64 `json:"last"`
	}{receipt.Accepted, receipt.Last}, nil
}

// take adds the events of a body, which follows some lines that were taken before.
func (s *Server) take(r *http.Request, key string, b *body, lines int) (receipt eventlog.Receipt, err error) {
	bound, err := keyOf(r, key, b.text)
	if err != nil {
		return receipt, err
	}
	read := tracePart(r.Context(), "read the events")
	d := eventDecoder{limits: s.limits(), set: s.options.Set, width: s.engine.width, before: lines, ahead: s.ahead(),
		bound: boundID(r, ""), columns: s.engine.columns}
	events, err := d.decode(b.text, b.kind)
	read()
	if err != nil {
		return receipt, err
	}
	if why := s.full(len(events)); why != nil {
		if receipt, err = s.engine.given(r.Context(), bound); err != nil || !receipt.Again {
			return receipt, why
		}
	} else {
		kept := tracePart(r.Context(), "append to the log and apply")
		receipt, err = s.engine.ingest(r.Context(), bound, events)
		kept()
		s.health.ingested(err)
	}
	switch {
	case err != nil:
		return receipt, err
	case receipt.Differs:
		return receipt, fail("key_reused", "the Idempotency-Key %q was used with another body; want a new key", key)
	case receipt.Again:
		s.metrics.again.Inc()
	default:
		s.metrics.events.Add(float64(receipt.Accepted))
	}
	return receipt, nil
}

// full says why there is no room for more events, nil if there is.
func (s *Server) full(events int) error {
	if known, most := s.engine.names().count(), s.limits().Nodes; known > most {
		return fail("full", "%d nodes are known, more than the limit of %d", known, most)
	}
	return s.room.refuse(events)
}

const maxKey = 200 // bytes of an idempotency key

// keyOf is the idempotency key of a request as the log keeps it: bound to the name of the token and to the body.
func keyOf(r *http.Request, key, body string) (string, error) {
	if key == "" {
		return "", nil
	}
	if len(key) > maxKey || strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "", bad("Idempotency-Key", strconv.Quote(clip(key)),
			fmt.Sprintf("at most %d printable ASCII characters without spaces", maxKey))
	}
	if name, _ := r.Context().Value(tokenKey{}).(string); name != "" {
		key = name + "\x00" + key
	}
	return eventlog.BindKey(key, body), nil
}

// eventDecoder reads events and collects what is wrong with them.
type eventDecoder struct {
	limits   *Limits
	set      *dataset.Set
	width    int              // features of an event
	before   int              // lines before the text
	ahead    event.Time       // no time may be after it
	bound    string           // what the log has before an id: the name of the token
	columns  *dataset.Encoder // of raw columns; nil: there are none
	events   []eventlog.Event
	problems []problem
	where    func(i int, field string) string
}

func (d *eventDecoder) decode(text, kind string) ([]eventlog.Event, error) {
	if kind == typeNDJSON {
		d.where = func(i int, field string) string { return fmt.Sprintf("line %d, %s", i+1, field) }
		if err := d.lines(text); err != nil {
			return nil, err
		}
	} else {
		d.where = func(i int, field string) string { return fmt.Sprintf("events[%d].%s", i, field) }
		if err := read(text, 0, func(s *scanner) {
			present := s.object([]string{"events"}, func(int) { s.array(func(i int) { d.one(s, i) }) })
			if present == 0 {
				panic(bad("the document", "no events", `{"events": [...]}`))
			}
		}); err != nil {
			return nil, err
		}
	}
	if len(d.problems) > 0 {
		return nil, badRequest(d.problems)
	}
	if len(d.events) == 0 {
		return nil, bad("events", "none", "at least one event")
	}
	return d.events, nil
}

// lines reads one event from each line that is not empty.
func (d *eventDecoder) lines(text string) error {
	number := d.before
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			if err := read(line, number, func(s *scanner) { d.one(s, number) }); err != nil {
				return err
			}
		}
		number++
	}
	return nil
}

func (d *eventDecoder) one(s *scanner, i int) {
	if len(d.events) >= d.limits.Batch {
		panic(fail("too_large", "more than %d events in one request; want several requests", d.limits.Batch))
	}
	var e eventlog.Event
	var raw []float32
	present := s.object(eventFields, func(field int) {
		switch field {
		case 0:
			e.Src = s.id()
		case 1:
			e.Dst = s.id()
		case 2:
			e.Time = s.time(d.set.Clock())
		case 3:
			e.Label = d.label(s, i)
		case 4:
			e.Features = d.features(s)
		case 5:
			e.Kind = s.word("a kind")
		case 6:
			e.ID = d.id(s)
		case 7:
			raw = d.raw(s, i)
		}
	})
	for f, name := range eventFields[:3] {
		if present&(1<<f) == 0 {
			d.bad(i, name, "nothing", "a value")
			return
		}
	}
	if raw != nil {
		if e.Features != nil {
			d.bad(i, "columns", "features too", "columns or features, not both")
		}
		e.Features = raw
	} else if e.Features != nil && d.columns != nil && len(e.Features) == d.width {
		if at, want := d.columns.Wrong(e.Features); at >= 0 {
			d.bad(i, fmt.Sprintf("features[%d]", at), strconv.FormatFloat(float64(e.Features[at]), 'g', -1, 32),
				want+"; values as they were imported go under columns")
		}
	}
	d.check(i, &e)
	d.events = append(d.events, e)
}

// maxEventID is how many bytes the id of an event may have.
const maxEventID = 200

// id reads the id of an event, with what the log has before it.
func (d *eventDecoder) id(s *scanner) string {
	if s.null() {
		return ""
	}
	s.space()
	start := s.at
	id := s.string("the id of an event")
	if wrongID(id, false, maxEventID) != "" {
		s.stop(start, fmt.Sprintf("the id of an event: 1 to %d bytes of valid UTF-8 without control characters",
			maxEventID))
	}
	return d.bound + id
}

// ahead is the latest time that an event may have now.
func (s *Server) ahead() event.Time {
	if s.options.MaxAhead <= 0 {
		return math.Inf(1)
	}
	now := time.Now()
	seconds := float64(now.Unix()) + float64(now.Nanosecond())/1e9
	return seconds*s.options.Set.Clock().Second() + s.options.MaxAhead
}

// features reads a list of numbers, no more than an event can have.
func (d *eventDecoder) features(s *scanner) []float32 {
	if s.null() {
		return nil
	}
	list := make([]float32, 0, d.width)
	s.array(func(i int) {
		if i >= d.width {
			s.stop(s.at, fmt.Sprintf("%d features, as the events of this data set have", d.width))
		}
		v := float32(s.number("a feature"))
		if math.IsInf(float64(v), 0) {
			s.stop(s.at, "a feature that fits into 32 bits")
		}
		list = append(list, v)
	})
	return list
}

// raw reads values of columns by their imported names, all of them, and encodes them. Null is a missing value.
func (d *eventDecoder) raw(s *scanner, i int) []float32 {
	if s.null() {
		return nil
	}
	if d.columns == nil {
		s.stop(s.at, "no columns: the events of this data set were imported without columns of features")
	}
	names := d.columns.Names()
	out := make([]float32, d.columns.Width())
	seen := make([]bool, len(names))
	s.members(names, func(field int) {
		seen[field] = true
		if numbers, list := d.columns.Lists(field); list {
			d.list(s, out[:numbers])
			return
		}
		cell := s.cell("a value of column " + names[field])
		if want := d.columns.Put(out, field, []byte(cell)); want != "" {
			d.bad(i, "columns."+names[field], strconv.Quote(clip(cell)), want)
		}
	})
	for field, name := range names {
		if !seen[field] {
			d.bad(i, "columns."+name, "nothing", "a value, or null where it is missing; columns are "+
				strings.Join(names, ", "))
		}
	}
	return out
}

// list reads as many numbers as a column of lists has.
func (d *eventDecoder) list(s *scanner, out []float32) {
	n := 0
	s.array(func(i int) {
		if i >= len(out) {
			s.stop(s.at, fmt.Sprintf("a list of %d numbers", len(out)))
		}
		out[i] = float32(s.number("a number"))
		n++
	})
	if n != len(out) {
		s.stop(s.at, fmt.Sprintf("a list of %d numbers", len(out)))
	}
}

// check says what is wrong with an event that is well-formed.
func (d *eventDecoder) check(i int, e *eventlog.Event) {
	for _, id := range []struct{ field, value string }{{"src", e.Src}, {"dst", e.Dst}} {
		if want := wrongID(id.value, d.set.Names == nil, d.limits.ID); want != "" {
			d.bad(i, id.field, strconv.Quote(clip(id.value)), want)
		}
	}
	if math.Abs(e.Time) > event.MaxTime {
		d.bad(i, "time", strconv.FormatFloat(e.Time, 'g', -1, 64),
			fmt.Sprintf("a number between %g and %g", -event.MaxTime, event.MaxTime))
	}
	if e.Time > d.ahead {
		d.bad(i, "time", d.set.Clock().Write(e.Time), "a time not after "+d.set.Clock().Write(d.ahead)+
			": times further ahead are refused (--max-ahead)")
	}
	if math.Abs(e.Label) > math.MaxFloat32 {
		d.bad(i, "label", strconv.FormatFloat(e.Label, 'g', -1, 64), "a number that fits into 32 bits")
	}
	if kind := d.set.Kind(e.Kind); kind != 0 {
		e.Kind = d.set.KindName(kind) // and not a part of the request
	} else if e.Kind != "" || len(d.set.Kinds) > 0 {
		found := "nothing"
		if e.Kind != "" {
			found = strconv.Quote(clip(e.Kind))
		}
		d.bad(i, "kind", found, d.set.WantKind())
	}
	if e.Features != nil && len(e.Features) != d.width {
		d.bad(i, "features", strconv.Itoa(len(e.Features)),
			fmt.Sprintf("%d features, as the events of this data set have", d.width))
	}
}

func (d *eventDecoder) bad(i int, field, found, want string) {
	d.problems = append(d.problems, problem{d.where(i, field), found, want})
	if len(d.problems) >= maxProblems {
		panic(badRequest(d.problems))
	}
}

// wrongID says what a name should be, "" if it is valid.
func wrongID(id string, number bool, most int) string {
	if number {
		v, err := strconv.ParseInt(id, 10, 64)
		if err != nil || v < 1 || v > math.MaxInt32 || id[0] == '0' || id[0] == '+' {
			return fmt.Sprintf("a whole number from 1 to %d: the nodes of this data set have no names", math.MaxInt32)
		}
		return ""
	}
	switch {
	case id == "":
		return "a name"
	case len(id) > most:
		return fmt.Sprintf("a name of at most %d bytes", most)
	case !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl):
		return "a name of valid UTF-8 without control characters"
	}
	return ""
}

// clip shortens what is shown of a long text.
func clip(s string) string {
	if len(s) <= 60 {
		return s
	}
	return strings.ToValidUTF8(s[:57], "") + "…"
}

// label reads a label: a number, or the name of a class where labels are classes. Those are kept by their places.
func (d *eventDecoder) label(s *scanner, i int) float64 {
	if len(d.set.Classes) == 0 {
		return s.number("a label")
	}
	name := s.word("a label")
	at := slices.Index(d.set.Classes, name)
	if at < 0 {
		d.bad(i, "label", strconv.Quote(clip(name)), "one of the classes of this data set: "+
			dataset.ListKinds(d.set.Classes))
	}
	return float64(at + 1)
}
