package serve

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/internal/atomicfile"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/run"
)

// Learning says whether and how the model learns from new events. After Every new events a copy of the model is
// fine-tuned on the events before a window of the latest ones. The copy takes over if its average precision in the
// window, which it has not seen, is better by Margin.
type Learning struct {
	On     bool
	Dir    string  // holds the models and the ledger of all attempts; "": a temporary directory
	Every  int     // events between two attempts; 0: 20,000
	Window int     // latest events, which are held out; 0: 2,000
	Most   int     // events before the window that are trained on; 0: 20,000
	Margin float64 // improvement of the average precision that is needed; 0: 0.001
	Rest   float64 // pause after each step, see predict.FineTuning; 0: 2
}

// ledgerFile is the name of the ledger in Learning.Dir. It has a line of JSON for each attempt.
const ledgerFile = "learned.jsonl"

type attempt struct {
	Time     time.Time `json:"time"`
	Base     string    `json:"base"`   // hash of the checkpoint that the server was started with
	From     string    `json:"from"`   // hash of the checkpoint that was fine-tuned
	Events   int       `json:"events"` // that the server knew
	Trained  int       `json:"trained"`
	Window   int       `json:"window"`
	Before   float64   `json:"ap_before"` // on the window
	After    float64   `json:"ap_after"`
	Promoted bool      `json:"promoted"`

	Calibration string  `json:"calibration,omitempty"` // how the map of probabilities came to be; "": there is none
	Checkpoint  string  `json:"checkpoint,omitempty"`
	Seconds     float64 `json:"seconds"`
	Error       string  `json:"error,omitempty"`
	RolledBack  bool    `json:"rolled_back,omitempty"` // not an attempt: an administrator went back to Checkpoint
}

// How a learned model got its map of probabilities.
const (
	refitted    = "refitted"     // to its answers about the window
	carriedOver = "carried over" // from the model before, as the window has too few answers
)

// learner fine-tunes a copy of the model in the background.
type learner struct {
	Learning
	server *Server
	base   string
	own    bool // the directory is a temporary one
	tried  int  // events that were known at the last attempt

	mu  sync.Mutex // guards what follows
	sum learningDoc
}

// learningDoc is the part of the status about learning.
type learningDoc struct {
	Attempts int      `json:"attempts"`
	Promoted int      `json:"promoted"`
	Last     *attempt `json:"last,omitempty"`
}

func newLearner(s *Server, o Learning) (*learner, error) {
	l := &learner{Learning: o, server: s, tried: s.engine.now().Len()}
	if !o.On {
		return l, nil
	}
	l.Every = cmp.Or(l.Every, 20_000)
	l.Window = cmp.Or(l.Window, 2_000)
	l.Most = cmp.Or(l.Most, 20_000)
	l.Margin = cmp.Or(l.Margin, 0.001)
	l.Rest = cmp.Or(l.Rest, 2)
	var err error
	if l.Dir == "" {
		l.own = true
		l.Dir, err = os.MkdirTemp("", "dygmamba-learned-")
	} else {
		err = os.MkdirAll(l.Dir, 0o755)
	}
	if err != nil {
		return nil, fmt.Errorf("learn: %w", err)
	}
	files, err := run.Checkpoints(s.options.Checkpoint)
	if err == nil {
		l.base, err = atomicfile.Hash(files[0])
	}
	return l, err
}

