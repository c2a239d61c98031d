package table

import (
	"context"
	"slices"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/native"
	"github.com/dygmamba/dygmamba/event"
)

// write replaces the file by one with all events.
func (ap *appender) write(ctx context.Context, path string, files []string) error {
	log, err := ap.log()
	if err != nil {
		return err
	}
	w, err := native.Create(path)
	if err != nil {
		return err
	}
	err = ap.fill(w, log, files)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		w.Discard()
		return err
	}
	return w.Commit(native.Counts{
		Events: log.Len(), Nodes: int(ap.last), Sources: ap.set.Names.Sources(), Bipartite: data.Bipartite(log),
	})
}

// log is all events in the order of time. Those of one time stand in the order in which they came: new ones behind the
// others.
func (ap *appender) log() (*event.Log, error) {
	first := event.Edge(ap.set.Edge.Rows)
	for i := range ap.events {
		ap.events[i].Edge = first + event.Edge(i)
	}
	added := slices.Clone(ap.events)
	slices.SortStableFunc(added, func(a, b event.Event) int { return cmpTime(a.Time, b.Time) })
	old := ap.set.Log.All()
	log := event.NewLog(old.Len() + len(added))
	for i := 0; i < old.Len() || len(added) > 0; {
		var e event.Event
		if i < old.Len() && (len(added) == 0 || old.Time[i] <= added[0].Time) {
			e = old.At(i)
			i++
		} else {
			e, added = added[0], added[1:]
		}
		if _, err := log.Append(e); err != nil {
			return nil, err
		}
	}
	return log, nil
}

// fill writes all sections.
func (ap *appender) fill(w *native.Writer, log *event.Log, files []string) error {
	w.Events(log)
	rows := ap.set.Edge.Rows + len(ap.events)
	appendRows(w, native.EdgeFeatures, ap.set.Edge, data.Features{Rows: rows, Cols: ap.width, Data: ap.feat})
	appendRows(w, native.NodeFeatures, ap.set.Node, data.Features{Rows: int(ap.last) + 1, Cols: ap.set.Node.Cols,
		Data: ap.newNodeRows()})
	w.Names(ap.names())
	if err := w.Recipe(ap.set.Recipe); err != nil {
		return err
	}
	from := slices.Concat(ap.set.From, baseNames(files))
	return w.About(native.About{Name: ap.set.Name, TimeFormat: ap.set.TimeFormat, Sampling: ap.set.Sampling,
		From: from})
}

// appendRows writes a table of features whose first rows are there and whose last ones are new. One of zeros alone
// takes no room.
func appendRows(w *native.Writer, kind uint32, old, all data.Features) {
	nonzero := func(x float32) bool { return x != 0 }
	if old.Data == nil && !slices.ContainsFunc(all.Data, nonzero) {
		w.Section(kind, all.Rows, all.Cols, 0)
		return
	}
	s := w.Section(kind, all.Rows, all.Cols, 4*int64(all.Rows)*int64(all.Cols))
	if old.Data == nil {
		zero := make([]float32, all.Cols)
		for range old.Rows {
			s.Write(native.Bytes(zero))
		}
	} else {
		s.Write(native.Bytes(old.Data))
	}
	s.Write(native.Bytes(all.Data))
}

// newNodeRows are the features of the nodes that are new.
func (ap *appender) newNodeRows() []float32 {
	cols := ap.set.Node.Cols
	feat := make([]float32, 0, max(0, int(ap.last)+1-ap.set.Node.Rows)*cols)
	for id := ap.set.Node.Rows; id <= int(ap.last); id++ {
		if row, ok := ap.nodeFeat[event.Node(id)]; ok {
			feat = append(feat, row...)
		} else {
			feat = append(feat, make([]float32, cols)...)
		}
	}
	return feat
}
