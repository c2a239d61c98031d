package collective

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
)

// ncclID is what ranks of NCCL recognise each other by.
type ncclID [128]byte

// ErrSharedGPU says that two ranks would use one GPU, which NCCL cannot.
var ErrSharedGPU = errors.New("NCCL needs a GPU for each rank")

// greeting is what a rank says to rank 0, and answer what it hears.
type greeting struct {
	Program string `json:"program"` // so that nobody else is taken for a rank
	Rank    int    `json:"rank"`
	GPU     string `json:"gpu"` // host and identity
}

type answer struct {
	ID     []byte `json:"id"`
	Failed string `json:"failed,omitempty"`
}

const (
	rendezvousName = "dygmamba ranks 1"
	rendezvousTime = 2 * time.Minute
)

// rendezvous gives all ranks the id of rank 0, over TCP at the launcher's address. Where that port is taken, as
// torchrun may have done for itself, the next one serves. It refuses ranks that share a GPU.
func rendezvous(ctx context.Context, l *Launch, gpu string, id *ncclID) error {
	if l.Size == 1 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, rendezvousTime)
	defer cancel()
	host, first, err := net.SplitHostPort(l.Master)
	if err != nil {
		return fmt.Errorf("MASTER_ADDR and MASTER_PORT: %w", err)
	}
	port, err := strconv.Atoi(first)
	if err != nil {
		return fmt.Errorf("MASTER_PORT is %q, must be a number", first)
	}
	ports := []string{first, strconv.Itoa(port + 1)}
	if l.Rank == 0 {
		return host0(ctx, ports, l.Size, gpu, id)
	}
	for ctx.Err() == nil {
		for _, p := range ports {
			a, err := greet(ctx, net.JoinHostPort(host, p), greeting{rendezvousName, l.Rank, gpu})
			switch {
			case err != nil:
				continue
			case a.Failed != "":
				return fmt.Errorf("%w: %s", ErrSharedGPU, a.Failed)
			}
			copy(id[:], a.ID)
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("rank 0 does not answer at %s, ports %v: %w", host, ports, ctx.Err())
}

// greet asks rank 0 for the id.
func greet(ctx context.Context, address string, g greeting) (a answer, err error) {
	d := net.Dialer{Timeout: 5 * time.Second}
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return a, err
	}
	defer c.Close()
	if until, ok := ctx.Deadline(); ok {
		c.SetDeadline(until)
	}
	raw, err := json.Marshal(g)
	if err != nil {
		return a, err
	}
	if _, err := c.Write(append(raw, '\n')); err != nil {
		return a, err
	}
	line, err := bufio.NewReader(c).ReadBytes('\n')
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return a, err
	}
	if len(a.ID) != len(ncclID{}) && a.Failed == "" {
		return a, fmt.Errorf("an id of %d bytes", len(a.ID))
	}
	return a, nil
}

// host0 waits for all ranks and answers them together.
func host0(ctx context.Context, ports []string, size int, gpu string, id *ncclID) error {
	var l net.Listener
	var err error
	for _, p := range ports {
		if l, err = net.Listen("tcp", ":"+p); err == nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("rank 0 cannot listen: %w", err)
	}
	defer l.Close()
	if until, ok := ctx.Deadline(); ok {
		l.(*net.TCPListener).SetDeadline(until)
	}
	conns, gpus := map[int]net.Conn{}, map[string]int{gpu: 0}
	reply := answer{ID: id[:]}
	for len(conns) < size-1 {
		c, err := l.Accept()
		if err != nil {
			return fmt.Errorf("%d of %d ranks came: %w", 1+len(conns), size, err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(rendezvousTime))
		line, err := bufio.NewReader(c).ReadBytes('\n')
		var g greeting
		known := err == nil && json.Unmarshal(line, &g) == nil && g.Program == rendezvousName
		if !known || g.Rank < 1 || g.Rank >= size {
			continue // some other program
		}
		if other, taken := gpus[g.GPU]; taken {
			reply.Failed = fmt.Sprintf("ranks %d and %d share %s; use mpirun, whose ranks may share one", other, g.Rank,
				g.GPU)
		}
		conns[g.Rank], gpus[g.GPU] = c, g.Rank
	}
	raw, err := json.Marshal(reply)
	for _, c := range conns {
		c.Write(append(raw, '\n'))
	}
	if reply.Failed != "" {
		return fmt.Errorf("%w: %s", ErrSharedGPU, reply.Failed)
	}
	return err
}
