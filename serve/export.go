package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eventlog"
)

// Exported says what Export has written.
type Exported struct {
	Events   int    `json:"events"`
	First    uint64 `json:"first"` // sequence
	Last     uint64 `json:"last"`
	Features int    `json:"features"` // columns
}

// Export writes the events of a log as a table, CSV or Parquet, in the order of their sequences: sequence, src, dst,
// time, label, id and kind where events have these, and a column for each feature. Times are numbers in the unit of the
// data. Erased events are left out.
func Export(ctx context.Context, log eventlog.Log, w io.Writer, format string) (out Exported, err error) {
	out.Last = log.Last()
	if trimmed, ok := log.(eventlog.Trimmer); ok {
		out.First, _ = trimmed.Begin()
	}
	out.First++
	found, err := measureLog(ctx, log, out.First-1, out.Last)
	if err != nil {
		return out, err
	}
	out.Events, out.Features = found.events, found.width
	rows := &rowReader{row: -1}
	var failed error
	next, stop := iter.Pull(eventsOf(ctx, log, out.First-1, out.Last, &failed))
	defer stop()
	rows.next = next
	columns := []dataset.Column{
		dataset.IntColumn("sequence", func(row int) int { return int(rows.at(row).sequence) }),
		dataset.TextColumn("src", func(row int) string { return rows.at(row).Src }),
		dataset.TextColumn("dst", func(row int) string { return rows.at(row).Dst }),
		dataset.FloatColumn("time", func(row int) float64 { return rows.at(row).Time }),
		dataset.FloatColumn("label", func(row int) float64 { return rows.at(row).Label }),
	}
	if found.ids {
		columns = append(columns, dataset.TextColumn("id", func(row int) string { return plainID(rows.at(row).ID) }))
	}
	if found.kinds {
		columns = append(columns, dataset.TextColumn("kind", func(row int) string { return rows.at(row).Kind }))
	}
	for i := range out.Features {
		columns = append(columns, dataset.FloatColumn(fmt.Sprintf("feature_%d", i+1), func(row int) float64 {
			if e := rows.at(row); i < len(e.Features) {
				return float64(e.Features[i])
			}
			return 0
		}))
	}
	err = dataset.WriteColumns(ctx, w, format, out.Events, columns...)
	return out, errors.Join(err, failed)
}

// rowReader gives the events of rows that are asked for in their order.
type rowReader struct {
	row  int
	now  numbered
	next func() (numbered, bool)
}

// numbered is an event and its sequence.
type numbered struct {
	eventlog.Event
	sequence uint64
}

func (r *rowReader) at(row int) numbered {
	for ; r.row < row; r.row++ {
		r.now, _ = r.next() // the caller reports the error at the end
	}
	return r.now
}

var errEnough = errors.New("enough")

// eventsOf are the events of a log after a sequence and up to another, but for those that were erased.
func eventsOf(ctx context.Context, log eventlog.Log, after, last uint64, failed *error) iter.Seq[numbered] {
	return func(yield func(numbered) bool) {
		if after >= last {
			return
		}
		err := log.Follow(ctx, after, func(b eventlog.Batch) error {
			for i, e := range b.Events {
				if !e.Erased && !yield(numbered{e, b.Last - uint64(len(b.Events)-1-i)}) {
					return errEnough
				}
			}
			if b.Last >= last {
				return errEnough
			}
			return nil
		})
		if !errors.Is(err, errEnough) {
			*failed = err
		}
	}
}

// measured is what the events of a log have.
type measured struct {
	events     int
	width      int // largest number of features
	kinds, ids bool
}

func measureLog(ctx context.Context, log eventlog.Log, after, last uint64) (m measured, err error) {
	for e := range eventsOf(ctx, log, after, last, &err) {
		m.events++
		m.width = max(m.width, len(e.Features))
		m.kinds, m.ids = m.kinds || e.Kind != "", m.ids || e.ID != ""
	}
	return m, err
}
