//go:build linux && !nogpu

package collective

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestRendezvous gives three ranks the id of rank 0, and refuses two that share a GPU. The first port is taken.
func TestRendezvous(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	go func() { // a program that talks about something else
		for {
			c, err := taken.Accept()
			if err != nil {
				return
			}
			c.Write([]byte("hello\n"))
			c.Close()
		}
	}()
	for _, gpus := range [][]string{{"a", "b", "c"}, {"a", "b", "a"}} {
		var all sync.WaitGroup
		ids, errs := make([]ncclID, len(gpus)), make([]error, len(gpus))
		ids[0] = ncclID{1, 2, 3}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		for i, gpu := range gpus {
			all.Go(func() {
				l := &Launch{By: Torchrun, Rank: i, Size: len(gpus), Master: taken.Addr().String()}
				errs[i] = rendezvous(ctx, l, gpu, &ids[i])
			})
		}
		all.Wait()
		cancel()
		shared := gpus[2] == "a"
		for i, err := range errs {
			if shared && (!errors.Is(err, ErrSharedGPU) || !strings.Contains(err.Error(), "ranks 0 and 2 share a")) ||
				!shared && (err != nil || ids[i] != ids[0]) {
				t.Errorf("%v: rank %d has %v and id %v", gpus, i, err, ids[i][:4])
			}
		}
	}
}
