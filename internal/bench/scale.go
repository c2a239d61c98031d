package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dygmamba/dygmamba/run"
)

// Scale measures how the cost of whole commands grows with the number of events, each in a process of its own.
type Scale struct {
	Program string        // this program
	Sizes   []int         // events of the streams, ascending
	Rules   []string      // models that are measured without training
	Models  []string      // that take a first step
	MaxTime time.Duration // of a training on the largest stream; 0: none is measured
	Limit   time.Duration // after which a command is stopped
	Dir     string        // where streams are written

	OnBegin func(what string, events int) // before each command; may be nil
	OnRow   func(ScaleRow) error          // after each measured one; may be nil
}

// ScaleRow is what one command cost.
type ScaleRow struct {
	What    string  `json:"what"`
	Events  int     `json:"events"`
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu_seconds"`
	Peak    int64   `json:"peak_bytes"` // the largest resident set, mapped pages included; 0: unknown
	Problem string  `json:"problem,omitempty"`
}

// ScaleGrowth compares what a command cost for two sizes.
type ScaleGrowth struct {
	What    string  `json:"what"`
	From    int     `json:"from_events"`
	To      int     `json:"to_events"`
	Seconds float64 `json:"seconds_times"`
	CPU     float64 `json:"cpu_seconds_times"`
	Peak    float64 `json:"peak_bytes_times"`
}

// ScaleReport is all rows, those of the smallest stream first.
type ScaleReport struct {
	Rows   []ScaleRow    `json:"rows"`
	Growth []ScaleGrowth `json:"growth"`
}

// FirstStep is what a command prints when it has taken its first optimizer step: its time ends there.
const FirstStep = "first step"

// scaleTask is a command to measure. Its cost counts unless it only prepares others.
type scaleTask struct {
	what     string
	args     []string
	prepares bool
	run      string // run directory of a training, which must have tested a checkpoint in the end; "": none
}

