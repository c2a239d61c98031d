package audit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/atomicfile"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/train"
)

// records compares what the two records say of the same things.
func (a *auditor) records() {
	c, r := a.run.Config, a.result
	found := fmt.Sprintf("%s on %s, seed %d, preset %s, %d parameters", r.Model, r.Data, r.Seed, r.Preset, r.Params)
	want := fmt.Sprintf("%s on %s, seed %d, preset %s, %d parameters", c.Model, c.Data, c.Seed, a.spec.Preset, c.Params)
	a.report.same("result is of this configuration", found, want)
	conditions := func(order protocol.Order, list []string) string {
		if order != "" {
			list = slices.Concat([]string{"order " + string(order)}, list)
		}
		return cmp.Or(strings.Join(list, "; "), "none")
	}
	a.report.same("conditions are stated", conditions(r.Order, r.Depends),
		conditions(a.spec.Order, a.spec.Conditions()))
}

// history looks at how the epoch was chosen: by validation alone, as the log has it, and as the saved state has it.
func (a *auditor) history() {
	const choice, state = "epoch chosen by validation", "log agrees with the saved state"
	epochs, err := a.run.History()
	r := a.result
	switch {
	case err != nil:
		a.report.add(choice, false, err.Error(), "a line for each epoch")
		return
	case len(epochs) == 0 && r.Cut():
		a.report.add(choice, r.Epochs == 0 && r.BestEpoch == 0 && r.Val == nil,
			fmt.Sprintf("%s, after %d training events: no epoch was chosen", r.CutMark(), r.TrainEvents),
			"no epoch and no validation in the result, as there are none in the log")
		a.saved(state, train.NewStopper(a.spec.Training, a.run.Config.ByAP, learnedTask(a.spec, r)), 0)
		return
	case len(epochs) == 0:
		a.report.add(choice, false, "could not be made: no "+run.LogFile, "the epoch that validation data chose")
		return
	}
	stop, wrong := a.choose(epochs)
	found := wrong
	if wrong == "" {
		by := stop.Measure(a.spec.Training)
		found = fmt.Sprintf("epoch %d of %d, by %s on validation data", stop.Epoch, len(epochs), by)
		if r.Cut() {
			found += "; " + r.CutMark()
		}
		if r.Epochs < len(epochs) {
			found += fmt.Sprintf("; cut short: training has gone on since epoch %d", r.Epochs)
		}
	}
	a.report.add(choice, wrong == "", found, "the epoch that validation data chose, of a whole log")
	a.saved(state, stop, len(epochs))
}

// choose goes through the log once more and says which epoch validation chose, and what in the records contradicts.
func (a *auditor) choose(epochs []run.Epoch) (stop train.Stopper, wrong string) {
	r, most := a.result, a.spec.Training.Epochs
	stop = train.NewStopper(a.spec.Training, a.run.Config.ByAP, learnedTask(a.spec, r))
	seconds, over := 0.0, false // until the result was written
	for i, e := range epochs {
		if stop.Epoch > 0 && stop.Done() {
			return stop, fmt.Sprintf("epoch %d came after patience was over", e.Epoch)
		}
		if better := stop.Improved(e.Epoch, e.Judged()); better != e.Improved {
			return stop, fmt.Sprintf("epoch %d is noted as improved: %v, its validation says %v",
				e.Epoch, e.Improved, better)
		}
		if i < r.Epochs {
			seconds += e.Seconds.Train + e.Seconds.Evaluate
			over = stop.Done() || e.Epoch >= most
		}
	}
	last := len(epochs)
	switch {
	case r.BestEpoch != stop.Epoch:
		wrong = fmt.Sprintf("the result is of epoch %d, validation chose %d", r.BestEpoch, stop.Epoch)
	case r.Epochs > last || last > most || over == r.Cut() && r.Epochs == last:
		wrong = fmt.Sprintf("%d epochs in the result, %d in the log, at most %d with patience %d",
			r.Epochs, last, most, a.spec.Training.Patience)
		if r.Cut() {
			wrong += "; " + r.CutMark()
		}
	case !reflect.DeepEqual(r.Val, epochs[stop.Epoch-1].Val):
		wrong = "the result's validation is not that of its epoch in the log"
	case math.Abs(seconds-r.Seconds) > 1e-6*(1+seconds):
		wrong = fmt.Sprintf("the log's epochs took %.3f s, the result's %.3f s", seconds, r.Seconds)
	}
	return stop, wrong
}

