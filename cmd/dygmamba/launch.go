package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/dygmamba/dygmamba/internal/term"
)

// launcherVariable tells ranks where the process listens that had mpirun start them. It interrupts them by ending the
// connection: what mpirun itself does at a signal differs, and may leave no time to save anything.
const launcherVariable = "DYGMAMBA_LAUNCHER"

// How long ranks may take for the end of an interrupted training.
const (
	saving   = 20 * time.Second // until rank 0 has saved its state
	stopping = 30 * time.Second // until mpirun is told to end them
)

// launchError is the end of the program that starts ranks; they have said why.
type launchError struct{ code int }

func (e *launchError) Error() string { return fmt.Sprintf("mpirun ended with exit code %d", e.code) }

func (e *launchError) exit() int {
	switch e.code {
	case exitUsage, exitBadInput, exitInterrupted:
		return e.code
	}
	return exitFailed
}

// launch starts the same command as ranks.
func (f *rankFlags) launch(ctx context.Context, a *app, ranks int) error {
	program, err := exec.LookPath("mpirun")
	if err != nil {
		return errors.New("--ranks needs mpirun: install Open MPI (openmpi-bin) or MPICH (mpich)")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	door, err := openDoor()
	if err != nil {
		return fmt.Errorf("--ranks: %w", err)
	}
	defer door.close()
	c := exec.CommandContext(ctx, program, append([]string{"-n", fmt.Sprint(ranks), self}, a.args...)...)
	c.Stdout, c.Stderr = a.out, a.err
	if !term.IsKeyboard(a.in) { // which a group in the background must not read
		c.Stdin = a.in
	}
	ownGroup(c) // Ctrl-C is for this process, which tells the ranks
	c.Cancel = func() error {
		door.interrupt()
		time.AfterFunc(stopping, func() { c.Process.Signal(syscall.SIGTERM) })
		return nil
	}
	c.WaitDelay = stopping + time.Minute
	c.Env = append(os.Environ(), launcherVariable+"="+door.address())
	// Open MPI ends all ranks when one has ended by an error, and always waits so many seconds between its signals.
	c.Env = append(c.Env, "OMPI_MCA_odls_base_sigkill_timeout=3")
	if ranks > runtime.NumCPU() {
		c.Env = append(c.Env, "OMPI_MCA_rmaps_base_oversubscribe=1")
	}
	if os.Geteuid() == 0 {
		c.Env = append(c.Env, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	}
	a.answered = true // by rank 0
	err = c.Run()
	ended := (*exec.ExitError)(nil)
	switch {
	case err == nil, c.ProcessState != nil && c.ProcessState.Success():
		return nil
	case ctx.Err() != nil: // launchers have their own codes for it
		return fmt.Errorf("the ranks have ended: %w", ctx.Err())
	case errors.As(err, &ended):
		return &launchError{ended.ExitCode()}
	}
	return err
}

// door is where ranks are connected to the process that had them started.
type door struct {
	listener net.Listener
	key      string // ranks on another host may find another program at the address

	mu          sync.Mutex // guards the rest
	conns       []net.Conn
	interrupted bool
}

func openDoor() (*door, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &door{listener: l, key: rand.Text()}
	go func() { // until close
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(c, d.key)
			d.add(c)
		}
	}()
	return d, nil
}

// address is the value of launcherVariable.
func (d *door) address() string { return d.key + "@" + d.listener.Addr().String() }

func (d *door) add(c net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conns = append(d.conns, c); d.interrupted {
		c.Close()
	}
}

// interrupt tells all ranks, also those that come later.
func (d *door) interrupt() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.interrupted = true
	for _, c := range d.conns {
		c.Close()
	}
}

// close ends it when all ranks have ended.
func (d *door) close() {
	d.listener.Close()
	d.interrupt()
}

// attached is a context that ends when the process that had this rank started says so, or ends itself. A rank on
// another host cannot reach it: there rank 0 tells the others.
func attached(ctx context.Context, address string) (_ context.Context, leave func()) {
	ctx, cancel := context.WithCancel(ctx)
	key, at, _ := strings.Cut(address, "@")
	c, err := net.DialTimeout("tcp", at, 5*time.Second)
	if err != nil {
		return ctx, cancel
	}
	go func() { // until one side closes it
		lines := bufio.NewScanner(c)
		if lines.Scan() && lines.Text() == key {
			lines.Scan()
			cancel()
		}
	}()
	return ctx, func() { c.Close(); cancel() }
}
