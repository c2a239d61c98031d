package serve

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// uploads are the bodies that are being received. Receiving takes no place of a running request. When there are too
// many uploads, the slowest of the client that has the most is cut off, so that slow clients keep nobody out.
type uploads struct {
	most func() int
	mu   sync.Mutex // guards open
	open map[*upload]bool
}

// upload is one body.
type upload struct {
	client string
	began  time.Time
	bytes  atomic.Int64
	cut    atomic.Bool
	stop   func() // ends the reading
}

func (u *uploads) begin(w http.ResponseWriter, client string) *upload {
	control := http.NewResponseController(w)
	up := &upload{client: client, began: time.Now(), stop: func() { control.SetReadDeadline(time.Unix(1, 0)) }}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open[up] = true
	for len(u.open) > u.most() && u.cut() {
	}
	return up
}

func (u *uploads) end(up *upload) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.open, up)
}

// cutSlowest ends the slowest upload. It returns false if there is none that takes long.
func (u *uploads) cutSlowest() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.cut()
}

// cut is called with mu held. It is only called when something is full, so a walk over all uploads is no burden.
func (u *uploads) cut() bool {
	const young = 200 * time.Millisecond // such an upload is not slow yet
	count, now := map[string]int{}, time.Now()
	for up := range u.open {
		count[up.client]++
	}
	var found *upload
	worse := func(a, b *upload) bool {
		if count[a.client] != count[b.client] {
			return count[a.client] > count[b.client]
		}
		return a.rate(now) < b.rate(now)
	}
	for up := range u.open {
		if now.Sub(up.began) >= young && (found == nil || worse(up, found)) {
			found = up
		}
	}
	if found == nil {
		return false
	}
	delete(u.open, found)
	found.cut.Store(true)
	found.stop()
	return true
}

// rate is how fast an upload is, in bytes a second.
func (up *upload) rate(now time.Time) float64 {
	return float64(up.bytes.Load()) / now.Sub(up.began).Seconds()
}