// learned compares how many training events the result counts with what its epochs have.
func (a *auditor) learned(p *eval.Protocol) {
	const name = "training events"
	r, events := a.result, p.TrainEvents().Len()
	if r.TrainEvents == 0 {
		a.report.tell(name, "not looked at: the record does not count them")
		return
	}
	ok, want := r.TrainEvents == r.Epochs*events, fmt.Sprintf("%d in %d epochs", r.Epochs*events, r.Epochs)
	if r.Cut() {
		ok = r.TrainEvents >= r.Epochs*events && r.TrainEvents <= (r.Epochs+1)*events
		want += fmt.Sprintf(", and up to %d of the one that was cut short", events)
	}
	a.report.add(name, ok, fmt.Sprint(r.TrainEvents), want)
}

// saved compares the log with the state that a training leaves for going on; records that are handed on may lack it.
func (a *auditor) saved(name string, stop train.Stopper, epochs int) {
	file, err := checkpoint.Load(filepath.Join(a.Dir, run.LastFile))
	if errors.Is(err, fs.ErrNotExist) {
		a.report.tell(name, "not looked at: no "+run.LastFile)
		return
	}
	var at train.State
	if err == nil {
		err = json.Unmarshal([]byte(file.Meta["train"]), &at)
	}
	if err != nil {
		a.report.add(name, false, err.Error(), "the state of a training")
		return
	}
	describe := func(s train.Stopper, n int) string {
		if a.spec.Task == protocol.Next {
			return fmt.Sprintf("epoch %d of %d, by bits per event", s.Epoch, n)
		}
		return fmt.Sprintf("epoch %d of %d, AP %v, AUC %v", s.Epoch, n, s.Best.AP, s.Best.AUC)
	}
	a.report.same(name, describe(stop, epochs), describe(at.Stopper, at.Epoch))
}

// sameData says whether the data are those of the record.
func (a *auditor) sameData(p *eval.Protocol) bool {
	hash, split := a.Set.Hash(), p.Split().Hash
	a.report.same("data", hash, a.run.Config.Hashes.Data)
	a.report.same("split", split, a.run.Config.Hashes.Split)
	a.report.same("split of the result", a.result.Split, split)
	a.learned(p)
	return hash == a.run.Config.Hashes.Data && split == a.run.Config.Hashes.Split
}

// weights looks at the checkpoint as a file: is it whole, of this run, and the one that was measured?
func (a *auditor) weights() (found bool) {
	const name = ofThisRun
	path := filepath.Join(a.Dir, run.CheckpointFile)
	file, err := checkpoint.Load(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		a.report.without("no "+run.CheckpointFile, 0)
		return false
	case err != nil:
		a.report.add(name, false, err.Error(), "a whole checkpoint")
		a.report.without("the checkpoint cannot be read", 1)
		return false
	case file.Meta["model"] == "": // of another program
		a.report.add(name, false, "a checkpoint that does not say of what", "one of this run")
		a.report.without("the checkpoint is not of this run", 1)
		return false
	}
	of := func(model, data, seed, epoch, spec string) string {
		return fmt.Sprintf("%s on %s, seed %s, epoch %s, %s", model, data, seed, epoch, spec)
	}
	c, m := a.run.Config, file.Meta
	is := of(m["model"], m["data"], m["seed"], m["epoch"], compact(m["spec"]))
	want := of(c.Model, c.Data, fmt.Sprint(c.Seed), fmt.Sprint(a.result.BestEpoch), compact(string(c.Spec)))
	a.report.same(name, is, want)
	if is != want {
		a.report.without("the checkpoint is not of this run", 1)
		return false
	}
	if a.result.Checkpoint != "" {
		hash, err := atomicfile.Hash(path)
		if err != nil {
			hash = err.Error()
		}
		a.report.same("checkpoint is the one that was measured", hash, a.result.Checkpoint)
	}
	return true
}

// compact is JSON without its layout, whatever the order of its members.
func compact(text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	raw, _ := json.Marshal(v)
	return string(raw)
}
