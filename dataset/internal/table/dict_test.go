package table

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/dygmamba/dygmamba/event"
)

// Names have the numbers of their first appearance, and whoever looks them up meanwhile finds those numbers or none.
func TestDictReadWhileItGrows(t *testing.T) {
	for _, c := range []struct {
		what string
		name func(i int) string
	}{
		{"numbers", func(i int) string { return fmt.Sprint(7*i - 1000) }},
		{"words", func(i int) string { return fmt.Sprintf("user-%d", i) }},
		{"numbers, then words", func(i int) string {
			if i < 700 || i%3 == 0 {
				return fmt.Sprint(i)
			}
			return fmt.Sprintf("%d.0", i)
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			const names = 5000
			keys := make([]key, 4*names)
			r := rand.New(rand.NewPCG(1, 2))
			for i := range keys {
				keys[i] = newKey([]byte(c.name(r.IntN(1 + i*names/len(keys)))))
			}
			want := map[string]event.Node{}
			for _, k := range keys {
				if want[k.String()] == 0 {
					want[k.String()] = event.Node(len(want) + 1)
				}
			}
			d := newDict()
			check := func(some []key, complete bool) {
				ids := make([]event.Node, len(some))
				d.shown.Load().findAll(some, ids)
				for i, k := range some {
					if ids[i] != want[k.String()] && (ids[i] != 0 || complete) {
						t.Errorf("%v is %d, want %d", k, ids[i], want[k.String()])
					}
				}
			}
			var wg sync.WaitGroup
			for reader := range 3 {
				wg.Go(func() {
					r := rand.New(rand.NewPCG(3, uint64(reader)))
					for range 30 {
						from := r.IntN(len(keys))
						check(keys[from:min(len(keys), from+1+r.IntN(1000))], false)
					}
				})
			}
			for i, k := range keys {
				if got := d.id(k); got != want[k.String()] {
					t.Fatalf("%v is number %d, want %d", k, got, want[k.String()])
				}
				if i%100 == 0 {
					d.publish()
					check(keys[max(0, i-70):i+1], true)
				}
			}
			wg.Wait()
			d.publish()
			check(keys, true)
			for _, stranger := range []string{"nobody", "-7000000"} {
				ids := []event.Node{1}
				if k := newKey([]byte(stranger)); d.find(k) != 0 {
					t.Errorf("%q is found", stranger)
				} else if d.shown.Load().findAll([]key{k}, ids); ids[0] != 0 {
					t.Errorf("%q is found as %d", stranger, ids[0])
				}
			}
		})
	}
}
