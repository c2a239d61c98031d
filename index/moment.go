package index

import "github.com/dygmamba/dygmamba/event"

// AsOf is the past as it was when the event with the given edge id had come in: what was added later does not show,
// wherever in time it stands. The log is that of the events so far. Events must be added with edge ids that ascend,
// from the given one on. The view never changes and may be used while events are added; what it hands out is a copy
// only where late events stand between others that it does not show.
func (l *Live) AsOf(last event.Edge, log *event.Log) Logged {
	return asOf{live: l, last: last, nodes: l.NumNodes(), log: log}
}

type asOf struct {
	live  *Live
	last  event.Edge
	nodes int
	log   *event.Log
}

// Events are those that show, as the log was then.
func (v asOf) Events() *event.Log { return v.log }

// Before is the node's history strictly before t, without what came in later.
func (v asOf) Before(n event.Node, t event.Time) History {
	c := v.live.column(n)
	if c == nil {
		return History{}
	}
	if c.size < 0 {
		return c.mixed().before(t, v.last)
	}
	h := c.history()
	return h.slice(0, earlier(h.Time[:h.came(0, v.last)], t))
}

func (v asOf) NumNodes() int { return v.nodes }

// upTo is the history without edges above last: itself if there are none, otherwise a copy.
func (h History) upTo(last event.Edge) History {
	newer := 0
	for _, e := range h.Edge {
		if e > last {
			newer++
		}
	}
	if newer == 0 {
		return h
	}
	n := h.Len() - newer
	out := History{make([]event.Node, 0, n), make([]event.Edge, 0, n), make([]event.Time, 0, n)}
	for i, e := range h.Edge {
		if e <= last {
			out.Node, out.Edge, out.Time = append(out.Node, h.Node[i]), append(out.Edge, e), append(out.Time, h.Time[i])
		}
	}
	return out
}
