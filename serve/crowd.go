package serve

import (
	"sync"
	"sync/atomic"
)

// crowd counts what goes on at the same time: altogether, and for each client.
type crowd struct {
	what    string // goes on, in errors
	running atomic.Int64

	mu    sync.Mutex // guards holds
	holds map[string]int
}

func newCrowd(what string) *crowd { return &crowd{what: what, holds: map[string]int{}} }

// enter counts one more of a client until leave is called, or says why it is not admitted: there are as many as most,
// or the client has three quarters of that.
func (c *crowd) enter(client string, most int) (leave func(), err error) {
	if c.running.Add(1) > int64(most) {
		c.running.Add(-1)
		return nil, fail("busy", "%d %s, the most at the same time", most, c.what)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if share := max(1, most-most/4); c.holds[client] >= share {
		c.running.Add(-1)
		return nil, fail("busy", "%d %s for this client, the most at the same time", share, c.what)
	}
	c.holds[client]++
	return func() {
		c.running.Add(-1)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.holds[client]--; c.holds[client] == 0 {
			delete(c.holds, client)
		}
	}, nil
}
