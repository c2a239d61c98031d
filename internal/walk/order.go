package walk

import (
	"cmp"
	"slices"
	"sort"

	"github.com/dygmamba/dygmamba/event"
)

// order says where in a log the events stand in the order of time. Nothing is written down where the k-th event in
// order is the k-th of the log: only what stands between a late event and the place where it came is elsewhere.
type order struct {
	places paged[int32]
	n      int // events that are in order
}

func newOrder() order { return order{places: newPaged[int32](1, 4)} }

// fork is the same order for another goroutine.
func (o *order) fork() order {
	o.places.share()
	return order{o.places.clone(), o.n}
}

// at is the position in the log of the k-th event in order.
func (o *order) at(k int) int {
	if page := o.places.page(int32(k)); page != nil {
		return int(page[k&(len(page)-1)])
	}
	return k
}

// take puts the next events of a log in order, up to the n-th: after those that are not later.
func (o *order) take(times []event.Time, n int) {
	for ; o.n < n && (o.n == 0 || times[o.n] >= times[o.at(o.n-1)]); o.n++ {
		o.note(o.n, o.n)
	}
	rest := make([]int32, n-o.n)
	for k := range rest {
		rest[k] = int32(o.n + k)
	}
	slices.SortStableFunc(rest, func(i, j int32) int { return cmp.Compare(times[i], times[j]) })
	end := o.n
	for k := len(rest) - 1; k >= 0; k-- { // from the latest on, so that each event is moved once
		at := sort.Search(end, func(j int) bool { return times[o.at(j)] > times[rest[k]] })
		o.shift(at, end, k+1)
		o.note(at+k, int(rest[k]))
		end = at
	}
	o.n = n
}

// note writes down where an event is.
func (o *order) note(k, place int) {
	if k == place && !o.places.has(int32(k)) {
		return
	}
	page := o.page(k)
	page[k&(len(page)-1)] = int32(place)
}

// page is the page of the k-th event, to be written.
func (o *order) page(k int) []int32 {
	fresh := !o.places.has(int32(k))
	id, _ := o.places.ownPage(int32(k))
	o.places.settle()
	page := o.places.data(id)
	if first := k &^ (len(page) - 1); fresh {
		for i := range page {
			page[i] = int32(first + i)
		}
	}
	return page
}

// shift moves what is written down of events lo to hi−1 up by n, page by page.
func (o *order) shift(lo, hi, n int) {
	for hi > lo {
		to := o.page(hi + n - 1)
		mask := len(to) - 1
		size := min(hi-lo, (hi-1)&mask+1, (hi+n-1)&mask+1) // that lie in one page, and go to one
		into := to[(hi+n-1)&mask+1-size:][:size]
		if from := o.places.page(int32(hi - 1)); from != nil {
			copy(into, from[(hi-1)&mask+1-size:])
		} else {
			for i := range into {
				into[i] = int32(hi - size + i)
			}
		}
		hi -= size
	}
}
