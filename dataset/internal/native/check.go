package native

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/parallel"
)

// Check opens a file and looks at all of it: every block, every value, and whether what is stored of the events is what
// they give. The error is for what kept it from reading. Where there are problems, the set is nil.
func Check(path string) (*data.Set, input.Problems, error) {
	set, d, err := open(path)
	var found *input.Error
	if errors.As(err, &found) {
		return nil, problems(err), nil
	}
	if err != nil {
		return nil, input.Problems{}, err
	}
	if list := problems(d.checkAll(set)...); list.Total > 0 {
		set.Close()
		return nil, list, nil
	}
	return set, input.Problems{}, nil
}

func problems(errs ...error) (p input.Problems) {
	for _, err := range errs {
		var found *input.Error
		if errors.As(err, &found) {
			p.List = append(p.List, found)
			p.Total++
		}
	}
	return p
}

// checkAll is everything that is wrong with an opened file: all damaged blocks, or else the first wrong value of each
// part.
func (d *decoder) checkAll(s *data.Set) (errs []error) {
	if d.blocks == nil {
		return nil // opening has looked at everything
	}
	for _, kind := range d.order {
		if b := d.blocks[kind]; b != nil {
			errs = append(errs, slices.DeleteFunc(b.wrong(), func(err error) bool { return err == nil })...)
		}
	}
	if len(errs) > 0 {
		return errs
	}
	if errs = append(errs, s.Log.Verify(), s.Names.Verify()); errors.Join(errs...) != nil {
		return errs
	}
	c := d.columns()
	if err := d.checkEdges(c, s.Edge.Rows); err != nil {
		return append(errs, err)
	}
	return append(errs, d.checkFacts(s, c), d.checkHistories(s))
}

// checkFacts counts anew.
func (d *decoder) checkFacts(s *data.Set, c event.Columns) error {
	known, anew := d.facts(), *s
	anew.Know("")
	want := counted{LastNode: max(0, lastNode(c)), Hash: anew.Hash()}
	if known != want {
		return d.wrong(-1, "", fmt.Sprintf("section facts with %+v", known), fmt.Sprintf("%+v", want))
	}
	return nil
}

// checkHistories sorts the events by node anew.
func (d *decoder) checkHistories(s *data.Set) error {
	file, ok := s.Log.Index().(*index.File)
	if !ok {
		return nil
	}
	if err := file.Ready(); err != nil {
		return err
	}
	first := index.Starts(s.Log)
	if !slices.Equal(first, file.Start) {
		return d.wrong(-1, "", "section starts with numbers of other events", "where the histories of the nodes begin")
	}
	shards := index.Shards(first, shardSize(s.Log.Len()))
	errs := make([]error, len(shards))
	parallel.Each(len(shards), func(i int) {
		lo, hi := first[shards[i].Lo], first[shards[i].Hi]
		words := make([]event.Time, 2*int(hi-lo))
		index.Fill(s.Log, first, shards[i], words)
		if !bytes.Equal(rawWords(words), rawWords(file.Words[2*int(lo):2*int(hi)])) {
			errs[i] = d.wrong(-1, "", fmt.Sprintf("section histories with entries of other events, nodes %d to %d",
				shards[i].Lo, shards[i].Hi-1), "every event, at both of its nodes")
		}
	})
	return errors.Join(errs...)
}
