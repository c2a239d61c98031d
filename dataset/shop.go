package dataset

import (
	"context"
	"strconv"

	"github.com/dygmamba/dygmamba/dataset/internal/native"
	"github.com/dygmamba/dygmamba/dataset/internal/synth"
	"github.com/dygmamba/dygmamba/protocol"
)

// ShopOptions shape the stream that SaveShop writes.
type ShopOptions = synth.ShopOptions

// ShopName is the name of the data set that SaveShop writes.
const ShopName = synth.ShopName

// SaveShop writes the events of a made-up shop as a native file, in little memory however many there are: a few bytes
// for each user. Numbers of events of users and items are heavy-tailed, and 45 % of the events repeat one of the user's
// last items. Times are dates with a rhythm of the day. Progress, if any, is told how many events are written. The file
// appears whole or not at all.
func SaveShop(ctx context.Context, path string, o ShopOptions, progress func(events int)) error {
	shop, err := synth.NewShop(o)
	if err != nil {
		return err
	}
	w, err := native.Create(path)
	if err != nil {
		return err
	}
	if err := writeShop(ctx, w, shop, progress); err != nil {
		w.Discard()
		return err
	}
	return nil
}

func writeShop(ctx context.Context, w *native.Writer, shop *synth.Shop, progress func(events int)) error {
	begin := func(kind uint32, size int) *native.Section {
		return w.Section(kind, shop.Events, 1, int64(size)*int64(shop.Events))
	}
	src, dst, time := begin(native.Source, 4), begin(native.Destination, 4), begin(native.Time, 8)
	const some = 1 << 16 // events between two looks at the context
	for i := range shop.Events {
		if i%some == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if progress != nil {
				progress(i)
			}
		}
		e := shop.Next()
		native.Append(src, e.Src)
		native.Append(dst, e.Dst)
		native.Append(time, e.Time)
	}
	if progress != nil {
		progress(shop.Events)
	}
	nodes := shop.Users + shop.Items
	w.Section(native.EdgeFeatures, shop.Events+1, 0, 0)
	w.Section(native.NodeFeatures, nodes+1, 0, 0)
	shopNames(w, shop)
	if err := w.About(native.About{Name: ShopName, TimeFormat: TimeDate, Sampling: protocol.Native}); err != nil {
		return err
	}
	return w.Commit(ctx, native.Counts{Events: shop.Events, Nodes: nodes, Sources: shop.Users, Bipartite: true})
}

// shopNames writes the names u1, u2, … of users and i1, i2, … of items.
func shopNames(w *native.Writer, shop *synth.Shop) {
	nodes := shop.Users + shop.Items
	var name []byte
	each := func(do func(name []byte)) {
		for i := range nodes {
			side, number := byte('u'), i+1
			if i >= shop.Users {
				side, number = 'i', i+1-shop.Users
			}
			name = strconv.AppendInt(append(name[:0], side), int64(number), 10)
			do(name)
		}
	}
	text := w.Section(native.NameText, 0, 1, -1)
	each(func(name []byte) { text.Write(name) })
	size := text.Size()
	text.Shape(int(size), 1)
	ends, end := w.Section(native.NameEnds, nodes, 1, 8*int64(nodes)), int64(0)
	each(func(name []byte) {
		end += int64(len(name))
		native.Append(ends, end)
	})
}
