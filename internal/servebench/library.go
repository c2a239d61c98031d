package servebench

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dygmamba/dygmamba/client"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/predict"
)

// answer is what is compared: a logit, or what a model of the task "next" says of a pair: the share, the rate, and the
// probability and the expected number of events in a window.
type answer [4]float64

func logit(x float32) answer { return answer{float64(x)} }

// library answers offline.
type library struct {
	*predict.Predictor
	chooser *predict.Chooser // nil: the model is of links
	within  string           // the window that is asked about; "" for none
	length  float64          // the same, in the unit of times
	unit    float64          // how many units of times a rate counts in
}

// open opens a checkpoint, and notes whose answers are compared.
func (v *Verification) open(o predict.Options, verdict *Verdict) (l *library, err error) {
	l = &library{unit: 1}
	l.Predictor, err = predict.Load(v.Checkpoint, o)
	if errors.Is(err, predict.ErrNext) {
		if l.chooser, err = predict.LoadChooser(v.Checkpoint, o); err == nil {
			l.Predictor = l.chooser.Base()
			err = l.chooseWindow(v.Set)
		}
	}
	if err != nil {
		return nil, err
	}
	verdict.Model, verdict.Order, verdict.Depends = l.Model(), l.Spec().Order, l.Spec().Conditions()
	verdict.next = l.chooser != nil
	verdict.within = l.within
	return l, nil
}

// chooseWindow asks about an hour, or a thousandth of the whole time where nobody knows how long an hour is.
func (l *library) chooseWindow(set *dataset.Set) (err error) {
	if !l.chooser.KnowsRates() {
		return nil
	}
	day := l.chooser.Day()
	if l.within = "1h"; day == 0 {
		times := set.Log.All().Time
		l.within = fmt.Sprint(max(1, (times[len(times)-1]-times[0])/1000))
	} else {
		l.unit = day / 86400
	}
	l.length, err = dataset.ParseLength(l.within, day)
	return err
}

// Close gives all memory back.
func (l *library) Close() error {
	if l.chooser != nil {
		return l.chooser.Close()
	}
	return l.Predictor.Close()
}

// answers are those to queries, in passes of at most size.
func (l *library) answers(ctx context.Context, qs []predict.Query, size int,
	score func(context.Context, []predict.Query) ([]float32, error)) (all []answer, err error) {
	if l.chooser != nil {
		return l.shares(ctx, qs)
	}
	for some := range slices.Chunk(qs, size) {
		logits, err := score(ctx, some)
		if err != nil {
			return nil, err
		}
		for _, x := range logits {
			all = append(all, logit(x))
		}
	}
	return all, nil
}

// shares are the answers of a model of the task "next".
func (l *library) shares(ctx context.Context, qs []predict.Query) (all []answer, err error) {
	for _, q := range qs {
		if err := l.chooser.Reach(ctx, q.Time); err != nil {
			return nil, err
		}
		var a answer
		if l.within == "" {
			a[0], err = l.chooser.Share(q.Src, q.Dst, q.Time)
		} else {
			var t predict.Timing
			if t, err = l.chooser.When(q.Src, &q.Dst, q.Time, []float64{l.length}); err == nil {
				a = answer{t.Share, t.Rate * l.unit, t.Windows[0].Probability, t.Windows[0].Expected}
			}
		}
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// served is what a server has answered.
func served(s client.Score) (a answer) {
	if s.Share == nil {
		return logit(s.Logit)
	}
	a[0] = *s.Share
	if s.Rate != nil {
		a[1] = *s.Rate
	}
	if s.Within != nil {
		a[2], a[3] = s.Within.Probability, s.Within.Expected
	}
	return a
}
