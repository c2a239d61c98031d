package native

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/atomicfile"
	"github.com/dygmamba/dygmamba/internal/memory"
	"github.com/dygmamba/dygmamba/internal/parallel"
)

// counted is what a file says of its events that would have to be counted otherwise.
type counted struct {
	LastNode int    `json:"last_node"` // the largest id that occurs; 0: there are no events
	Hash     string `json:"sha256"`    // of events and features: see data.Set.Hash
}

// shardSize is how many entries one processor sorts at a time. All of them together take half of the room that the
// events take, and not less than 32 MiB or more than 512.
func shardSize(events int) int {
	const least, most = 32 << 20, 512 << 20
	return min(most, max(least, entryBytes*events/2)) / entryBytes / runtime.GOMAXPROCS(0)
}

// entryBytes is the size of an entry of a history: a time, a node and an edge id.
const entryBytes = 16

// derive writes the histories of all nodes, and what can be counted, of the sections that are written. It reads them
// from the file, so that nothing has to be in memory as a whole. All processors sort, each a run of nodes at a time.
func (w *Writer) derive(ctx context.Context, c Counts) error {
	file, ok := w.file.(*atomicfile.File)
	if !ok {
		return nil // nothing is kept
	}
	if err := file.Truncate(w.end); err != nil {
		return err
	}
	raw, release, err := mapFile(file.File, w.end)
	if err != nil {
		return fmt.Errorf("read back what is written: %w", err)
	}
	defer release()
	defer forgetting(raw)()
	set, err := w.written(raw, c)
	if err != nil {
		return err
	}
	hash := make(chan string, 1)
	go func() { hash <- set.Hash() }()
	if littleEndian {
		err = w.histories(ctx, set.Log)
	}
	known := counted{LastNode: max(0, set.Log.NumNodes()-1), Hash: <-hash} // it reads what is released
	if err != nil {
		return err
	}
	return w.json(facts, known)
}

// forgetting keeps few pages of a mapped file resident while all of it is read again and again, until done is called.
func forgetting(mapped []byte) (done func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		often := time.NewTicker(20 * time.Millisecond)
		defer often.Stop()
		for {
			select {
			case <-often.C:
				forget(mapped)
			case <-end:
				return
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

// histories writes those of all nodes.
func (w *Writer) histories(ctx context.Context, log *event.Log) error {
	first := index.Starts(log)
	put(w, starts, first)
	entries := int64(first[len(first)-1])
	out := w.Section(histories, int(entries), 1, entryBytes*entries)
	size := shardSize(log.Len())
	shards := index.Shards(first, size)
	errs := make([]error, len(shards))
	spare := make(chan []event.Time, runtime.GOMAXPROCS(0))
	parallel.Each(len(shards), func(i int) {
		if errs[i] = ctx.Err(); errs[i] != nil {
			return
		}
		var words []event.Time
		select {
		case words = <-spare:
		default:
		}
		s := shards[i]
		n := 2 * int(first[s.Hi]-first[s.Lo])
		if cap(words) < n {
			words = memory.Huge(make([]event.Time, max(n, 2*size)))
		}
		words = words[:n]
		index.Fill(log, first, s, words)
		_, errs[i] = out.WriteAt(rawWords(words), entryBytes*int64(first[s.Lo]))
		spare <- words
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return out.ReadBack()
}

// written is the set of the sections that are written: its events and features.
func (w *Writer) written(raw []byte, c Counts) (*data.Set, error) {
	d := &decoder{data: raw, header: header{events: int64(c.Events), nodes: int64(c.Nodes)},
		sections: map[uint32]section{}}
	for _, s := range w.sections {
		d.sections[s.kind] = s.section
	}
	columns := d.columns()
	set := &data.Set{Edge: d.features(EdgeFeatures), Node: d.features(NodeFeatures)}
	d.values(set)
	d.timeline(set)
	d.nodeLabels(set)
	if d.err != nil {
		return nil, fmt.Errorf("what is written cannot be read back: %w", d.err)
	}
	set.Log = event.FromFile(columns, lastNode(columns)+1, func() error { return nil })
	return set, nil
}

// lastNode is the largest id that occurs, −1 for none.
func lastNode(c event.Columns) int {
	most := make([]event.Node, parallel.Chunks(len(c.Src), rowChunk)+1)
	most[len(most)-1] = -1
	parallel.Ranges(len(c.Src), rowChunk, func(part, lo, hi int) {
		most[part] = max(slices.Max(c.Src[lo:hi]), slices.Max(c.Dst[lo:hi]))
	})
	return int(slices.Max(most))
}

// rowChunk is how many events are looked at by one goroutine at a time.
const rowChunk = 1 << 18
