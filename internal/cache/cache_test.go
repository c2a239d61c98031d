package cache_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/cache"
)

// TestPublishedBits reproduces the table of bits per event on data sets that are not part of this repository.
func TestPublishedBits(t *testing.T) {
	dir := "../../../shared/data"
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the data sets are not here:", err)
	}
	for _, want := range []struct {
		data                             string
		uniform, popularity, cache       float64
		returning, first, share, columns float64
	}{
		{data: "uci", uniform: 10.79, popularity: 7.55, cache: 4.19, returning: 2.47, first: 12.02, share: 0.18},
		{data: "enron", uniform: 7.52, popularity: 6.29, cache: 4.23, returning: 3.57, first: 10.63, share: 0.09},
		{data: "mooc", uniform: 6.52, popularity: 5.95, cache: 3.25, returning: 3.05, first: 3.57, share: 0.39},
		{data: "wikipedia", uniform: 9.96, popularity: 7.18, cache: 1.85, returning: 0.77, first: 10.82, share: 0.11},
		{data: "CanParl", uniform: 7.82, popularity: 7.45, cache: 7.49, returning: 6.87, first: 8.05, share: 0.52},
	} {
		t.Run(want.data, func(t *testing.T) {
			set, err := dataset.Open(t.Context(), filepath.Join(dir, want.data), dataset.Options{})
			if err != nil {
				t.Fatal(err)
			}
			n := set.Log.Len()
			got, share := cache.Measure(set.Log.All(), n*7/10, n*85/100, nil)
			t.Logf("%+v %+v", got, share)
			for _, x := range []struct {
				what      string
				got, want float64
			}{
				{"cache", got[0].All, want.cache}, {"returning", got[0].Returning, want.returning},
				{"first", got[0].First, want.first}, {"popularity", got[1].All, want.popularity},
				{"uniform", got[2].All, want.uniform},
			} {
				if math.Abs(x.got-x.want) > 0.05 {
					t.Errorf("%s: %.3f bits, want %.2f", x.what, x.got, x.want)
				}
			}
			if s := float64(share.First) / float64(share.Events); math.Abs(s-want.share) > 0.01 {
				t.Errorf("%.3f first meetings, want %.2f", s, want.share)
			}
		})
	}
}

// TestInstant: events of one instant do not see each other.
func TestInstant(t *testing.T) {
	log := event.NewLog(0)
	for _, e := range []event.Event{{Src: 1, Dst: 2, Time: 0}, {Src: 1, Dst: 3, Time: 1}, {Src: 1, Dst: 3, Time: 1}} {
		if _, err := log.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	got, share := cache.Measure(log.All(), 1, 1, nil)
	if share.First != 2 || share.Events != 2 {
		t.Errorf("%+v, want two first meetings", share)
	}
	if u := got[2]; u.All != 1 { // one destination was seen, and there is the new one
		t.Errorf("uniform %+v, want 1 bit", u)
	}
	if _, share := cache.Measure(log.All(), 1, 1, []int32{1}); share.Events != 1 {
		t.Errorf("%+v of one event that was chosen", share)
	}
	if _, share := cache.Measure(event.NewLog(0).All(), 0, 0, nil); share.Events != 0 {
		t.Error("an empty log has events")
	}
}
