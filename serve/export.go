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
// time, label, kind where events have kinds, and a column for each feature. Times are numbers in the unit of the data.
func Export(ctx context.Context, log eventlog.Log, w io.Writer, format string) (out Exported, err error) {
	out.Last = log.Last()
	if trimmed, ok := log.(eventlog.Trimmer); ok {
		out.First, _ = trimmed.Begin()
	}
	out.Events = int(out.Last - out.First)
	out.First++
	var kinds bool
	if out.Features, kinds, err = widest(ctx, log, out.First-1, out.Last); err != nil {
		return out, err
	}
	rows := &rowReader{row: -1}
	var failed error
	next, stop := iter.Pull(eventsOf(ctx, log, out.First-1, out.Last, &failed))
	defer stop()
	rows.next = next
	columns := []dataset.Column{
		dataset.IntColumn("sequence", func(row int) int { return int(out.First) + row }),
		dataset.TextColumn("src", func(row int) string { return rows.at(row).Src }),
		dataset.TextColumn("dst", func(row int) string { return rows.at(row).Dst }),
		dataset.FloatColumn("time", func(row int) float64 { return rows.at(row).Time }),
		dataset.FloatColumn("label", func(row int) float64 { return rows.at(row).Label }),
	}
	if kinds {
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
	now  eventlog.Event
	next func() (eventlog.Event, bool)
}

func (r *rowReader) at(row int) eventlog.Event {
	for ; r.row < row; r.row++ {
		r.now, _ = r.next() // the caller reports the error at the end
	}
	return r.now
}

var errEnough = errors.New("enough")

// eventsOf are the events of a log after a sequence and up to another.
func eventsOf(ctx context.Context, log eventlog.Log, after, last uint64, failed *error) iter.Seq[eventlog.Event] {
	return func(yield func(eventlog.Event) bool) {
		if after >= last {
			return
		}
		err := log.Follow(ctx, after, func(b eventlog.Batch) error {
			for _, e := range b.Events {
				if !yield(e) {
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

// widest is the largest number of features that an event of a log has, and whether any has a kind.
func widest(ctx context.Context, log eventlog.Log, after, last uint64) (width int, kinds bool, err error) {
	for e := range eventsOf(ctx, log, after, last, &err) {
		width, kinds = max(width, len(e.Features)), kinds || e.Kind != ""
	}
	return width, kinds, err
}
