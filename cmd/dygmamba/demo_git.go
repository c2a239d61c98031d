package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/queries"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/train"
)

// historyTour is a tour of someone's own repository: who will change which file next, and what was surprising in its
// last week?
type historyTour struct {
	dir       string
	anonymous bool
	seed      uint64
	time      time.Duration // of the training
}

// historyTourDoc is what it shows.
type historyTourDoc struct {
	Repository string        `json:"repository"`
	Events     int           `json:"events"`
	People     int           `json:"people"`
	Files      int           `json:"files"`
	First      string        `json:"first"`
	Last       string        `json:"last"`
	Model      string        `json:"model"`
	Bits       *float64      `json:"who_bits,omitempty"` // of a test event
	Seconds    float64       `json:"seconds"`
	Next       []sharesDoc   `json:"next"`
	Week       int           `json:"week_events"`
	Surprises  []surpriseDoc `json:"surprises"` // of the last week, the most surprising first
}

// fewestChanges is how many changes a history needs before anything can be learned from it.
const fewestChanges = 200

func (a *app) tourHistory(ctx context.Context, t historyTour) error {
	began := time.Now()
	dir, err := os.MkdirTemp("", "dygmamba-demo-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	progress := a.console.Progress("read", "commits")
	file := filepath.Join(dir, "history.dgm")
	report, err := dataset.ImportGit(ctx, t.dir, file, dataset.GitOptions{Anonymous: t.anonymous,
		Commits: func(n int) { progress.Set(int64(n), 0, "") }}, dataset.ImportOptions{Name: tableName(t.dir)})
	progress.Done()
	if err != nil {
		return err
	}
	if report.Events < fewestChanges {
		return &inputError{fmt.Errorf("%s: found %d changes of files; want at least %d to learn from", t.dir,
			report.Events, fewestChanges)}
	}
	set, err := dataset.Open(ctx, file, dataset.Options{})
	if err != nil {
		return err
	}
	defer set.Close()
	clock := set.Clock()
	doc := &historyTourDoc{Repository: t.dir, Events: report.Events, People: report.Sources, Files: report.Targets,
		First: clock.Show(report.First), Last: clock.Show(report.Last)}
	a.log().Info(fmt.Sprintf("%s changes of %s files by %s, %s … %s", term.Count(doc.Events),
		term.Count(doc.Files), people(doc.People), doc.First, doc.Last))
	if err := a.learnHistory(ctx, t, set, dir, doc); err != nil {
		return err
	}
	if err := a.askHistory(ctx, set, dir, doc); err != nil {
		return err
	}
	doc.Seconds = time.Since(began).Seconds()
	return a.emit(doc, doc.write)
}

// learnHistory trains.
func (a *app) learnHistory(
	ctx context.Context, t historyTour, set *dataset.Set, dir string, doc *historyTourDoc,
) error {
	progress := a.console.Progress("learn", "events")
	summary, err := dygmamba.Train(ctx, dygmamba.TrainOptions{
		Set: set, Task: protocol.Next, Seeds: []uint64{t.seed}, Dir: dir, MaxTime: t.time,
		OnStep: func(_ uint64, s train.Step) {
			progress.Set(int64((s.Epoch-1)*s.Total+s.Done), int64(s.Epochs*s.Total), fmt.Sprintf("epoch %d", s.Epoch))
		},
	})
	progress.Done()
	if err != nil {
		return err
	}
	doc.Model = summary.Model
	if n := summary.Runs[0].Next; n != nil {
		doc.Bits = &n.WhoBits
	}
	return nil
}

// askHistory asks what was surprising in the last week, then what those who were busiest in the last month do next.
func (a *app) askHistory(ctx context.Context, set *dataset.Set, dir string, doc *historyTourDoc) error {
	c, err := predict.LoadChooser(dir, predict.Options{Set: set})
	if err != nil {
		return err
	}
	defer c.Close()
	const day, mostPeople, mostFiles, mostEvents = 24 * 3600, 3, 5, 2000
	log, p := set.Log, &prediction{set: set}
	last := log.At(log.Len() - 1).Time
	month, _ := slices.BinarySearch(log.All().Time, last-30*day)
	week, _ := slices.BinarySearch(log.All().Time, last-7*day)
	week = max(week, log.Len()-mostEvents)
	busy := map[event.Node]int{}
	var asked []queries.Question
	for i := month; i < log.Len(); i++ {
		e := log.At(i)
		busy[e.Src]++
		if i >= week {
			asked = append(asked, queries.Question{U: set.Names.Name(e.Src), I: set.Names.Name(e.Dst),
				TS: set.Clock().Show(e.Time), Query: predict.Query{Src: e.Src, Dst: e.Dst, Time: e.Time}})
		}
	}
	found, err := c.Surprises(ctx, queries.Of(asked), nil)
	if err != nil {
		return err
	}
	for i, q := range asked {
		one := p.surpriseDoc(q, found[i])
		one.Reasons = one.Reasons[:1] // the table has little room
		doc.Surprises = append(doc.Surprises, one)
	}
	doc.Week = len(asked)
	slices.SortStableFunc(doc.Surprises, func(x, y surpriseDoc) int { return cmp.Compare(y.Bits, x.Bits) })
	doc.Surprises = doc.Surprises[:min(10, len(doc.Surprises))]
	busiest := slices.SortedFunc(maps.Keys(busy), func(x, y event.Node) int {
		return cmp.Or(cmp.Compare(busy[y], busy[x]), cmp.Compare(x, y))
	})
	for _, src := range busiest[:min(mostPeople, len(busiest))] {
		shares, err := c.Next(src, last+1)
		if err != nil {
			return err
		}
		one := sharesDoc{U: set.Names.Name(src), TS: last + 1, Candidates: len(shares.Items), New: shares.New,
			when: set.Clock().Show(last + 1)}
		for i, x := range shares.Items {
			if i < mostFiles {
				one.Items = append(one.Items, shareItemDoc{I: set.Names.Name(x.Node), Share: x.Share, Meetings: x.Met})
			} else {
				one.Others += x.Share
			}
		}
		doc.Next = append(doc.Next, one)
	}
	return nil
}

func (d *historyTourDoc) write(w io.Writer, s term.Style) error {
	fmt.Fprintf(w, "%s  %s changes of %s files by %s, from %s to %s\n\n", s.Strong("1. Your history."),
		term.Count(d.Events), term.Count(d.Files), people(d.People), d.First, d.Last)
	fmt.Fprintf(w, "%s  Those who changed most in the last month:\n\n", s.Strong("2. Who will change which file next?"))
	t := term.NewTable(term.Left("person"), term.Left("file"), term.Right("share %"), term.Right("changed before"))
	for _, one := range d.Next {
		name := one.U
		for _, x := range one.Items {
			t.Row(name, x.I, term.Percent(x.Share), term.Count(x.Meetings)+"×")
			name = ""
		}
		t.Row("", "other files", term.Percent(one.Others), "")
		t.Row("", "a new file", term.Percent(one.New), "")
		t.Gap()
	}
	if err := t.Write(w, s); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s  The most surprising of the last %s changes:\n\n",
		s.Strong("3. What was surprising last week?"), term.Count(d.Week))
	if err := surpriseTable(d.Surprises).Write(w, s); err != nil {
		return err
	}
	text := "Next: dygmamba data import --git DIR, train --task next, predict --best, predict --surprise."
	if d.Bits != nil {
		text = fmt.Sprintf("A change costs %.1f bits in the test part: as much as a choice among %.0f files that are "+
			"equally likely.\n  ", *d.Bits, math.Exp2(*d.Bits)) + text
	}
	_, err := fmt.Fprintf(w, "\n  %s\n  %s\n", s.Dim(text),
		s.Dim(fmt.Sprintf("The tour took %s.", term.Duration(seconds(d.Seconds)))))
	return err
}

func people(n int) string {
	if n == 1 {
		return "one person"
	}
	return term.Count(n) + " people"
}
