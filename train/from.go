package train

import (
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/internal/atomicfile"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/run"
)

// takeFrom begins with the weights of another run, and with what it remembered where that lies before all training
// events of this one.
func (t *trainer) takeFrom() error {
	if t.From == "" {
		return nil
	}
	f, err := run.ReadCheckpoint(t.From)
	if err != nil {
		return fmt.Errorf("the run to begin with: %w", err)
	}
	own, _ := f.Part(ClassifierPrefix)
	if name := f.Meta["model"]; name != t.Run.Model {
		return fmt.Errorf("the run to begin with, %s, is of %s, asked for is %s", t.From, name, t.Run.Model)
	}
	if err := own.RestoreParams(t.Learner.Model.Params()); err != nil {
		return fmt.Errorf("the run to begin with, %s: %w", t.From, err)
	}
	t.from = &run.From{Run: t.seen(filepath.Dir(t.From))}
	if t.from.Checkpoint, err = atomicfile.Hash(t.From); err != nil {
		return fmt.Errorf("the run to begin with: %w", err)
	}
	t.from.Memory = t.takeMemory(f)
	return nil
}

// takeMemory takes over what a run remembered. It fits if all events that the run knew are in this data set, under the
// same ids, and lie before the first training event: otherwise they are learned of once more.
func (t *trainer) takeMemory(f checkpoint.File) bool {
	m, remembers := t.evaluator().(model.StatefulScorer)
	events := t.Protocol.TrainEvents()
	record, err := run.Open(filepath.Dir(t.From))
	if !remembers || err != nil || events.Len() == 0 {
		return false
	}
	c, facts := record.Compare(t.Set), record.Config.Facts
	if facts == nil || !c.Same && c.Grown == 0 || facts.Last >= events.Time[0] {
		return false
	}
	state := memoryIn(f)
	if len(state) == 0 || m.Restore(state) != nil {
		return m.Restore(nil) != nil // which begins empty
	}
	t.begins, t.Protocol = state, t.Protocol.Continued()
	return true
}

// refit is the record of a run that learns from all events.
func (t *trainer) refit() *run.Fit {
	if t.Refit == nil {
		return nil
	}
	fit := t.Refit.Fit
	fit.Chosen = t.seen(t.Refit.Dir)
	return &fit
}

// finishFit shows the results of the run that chose the epoch: nothing is left to test these weights on.
func (t *trainer) finishFit(r run.Result) (run.Result, error) {
	chosen := t.Refit.Chosen
	r.Fit, r.Results, r.Val = t.refit(), chosen.Results, chosen.Val
	r.Others, r.ChosenBy = chosen.Others, chosen.ChosenBy
	return r, t.dir.WriteJSON(run.ResultFile, r)
}

// noteFit marks a checkpoint that learned from all events, and gives it the probabilities of the run that chose the
// epoch.
func (t *trainer) noteFit(f checkpoint.File) error {
	if t.Refit == nil {
		return nil
	}
	f.Meta[run.FitKey] = strconv.FormatFloat(t.Refit.Last, 'g', -1, 64)
	chosen, err := checkpoint.Load(filepath.Join(t.Refit.Dir, run.CheckpointFile))
	if err != nil {
		return err
	}
	if m := chosen.Meta[run.CalibrationKey]; m != "" {
		f.Meta[run.CalibrationKey] = m
	}
	return nil
}
