package embedded

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/dygmamba/dygmamba/internal/eventlogtest"
)

// TestCrash kills a process that appends, again and again, and checks from outside that nothing acknowledged is lost,
// nothing is there twice and every key is remembered. `make crash` does so 200 times.
func TestCrash(t *testing.T) {
	if dir := os.Getenv("EVENTLOG_CRASH_DIR"); dir != "" {
		ingest(dir)
	}
	dir := t.TempDir()
	var c eventlogtest.Checker
	rounds := eventlogtest.Crashes(8)
	for round := range rounds {
		child := exec.Command(os.Args[0], "-test.run=^TestCrash$")
		child.Env = append(os.Environ(), "EVENTLOG_CRASH_DIR="+dir, fmt.Sprint("EVENTLOG_CRASH_ROUND=", round))
		c.Round(t, round, child, func() {})
		l := open(t, dir, Options{Cut: func(what string) { t.Logf("round %d: cut %s", round, what) }})
		c.Check(t, round, l)
		l.Close()
		if t.Failed() {
			t.FailNow()
		}
	}
	c.Finish(t, open(t, dir, Options{}))
	t.Logf("%d kills, %d batches acknowledged", rounds, c.Acknowledged)
}

// ingest is the process that is killed.
func ingest(dir string) {
	round, _ := strconv.Atoi(os.Getenv("EVENTLOG_CRASH_ROUND"))
	l, err := Open(dir, Options{})
	if err == nil {
		err = eventlogtest.Ingest(l, round, os.Stdout)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
