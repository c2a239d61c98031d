package audit

import (
	"context"
	"fmt"
	"math"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/predict"
)

// A model of the task "next" gives probabilities to all destinations. There are no negatives and no batches: what is
// left to look at are the data, the choice of the epoch, the weights, the bits, whether probabilities sum to 1, and
// whether they are blind to what lies at or after their time.

const sumToOne = "probabilities of all destinations sum to 1"

// next asks a run of the task "next" again.
func (a *auditor) next(ctx context.Context, p *eval.Protocol) error {
	noted := a.result.Next
	if noted == nil || !a.weights() {
		a.report.add("results that were promised", noted != nil, fmt.Sprintf("%d events", p.Events(eval.Test).Len()),
			"bits per event of the test")
		return nil
	}
	c, err := a.chooser(a.Set)
	if err != nil {
		for _, name := range []string{metrics, validated, blind, sumToOne} {
			a.report.add(name, false, "could not be made: "+err.Error(), "a model that can be asked again")
		}
		return nil
	}
	defer c.Close()
	if err := a.nextShares(ctx, c, p); err != nil {
		return err
	}
	ask := noted.Again()
	ask.OnEvent = a.progress("test")
	again, err := c.Evaluate(ctx, p, ask)
	if err != nil {
		return fmt.Errorf("ask again: %w", err)
	}
	a.nextBits(metrics, &again, noted)
	if c.Base().Remembers() {
		a.report.tell(validated, "not made: the checkpoint remembers validation already")
		return nil
	}
	val, err := c.Validate(ctx, p) // fits the calibration once more, so it comes last
	if err != nil {
		return fmt.Errorf("validate again: %w", err)
	}
	a.nextBits(validated, &val, a.result.NextVal)
	return nil
}

func (a *auditor) chooser(set *dataset.Set) (*predict.Chooser, error) {
	return predict.LoadChooser(a.Dir, predict.Options{Set: set, Device: a.Device, Threads: a.Threads})
}

func (a *auditor) progress(what string) func(done, total int) {
	if a.OnBatch == nil {
		return nil
	}
	return func(done, total int) { a.OnBatch(what, done, total) }
}

// nextBits compares bits with those of the record.
func (a *auditor) nextBits(name string, found, noted *eval.Next) {
	text := func(n *eval.Next) string {
		if n == nil {
			return "none"
		}
		return fmt.Sprintf("%.6f bits (returning %.6f, first meetings %.6f) of %d events", n.WhoBits, n.Returning,
			n.First, n.Events)
	}
	ok := found != nil && noted != nil && found.Events == noted.Events &&
		math.Abs(found.WhoBits-noted.WhoBits) <= 100*a.tolerance()
	a.report.add(name, ok, text(found), text(noted))
}

// nextShares looks at all probabilities of some test events, and asks again where nothing lies at or after their time.
func (a *auditor) nextShares(ctx context.Context, c *predict.Chooser, p *eval.Protocol) error {
	events := p.Events(eval.Test).All()
	off, moved := 0.0, change{}
	for _, i := range spread(events.Len()) {
		if err := ctx.Err(); err != nil {
			return err
		}
		e := events.At(i)
		usual, err := c.Next(e.Src, e.Time)
		if err != nil {
			return err
		}
		cut, err := a.nextBefore(e.Src, e.Time)
		if err != nil {
			return err
		}
		sum, was := usual.New, map[event.Node]float64{}
		for _, x := range cut.Items {
			was[x.Node] = x.Share
		}
		for _, x := range usual.Items {
			sum += x.Share
			moved.asked++
			if by := math.Abs(x.Share - was[x.Node]); by > mostChange {
				moved.moved++
				moved.most = max(moved.most, by)
				moved.where = fmt.Sprintf("%d and %d at %v", e.Src, x.Node, e.Time)
			}
		}
		off = max(off, math.Abs(sum-1))
	}
	a.report.add(sumToOne, off <= mostChange, fmt.Sprintf("off by at most %.2g", off),
		fmt.Sprintf("off by at most %.0e", mostChange))
	found := fmt.Sprintf("%d of %d moved, at most by %.2g", moved.moved, moved.asked, moved.most)
	if moved.moved > 0 {
		found += ": " + moved.where
	}
	a.report.leak(blind, moved.moved == 0, found, unchanged)
	return nil
}

// nextBefore asks a model that is given no event at or after the time. One that remembers is given as many others
// instead: it learns of events in units, and a unit that is cut would be another one.
func (a *auditor) nextBefore(src event.Node, at event.Time) (predict.Shares, error) {
	past := *a.Set
	all := a.Set.Log.All()
	past.Log = a.Set.Log.Select(func(i int) bool { return all.Time[i] < at })
	if a.spec.Order != "" {
		past.Log = event.NewLog(all.Len())
		for i := range all.Len() {
			e := a.Set.Log.At(i)
			if e.Time >= at {
				e.Src, e.Dst = all.Src[0], all.Dst[0]
			}
			if _, err := past.Log.Append(e); err != nil {
				return predict.Shares{}, err
			}
		}
	}
	c, err := a.chooser(&past)
	if err != nil {
		return predict.Shares{}, err
	}
	defer c.Close()
	return c.Next(src, at)
}
