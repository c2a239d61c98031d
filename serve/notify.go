package serve

import (
	"context"
	"net"
	"os"
	"strconv"
	"time"
)

// Notify tells systemd about the state of the process, such as "READY=1", if it was asked to by NOTIFY_SOCKET.
func Notify(state string) error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	if path[0] == '@' { // an abstract name
		path = "\x00" + path[1:]
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Write([]byte(state))
	return err
}

// Watchdog tells systemd that the process is alive, twice as often as WATCHDOG_USEC wants, until ctx ends. It does so
// only while events can be applied: a server that hangs is to be restarted.
func (s *Server) Watchdog(ctx context.Context) {
	micros, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	if err != nil || micros <= 0 {
		return
	}
	for pause := time.Duration(micros) * time.Microsecond / 2; sleep(ctx, pause); {
		if s.alive() {
			if err := Notify("WATCHDOG=1"); err != nil {
				s.log.Warn("tell systemd: " + err.Error())
			}
		}
	}
}

// alive says whether events can be applied and states be read: nothing holds their lock for long.
func (s *Server) alive() bool {
	free := make(chan struct{})
	go func() {
		s.engine.mu.Lock()
		s.engine.now()
		s.engine.mu.Unlock()
		close(free)
	}()
	select {
	case <-free:
		return true
	case <-time.After(10 * time.Second):
		return false
	}
}
