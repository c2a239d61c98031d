package edgebank

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/streamtest"
	"github.com/dygmamba/dygmamba/protocol"
)

// Work grows with the number of events and not faster. It is counted, not timed: this test builds itself with counters
// of all statements in the packages that read, split, index, sample and measure (those of go test -cover). It runs each
// task in a process of its own, on a stream and on one of four times the events, nodes and instants.

// counted is what work is counted in.
var counted = []string{"event", "index", "sample", "replay", "eval", "dataset/...", "internal/pairs", "internal/idset",
	"models/internal/edgebank"}

// growthTasks are what is counted.
var growthTasks = map[string]func(*testing.T, *dataset.Set){
	"index":                func(t *testing.T, set *dataset.Set) { index.Freeze(set.Log) },
	"statistics":           func(t *testing.T, set *dataset.Set) { dataset.Stats(set) },
	"hash":                 func(t *testing.T, set *dataset.Set) { set.Hash() },
	"split":                func(t *testing.T, set *dataset.Set) { growthProtocol(t, set, "") },
	"histories":            countHistories,
	"edgebank, random":     countEdgeBank(protocol.RandomNegatives),
	"edgebank, historical": countEdgeBank(protocol.HistoricalNegatives),
	"edgebank, inductive":  countEdgeBank(protocol.InductiveNegatives),
	"edgebank, time":       countEdgeBank(protocol.TimeNegatives),
	"edgebank, " + crowded: countEdgeBank(protocol.HistoricalNegatives),
}

// crowded are streams with the same few instants, however many events they have.
const crowded = "historical, few instants"

// growthTask names a task and the size of the stream for a process that is counted.
const growthTask = "DYGMAMBA_GROWTH"

const (
	fewEvents = 12000
	factor    = 4
	mostTimes = 1.15 * factor // tables that double, and a logarithm here and there
)

func TestWorkGrowsWithEvents(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a test program with counters")
	}
	root := filepath.Join("..", "..", "..")
	program := filepath.Join(t.TempDir(), "counted")
	var packages []string
	for _, p := range counted {
		packages = append(packages, "github.com/dygmamba/dygmamba/"+p)
	}
	build := exec.Command("go", "test", "-c", "-covermode=atomic", "-coverpkg="+strings.Join(packages, ","),
		"-o", program, "./models/internal/edgebank")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for task := range growthTasks {
		t.Run(task, func(t *testing.T) {
			t.Parallel()
			few, many := countWork(t, program, task, fewEvents), countWork(t, program, task, factor*fewEvents)
			none := countWork(t, program, "", 0) // what every process does
			times := (many - none) / (few - none)
			t.Logf("%.0f statements, %.2f times as many for %d times the events", few-none, times, factor)
			if !(times <= mostTimes) || few-none < fewEvents/4 {
				t.Errorf("%.0f statements for %d events, %.2f times as many for %d times the events; want at most %.2f",
					few-none, fewEvents, times, factor, mostTimes)
			}
		})
	}
}

// countWork runs a task in a process of its own and returns how many statements were executed.
func countWork(t *testing.T, program, task string, events int) (sum float64) {
	t.Helper()
	profile := filepath.Join(t.TempDir(), "profile")
	cmd := exec.Command(program, "-test.run=^TestOneTask$", "-test.coverprofile="+profile)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s/%d", growthTask, task, events))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f, err := os.Open(profile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() { // file.go:1.2,3.4 statements times
		var statements, times float64
		if at := strings.IndexByte(lines.Text(), ' '); at >= 0 {
			if n, _ := fmt.Sscan(lines.Text()[at:], &statements, &times); n == 2 {
				sum += statements * times
			}
		}
	}
	return sum
}

// TestOneTask is what a counted process does.
func TestOneTask(t *testing.T) {
	task, size, asked := strings.Cut(os.Getenv(growthTask), "/")
	if !asked {
		t.Skip("is run by TestWorkGrowsWithEvents")
	}
	var n int
	if _, err := fmt.Sscan(size, &n); err != nil {
		t.Fatal(err)
	}
	if run := growthTasks[task]; run != nil {
		shape := streamtest.Shape{Events: n, Sources: n / 20, Dests: n / 60, Instants: n / 2, Repeat: 0.45}
		if strings.HasSuffix(task, crowded) {
			shape.Instants = 40
		}
		run(t, dataset.Featureless("stream", streamtest.Generate(shape, 1)))
	}
}

func growthProtocol(t *testing.T, set *dataset.Set, order protocol.Order) *eval.Protocol {
	p, err := eval.Open(set, eval.Options{Sampling: protocol.Native, Order: order, BatchSize: 10})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func countHistories(t *testing.T, set *dataset.Set) {
	if _, err := growthProtocol(t, set, "").Histories(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func countEdgeBank(negatives protocol.Negatives) func(*testing.T, *dataset.Set) {
	return func(t *testing.T, set *dataset.Set) {
		var list []eval.Contender
		for _, c := range Variants() {
			list = append(list, eval.Contender{Name: c.String(), Scorer: bank(t, c)})
		}
		order := protocol.Arrival
		if negatives == protocol.TimeNegatives {
			order = protocol.Strict
		}
		session, err := growthProtocol(t, set, order).Session(t.Context(), list...)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := session.Test(t.Context(), eval.Tests{Strategies: []protocol.Negatives{negatives}})
		if err != nil || len(rows) != 2*len(list) {
			t.Fatalf("%d rows, error %v", len(rows), err)
		}
	}
}

// Banks that are measured together, on one memory, have the results that each has alone.
func TestMeasuredTogether(t *testing.T) {
	shape := streamtest.Shape{Events: 4000, Sources: 60, Dests: 40, Instants: 1500, Repeat: 0.5}
	set := dataset.Featureless("stream", streamtest.Generate(shape, 1))
	tests := eval.Tests{Strategies: []protocol.Negatives{protocol.RandomNegatives, protocol.InductiveNegatives}}
	for _, order := range []protocol.Order{protocol.Arrival, protocol.Strict} {
		var list []eval.Contender
		var alone []eval.Row
		for _, c := range Variants() {
			own := eval.Contender{Name: c.String(), Scorer: bank(t, c)}
			alone = append(alone, measured(t, set, order, tests, own)...)
			list = append(list, eval.Contender{Name: own.Name, Scorer: bank(t, c)})
		}
		together := measured(t, set, order, tests, list...)
		if len(together) != len(alone) || len(alone) != 4*len(list) {
			t.Fatalf("%d rows together and %d alone, want %d", len(together), len(alone), 4*len(list))
		}
		for i, got := range together {
			if want := alone[i%len(list)*4+i/len(list)]; !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v together, %+v alone", got.Contender, got, want)
			}
		}
	}
}

// measured are the rows of a session's tests.
func measured(t *testing.T, set *dataset.Set, order protocol.Order, tests eval.Tests, list ...eval.Contender,
) []eval.Row {
	t.Helper()
	session, err := growthProtocol(t, set, order).Session(t.Context(), list...)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := session.Test(t.Context(), tests)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