// resume is the checkpoint to start with: the last one that was learned from the served one and took over, or that one.
func (l *learner) resume() (path string, learned bool) {
	path = l.server.options.Checkpoint
	if !l.On {
		return path, false
	}
	lines, err := readLedger(filepath.Join(l.Dir, ledgerFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.server.log.Warn("the ledger of learned models is damaged: " + err.Error())
	}
	for _, a := range lines {
		if a.Base != l.base {
			continue
		}
		switch {
		case a.RolledBack && a.Checkpoint == "":
			path, learned = l.server.options.Checkpoint, false
		case a.Promoted || a.RolledBack:
			if _, err := os.Stat(filepath.Join(l.Dir, a.Checkpoint)); err == nil {
				path, learned = filepath.Join(l.Dir, a.Checkpoint), true
			}
		}
	}
	return path, learned
}

// watch makes an attempt whenever enough events are new.
func (l *learner) watch(ctx context.Context) {
	if !l.On {
		return
	}
	if l.own {
		defer os.RemoveAll(l.Dir)
	}
	for sleep(ctx, 200*time.Millisecond) {
		at := l.server.engine.now()
		l.tried = min(l.tried, at.Len()) // the cut may have moved
		if at.Len()-l.tried < l.Every || at.Len() < 2*l.Window {
			continue
		}
		l.tried = at.Len()
		a := l.try(ctx, at)
		if ctx.Err() != nil {
			return
		}
		l.note(a)
	}
}

// try makes an attempt with the events of a state. The result takes over if it is better.
func (l *learner) try(ctx context.Context, at *state) attempt {
	began := time.Now()
	g := l.server.models.current.Load()
	a := attempt{Time: began.UTC(), Base: l.base, From: g.Hash, Events: at.Len(), Window: l.Window}
	path, err := l.train(ctx, g, at, &a)
	if err == nil && path != "" {
		a.Checkpoint = filepath.Base(path)
		_, err = l.server.models.replace(ctx, path, true)
		a.Promoted = err == nil
	}
	if err != nil {
		a.Error = err.Error()
	}
	a.Seconds = time.Since(began).Seconds()
	return a
}

// train writes a better checkpoint and returns its path, "" if it is not better.
func (l *learner) train(ctx context.Context, g *generation, at *state, a *attempt) (string, error) {
	o := l.server.options.Load
	o.Set, o.Live, o.Names = l.server.options.Set, at.epoch.past, at.epoch.names
	o.Device, o.Threads = nil, 1
	p, err := predict.Load(g.Checkpoint, o)
	if err != nil {
		return "", err
	}
	defer p.Close()
	if now, err := atomicfile.Hash(g.Checkpoint); err != nil || now != g.Hash {
		return "", fmt.Errorf("%s has changed since it was loaded: reload it first", g.Checkpoint)
	}
	if err := p.Look(at.PastView); err != nil {
		return "", err
	}
	to := at.Len()
	from := to - l.Window
	start := max(0, from-l.Most)
	a.Trained = from - start
	seed := uint64(to) & 0xffffffff
	if a.Before, err = p.AveragePrecision(ctx, from, to, seed); err != nil {
		return "", err
	}
	if err := p.FineTune(ctx, predict.FineTuning{From: start, To: from, Seed: seed, Rest: l.Rest}); err != nil {
		return "", err
	}
	if a.After, err = p.AveragePrecision(ctx, from, to, seed); err != nil || !(a.After >= a.Before+l.Margin) {
		return "", err
	}
	fitted, err := p.Recalibrate(ctx, from, to, seed)
	switch {
	case err != nil:
		return "", err
	case fitted:
		a.Calibration = refitted
	case p.Calibration() != nil:
		a.Calibration = carriedOver
	}
	f, err := p.Checkpoint()
	if err != nil {
		return "", err
	}
	path := filepath.Join(l.Dir, fmt.Sprintf("learned-%d.safetensors", to))
	return path, checkpoint.Save(path, f)
}

// note writes an attempt into the ledger, and removes models that are not needed for a rollback.
func (l *learner) note(a attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !a.RolledBack {
		l.sum.Attempts++
		l.sum.Last = &a
	}
	if a.Promoted {
		l.sum.Promoted++
	}
	line, err := json.Marshal(a)
	if err == nil {
		err = appendLine(filepath.Join(l.Dir, ledgerFile), line)
	}
	if err != nil {
		l.server.log.Error("write the ledger of learned models: " + err.Error())
	}
	l.server.log.Info("learning: an attempt", "ap_before", a.Before, "ap_after", a.After, "promoted", a.Promoted,
		"seconds", a.Seconds, "error", a.Error)
	files, _ := filepath.Glob(filepath.Join(l.Dir, "learned-*.safetensors"))
	used := l.server.models.files()
	for _, f := range files {
		if !slices.Contains(used, f) {
			os.Remove(f)
		}
	}
}

// rolledBack records a rollback, so that a restart keeps to it.
func (l *learner) rolledBack(g *generation) {
	if !l.On {
		return
	}
	a := attempt{Time: time.Now().UTC(), Base: l.base, From: g.Hash, RolledBack: true}
	if g.Learned {
		a.Checkpoint = filepath.Base(g.Checkpoint)
	}
	l.note(a)
}

func (l *learner) doc() *learningDoc {
	if !l.On {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	doc := l.sum
	return &doc
}

// readLedger reads the attempts up to the first line that is damaged.
func readLedger(path string) (list []attempt, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var a attempt
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			return list, fmt.Errorf("%s, line %d: %w", path, len(list)+1, err)
		}
		if a.Checkpoint != filepath.Base(a.Checkpoint) && a.Checkpoint != "" {
			return list, fmt.Errorf("%s, line %d: checkpoint %q, must be a file beside the ledger", path, len(list)+1,
				a.Checkpoint)
		}
		list = append(list, a)
	}
	return list, lines.Err()
}

// appendLine adds a line to a file and syncs it to the disk.
func appendLine(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}
