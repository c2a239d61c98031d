package table

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"unicode/utf8"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
)

// eventIDs gathers the ids of events in the order of rows, which is that of edge ids. It takes no memory until there is
// one.
type eventIDs struct {
	rows int // that were read
	all  data.IDs
	seen map[[16]byte]bool
}

// begin takes the ids of a set that events are added to.
func (x *eventIDs) begin(set *data.Set) {
	if set.IDs == nil {
		x.rows = max(0, set.Edge.Rows-1)
		return
	}
	for edge := 1; edge < set.Edge.Rows; edge++ {
		x.add([]byte(set.IDs.At(edge)))
	}
}

// add takes the next id; false: it is known.
func (x *eventIDs) add(id []byte) bool {
	if x.rows++; len(id) == 0 {
		return true
	}
	sum := sha256.Sum256(id)
	key := [16]byte(sum[:16])
	if x.seen[key] {
		return false
	}
	if x.seen == nil {
		x.seen = map[[16]byte]bool{}
	}
	x.seen[key] = true
	x.pad(x.rows - 1)
	x.all.Text = append(x.all.Text, id...)
	x.all.Ends = append(x.all.Ends, int64(len(x.all.Text)))
	return true
}

// pad gives events without an id an empty one.
func (x *eventIDs) pad(rows int) {
	for len(x.all.Ends) < rows {
		x.all.Ends = append(x.all.Ends, int64(len(x.all.Text)))
	}
}

// read takes the ids of a block. An empty cell is none.
func (x *eventIDs) read(im *importer, b *importBlock) {
	if im.reader.cols.ID == "" {
		x.rows += len(b.spot)
		return
	}
	for i, cell := range b.id {
		cell = bytes.TrimSpace(cell)
		if len(cell) > data.MaxID || !utf8.Valid(cell) {
			b.place(im.reader.path, i).Bad(im.ID, input.Quote(cell),
				fmt.Sprintf("an id of at most %d bytes of valid UTF-8", data.MaxID))
		} else if !x.add(cell) {
			b.place(im.reader.path, i).Bad(im.ID, input.Quote(cell), "an id that no other event has")
		}
	}
}

// done are the ids of so many events, nil if none has one.
func (x *eventIDs) done(events int) *data.IDs {
	if len(x.all.Text) == 0 {
		return nil
	}
	x.pad(events)
	return &x.all
}