// Run measures all sizes. Streams are removed when they are no longer needed.
func (s Scale) Run(ctx context.Context) (*ScaleReport, error) {
	r := &ScaleReport{Rows: []ScaleRow{}, Growth: []ScaleGrowth{}}
	for _, events := range s.Sizes {
		dir, err := os.MkdirTemp(s.Dir, "scale-")
		if err != nil {
			return nil, err
		}
		err = s.size(ctx, r, dir, events)
		if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// size measures one stream.
func (s Scale) size(ctx context.Context, r *ScaleReport, dir string, events int) error {
	for _, task := range s.tasks(dir, events) {
		if s.OnBegin != nil {
			s.OnBegin(task.what, events)
		}
		row, err := s.measure(ctx, task, events)
		if err != nil || task.prepares && row.Problem != "" {
			return errors.Join(err, errorOf(row.Problem))
		}
		if task.run != "" && row.Problem == "" {
			row.Problem = untested(task.run)
		}
		if task.prepares {
			continue
		}
		r.add(row)
		if s.OnRow != nil {
			if err := s.OnRow(row); err != nil {
				return err
			}
		}
	}
	return nil
}

// untested says what is missing in a run directory; "": nothing.
func untested(dir string) string {
	found, err := run.ReadSummary(dir)
	switch {
	case err != nil:
		return fmt.Sprintf("the training has no result: %v", err)
	case len(found.Results) == 0:
		return "the training tested nothing"
	}
	return ""
}

func errorOf(problem string) error {
	if problem == "" {
		return nil
	}
	return errors.New(problem)
}

func (s Scale) tasks(dir string, events int) []scaleTask {
	file := func(name string) string { return filepath.Join(dir, name) }
	shop := file("shop.dgm")
	list := []scaleTask{
		{what: "synth", args: []string{"data", "synth", "shop", "--events", strconv.Itoa(events), "--out", shop}},
	}
	for _, kind := range []string{"csv", "parquet"} {
		table := file("shop." + kind)
		list = append(list,
			scaleTask{what: "export", args: []string{"data", "export", shop, "--out", table}, prepares: true},
			scaleTask{what: "import " + kind, args: []string{"data", "import", table, "--bipartite", "--out",
				file("imported.dgm")}})
	}
	list = append(list,
		scaleTask{what: "open", args: []string{"bench", "scale", "--part", "open", "--stream", shop}},
		scaleTask{what: "info", args: []string{"data", "info", shop}})
	for _, m := range s.Rules {
		list = append(list, scaleTask{what: "eval " + m, args: []string{"eval", "--model", m, "--data", shop,
			"--setting", "transductive", "--negatives", "random"}})
	}
	for _, m := range s.Models {
		list = append(list, scaleTask{what: "first step of " + m,
			args: []string{"bench", "scale", "--part", FirstStep, "--stream", shop, "--models", m}})
	}
	if s.MaxTime > 0 && events == s.Sizes[len(s.Sizes)-1] {
		for _, m := range s.Models {
			out := file("run-" + m)
			list = append(list, scaleTask{what: fmt.Sprintf("train %s --max-time %v", m, s.MaxTime), run: out,
				args: []string{"train", "--data", shop, "--model", m, "--max-time", s.MaxTime.String(), "--out", out}})
		}
	}
	return list
}

// measure runs a command. What is wrong with the command is a problem of its row; the error is that of the context.
func (s Scale) measure(ctx context.Context, task scaleTask, events int) (ScaleRow, error) {
	row := ScaleRow{What: task.what, Events: events}
	limited, cancel := context.WithTimeout(ctx, s.Limit)
	defer cancel()
	cmd := exec.CommandContext(limited, s.Program, task.args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return row, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return row, err
	}
	stepped := waitFor(out, FirstStep)
	if stepped > 0 {
		row.Seconds = time.Duration(stepped - began.UnixNano()).Seconds()
	}
	err = cmd.Wait()
	if row.Seconds == 0 {
		row.Seconds = time.Since(began).Seconds()
	}
	row.CPU = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	row.Peak = peakBytes(cmd.ProcessState)
	switch {
	case ctx.Err() != nil:
		return row, ctx.Err()
	case limited.Err() != nil:
		row.Problem = fmt.Sprintf("stopped after %v", s.Limit)
	case err != nil:
		row.Problem = fmt.Sprintf("%s: %v: %s", strings.Join(task.args[:2], " "), err, lastLine(said.String()))
	}
	return row, nil
}

// waitFor reads until the end and returns when a line came, in nanoseconds of the clock; 0: it did not.
func waitFor(r io.Reader, line string) (at int64) {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		if lines.Text() == line {
			at = time.Now().UnixNano()
		}
	}
	io.Copy(io.Discard, r)
	return at
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// add takes a row and compares it with that of the largest smaller stream.
func (r *ScaleReport) add(row ScaleRow) {
	for _, before := range slices.Backward(r.Rows) {
		if before.What == row.What && before.Events < row.Events && before.Problem == "" && row.Problem == "" {
			r.Growth = append(r.Growth, ScaleGrowth{row.What, before.Events, row.Events,
				times(row.Seconds, before.Seconds), times(row.CPU, before.CPU),
				times(float64(row.Peak), float64(before.Peak))})
			break
		}
	}
	r.Rows = append(r.Rows, row)
}

// times is how many times as much; 0 where that is unknown.
func times(now, before float64) float64 {
	if before == 0 {
		return 0
	}
	return now / before
}

// Grew is how a row compares with the one of the next smaller stream; false if there is none.
func (r *ScaleReport) Grew(row ScaleRow) (ScaleGrowth, bool) {
	i := slices.IndexFunc(r.Growth, func(g ScaleGrowth) bool { return g.What == row.What && g.To == row.Events })
	if i < 0 {
		return ScaleGrowth{}, false
	}
	return r.Growth[i], true
}
