package eventlogtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/eventlog"
)

// Crashes is how often a crash test kills: DYGMAMBA_CRASHES, or else few.
func Crashes(few int) int {
	if n, err := strconv.Atoi(os.Getenv("DYGMAMBA_CRASHES")); err == nil {
		return n
	}
	return few
}

// writers append at once in a process that is going to be killed.
const writers = 8

// Ingest appends batches from several goroutines until the process is killed, and writes a line to out for each that
// was acknowledged. Of every few batches it removes some events, and writes a line about that too. It returns what went
// wrong.
func Ingest(l eventlog.Log, round int, out io.Writer) error {
	failed := make(chan error)
	var mu sync.Mutex // guards out
	for w := range writers {
		go func() {
			var before eventlog.Receipt
			for i := 0; ; i++ {
				r, err := l.Append(context.Background(), crashKey(round, w, i), crashEvents(round, w, i))
				if err != nil {
					failed <- err
					return
				}
				mu.Lock()
				fmt.Fprintln(out, w, i, r.Last, r.Accepted, r.Again)
				mu.Unlock()
				if i%4 == 3 {
					err := removeSome(l, before, r, func(line string) {
						mu.Lock()
						fmt.Fprintln(out, line)
						mu.Unlock()
					})
					if err != nil {
						failed <- err
						return
					}
				}
				before = r
			}
		}()
	}
	return <-failed
}

// removeSome removes the first event of two batches, in one removal.
func removeSome(l eventlog.Log, a, b eventlog.Receipt, acknowledged func(line string)) error {
	x, y := a.Last-uint64(a.Accepted)+1, b.Last-uint64(b.Accepted)+1
	_, err := l.Remove(context.Background(), eventlog.Removal{Sequences: []uint64{x, y}, Note: fmt.Sprint(x, " ", y)})
	if err == nil {
		acknowledged(fmt.Sprint("removed ", x, " ", y))
	}
	return err
}

func crashKey(round, w, i int) string { return fmt.Sprintf("%d/%d/%d", round, w, i) }

// crashEvents are one event or many, by turns.
func crashEvents(round, w, i int) []eventlog.Event {
	return Events(crashKey(round, w, i), 1+(w%2)*(i%100))
}

// Checker stands outside the processes that are killed and knows what they were told.
type Checker struct {
	Acknowledged int
	receipts     map[string]eventlog.Receipt
	seen         map[string]bool
	read         uint64
	removed      map[[2]uint64]bool // pairs of sequences whose removal was acknowledged
	next         [writers]int       // what each writer of this round did not hear about
}

// Round starts a process that calls Ingest with its standard output, lets kill end it and whatever else after a
// random time, and takes down what was acknowledged until then.
func (c *Checker) Round(t *testing.T, round int, child *exec.Cmd, kill func()) {
	t.Helper()
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	child.Stderr = os.Stderr
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	heard, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		c.listen(t, round, out, heard)
	}()
	select {
	case <-heard:
		time.Sleep(time.Duration(rand.IntN(100_000)) * time.Microsecond)
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Errorf("round %d: nothing was acknowledged in 30 s", round)
	}
	kill()
	child.Process.Kill()
	<-ended
	child.Wait()
}

// listen takes down acknowledgements; heard is closed at the first one.
func (c *Checker) listen(t *testing.T, round int, out io.Reader, heard chan<- struct{}) {
	c.next = [writers]int{}
	if c.receipts == nil {
		c.receipts, c.seen = map[string]eventlog.Receipt{}, map[string]bool{}
		c.removed = map[[2]uint64]bool{}
	}
	first := true
	for lines := bufio.NewScanner(out); lines.Scan(); first = false {
		var w, i int
		var r eventlog.Receipt
		var pair [2]uint64
		if n, _ := fmt.Sscanf(lines.Text(), "removed %d %d\n", &pair[0], &pair[1]); n == 2 {
			c.removed[pair] = true
			continue
		}
		if _, err := fmt.Sscan(lines.Text(), &w, &i, &r.Last, &r.Accepted, &r.Again); err != nil {
			break // the end of a killed process
		}
		if want := len(crashEvents(round, w, i)); r.Accepted != want || r.Again {
			t.Errorf("%s got %+v, want %d events taken", crashKey(round, w, i), r, want)
		}
		c.receipts[crashKey(round, w, i)] = r
		c.next[w] = i + 1
		c.Acknowledged++
		if first {
			close(heard)
		}
	}
}

