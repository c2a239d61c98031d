package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/cache"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/run"
)

// protocolNext measures a model of the task "next" in bits per event.
const protocolNext = "next"

// nextEvalDoc is the document of eval --protocol next.
type nextEvalDoc struct {
	Model       string           `json:"model"`
	Protocol    string           `json:"protocol"`
	Data        eval.DataRecord  `json:"data"`
	Split       eval.SplitRecord `json:"split"`
	Limit       int              `json:"limit,omitempty"` // how many of the test events were asked about
	Checkpoints []string         `json:"checkpoints"`
	Results     []nextResultDoc  `json:"results"`
	Rules       []cache.Bits     `json:"rules"` // on the same events
}

// nextResultDoc is what one seed achieved.
type nextResultDoc struct {
	eval.Next
	Variant string        `json:"variant,omitempty"` // which of several seeds
	Swapped *eval.Swapped `json:"swapped,omitempty"` // of --swap
}

// runNext measures the seeds of a run of the task "next".
func (e *evaluation) runNext(ctx context.Context, a *app, o *openedRun) (*nextEvalDoc, error) {
	doc := &nextEvalDoc{Protocol: protocolNext, Limit: e.tgb.limit, Checkpoints: o.files}
	progress := a.console.Progress("eval", "events")
	defer progress.Done()
	for i, file := range o.files {
		c, err := predict.LoadChooser(file, o.load)
		if err != nil {
			return nil, loadError(err)
		}
		defer c.Close()
		proto, err := c.Protocol()
		if err != nil {
			return nil, err
		}
		if i == 0 {
			doc.describe(c, o.set, proto)
			doc.Rules = proto.NextRules(eval.NextOptions{Limit: e.tgb.limit})
		}
		variant := ""
		if len(o.files) > 1 {
			variant = filepath.Base(filepath.Dir(file))
		}
		told := func(done, total int) { progress.Set(int64(i*total+done), int64(len(o.files)*total), variant) }
		r, err := c.Evaluate(ctx, proto,
			eval.NextOptions{Limit: e.tgb.limit, Windows: eval.WindowDraws, OnEvent: told})
		if err != nil {
			return nil, err
		}
		result := nextResultDoc{Next: r, Variant: variant}
		if e.tgb.swap > 0 {
			found, err := c.Swap(ctx, proto, e.tgb.swap, eval.NextOptions{Limit: cmp.Or(e.tgb.limit, eval.NextSample)})
			if err != nil {
				return nil, err
			}
			result.Swapped = &found
		}
		doc.Results = append(doc.Results, result)
	}
	return doc, nil
}

func (d *nextEvalDoc) describe(c *predict.Chooser, set *dataset.Set, proto *eval.Protocol) {
	d.Model, d.Data, d.Split = c.Model(), eval.RecordData(set), eval.RecordSplit(proto.Split())
}

// save keeps the document in a directory; "" for none.
func (d *nextEvalDoc) save(dir string) error {
	if dir == "" {
		return nil
	}
	out, err := newPending(filepath.Join(dir, run.ResultFile))
	if err != nil {
		return err
	}
	defer out.discard()
	if err := encode(out, d); err != nil {
		return err
	}
	return out.commit()
}

// write is the document for people.
func (d *nextEvalDoc) write(w io.Writer, s term.Style) error {
	fmt.Fprintf(w, "%s on %s: who is the next destination?  %s\n\n", s.Strong(d.Model), s.Strong(d.Data.Name),
		s.Dim(fmt.Sprintf("%s events, %s nodes", term.Count(d.Data.Events), term.Count(d.Data.Nodes))))
	t := term.NewTable(term.Left(""), term.Right("bits per event"), term.Right("returning"),
		term.Right("first meetings"), term.Right("MRR"), term.Right("Hits@10"))
	for _, r := range d.Results {
		name := d.Model
		if r.Variant != "" {
			name += ", " + r.Variant
		}
		cells := []string{name, bits(r.WhoBits, r.WhoBitsCI, 1), bits(r.Returning, r.ReturningCI, 1-r.Share),
			bits(r.First, r.FirstCI, r.Share)}
		if r.MRR != nil {
			cells = append(cells, term.Percent(*r.MRR), term.Percent(*r.Hits10))
		}
		t.Mark(cells...)
	}
	for _, r := range d.Rules {
		first := d.Results[0].Share // of the same events
		t.Row(r.Rule, bits(r.All, nil, 1), bits(r.Returning, nil, 1-first), bits(r.First, nil, first))
	}
	if err := t.Write(w, s); err != nil {
		return err
	}
	asked := "all test events"
	first := d.Results[0]
	if first.Of > 0 {
		asked = fmt.Sprintf("a draw of %s of %s test events, with 95 %% confidence intervals", term.Count(first.Events),
			term.Count(first.Of))
	}
	fmt.Fprintf(w, "\n  %s\n", s.Dim("−log₂ of the probability of the destination among all that were seen before, "+
		"and a new one; fewer are better"))
	fmt.Fprintf(w, "  %s\n\n", s.Dim(fmt.Sprintf("of %s, %s %% of them first meetings; MRR and Hits in percent", asked,
		term.Percent(first.Share))))
	for i := range d.Results {
		if err := d.Results[i].writeWhen(w, s); err != nil {
			return err
		}
	}
	var f term.Facts
	for _, r := range d.Results {
		if x := r.Swapped; x != nil {
			f.Add("exchanged", fmt.Sprintf("%s of %s events have the destination of another; finding them by their "+
				"bits: AP %s, AUC %s (rule cache: %s, %s)", term.Count(x.Swapped), term.Count(x.Events),
				term.Percent(x.AP), term.Percent(x.AUC), term.Percent(x.CacheAP), term.Percent(x.CacheAUC)))
		}
	}
	hidden := ", no node hidden"
	if d.Split.NewTest > 0 {
		hidden = fmt.Sprintf(", %s of these with a node that was hidden from training", term.Count(d.Split.NewTest))
	}
	f.Add("split", fmt.Sprintf("train %s · val %s · test %s%s", term.Count(d.Split.Train), term.Count(d.Split.Val),
		term.Count(d.Split.Test), hidden))
	f.Add("", "sha256 "+d.Split.Hash)
	return f.Write(w, s)
}

// bits is a number of bits, with half the width of its interval where it has one; a dash where no event is of the kind.
func bits(x float64, ci *[2]float64, share float64) string {
	if share <= 0 {
		return "–"
	}
	if ci == nil {
		return fmt.Sprintf("%.3f", x)
	}
	return fmt.Sprintf("%.3f ± %.3f", x, (ci[1]-ci[0])/2)
}