// Check reads what the round added and holds it against what was acknowledged; then it sends again what nobody heard
// about and some that was acknowledged, as a client would.
func (c *Checker) Check(t *testing.T, round int, l eventlog.Log) {
	t.Helper()
	c.readOn(t, l)
	for w, i := range c.next {
		key := crashKey(round, w, i)
		there := c.seen[key]
		r := must(t, l, key, crashEvents(round, w, i))
		if there && !r.Again { // what was not there may have been on its way to a broker
			t.Errorf("%s is in the log, but sent again got %+v", key, r)
		}
		c.receipts[key] = eventlog.Receipt{Last: r.Last, Accepted: r.Accepted}
	}
	for key, r := range c.receipts { // any eight
		again := r
		again.Again = true
		if got := must(t, l, key, Events("again", 3)); got != again {
			t.Errorf("%s sent again got %+v, want %+v", key, got, again)
		}
		if i := rand.IntN(8); i == 0 {
			break
		}
	}
	c.readOn(t, l)
	if len(c.seen) != len(c.receipts) {
		t.Errorf("round %d: %d batches are in the log, %d were acknowledged or sent again",
			round, len(c.seen), len(c.receipts))
	}
	for key := range c.receipts {
		if !c.seen[key] {
			t.Fatalf("round %d: %s was acknowledged and is lost", round, key)
		}
	}
	c.checkRemovals(t, l)
}

// checkRemovals: every removal that was acknowledged is there, and exactly what removals name is erased.
func (c *Checker) checkRemovals(t *testing.T, l eventlog.Log) {
	t.Helper()
	want := map[uint64]bool{}
	missing := maps.Clone(c.removed)
	for _, r := range Removed(t, l, 0) {
		pair := [2]uint64(r.Sequences)
		if r.Note != fmt.Sprint(pair[0], " ", pair[1]) {
			t.Errorf("removal %d of %v has the note %q", r.Number, pair, r.Note)
		}
		want[pair[0]], want[pair[1]] = true, true
		delete(missing, pair)
	}
	if len(missing) > 0 {
		t.Errorf("%d removals were acknowledged and are lost", len(missing))
	}
	for _, n := range erasedOf(t, Read(t, l, 0)) {
		if !want[n] {
			t.Errorf("event %d is erased, but no removal names it", n)
		}
		delete(want, n)
	}
	if len(want) > 0 {
		t.Errorf("%d events are named by removals and not erased", len(want))
	}
}

// Finish reads all of it once more.
func (c *Checker) Finish(t *testing.T, l eventlog.Log) {
	c.seen, c.read = map[string]bool{}, 0
	c.readOn(t, l)
	c.checkRemovals(t, l)
	if len(c.seen) != len(c.receipts) {
		t.Errorf("in the end %d batches are in the log, want %d", len(c.seen), len(c.receipts))
	}
}

func (c *Checker) readOn(t *testing.T, l eventlog.Log) {
	for _, b := range Read(t, l, c.read) {
		if c.seen[b.Key] {
			t.Errorf("%s is in the log twice", b.Key)
		}
		c.seen[b.Key] = true
		if r, ok := c.receipts[b.Key]; ok && (r.Last != b.Last || r.Accepted != len(b.Events)) {
			t.Errorf("%s has %d events up to %d, acknowledged was %+v", b.Key, len(b.Events), b.Last, r)
		}
		var round, w, i int
		end := b.Events[len(b.Events)-1]
		if _, err := fmt.Sscanf(b.Key, "%d/%d/%d", &round, &w, &i); err != nil ||
			len(b.Events) != len(crashEvents(round, w, i)) || end.Src != b.Key && !end.Erased {
			t.Errorf("%q has %d events, the last from %q", b.Key, len(b.Events), end.Src)
		}
		c.read = b.Last
	}
}
