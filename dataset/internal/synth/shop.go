package synth

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/dygmamba/dygmamba/event"
)

// ShopName is the stream that a Shop makes.
const ShopName = "shop"

// ShopOptions shape the stream of a shop: users buy items. Zero numbers of users and items follow from that of events.
type ShopOptions struct {
	Events       int
	Users, Items int // 0: one for every 25 events, one for every 100
	Seed         uint64
}

const (
	shopRecent = 8            // items that a user comes back to
	shopTastes = 64           // groups of users and items
	shopStart  = 1704067200.0 // 2024-01-01T00:00:00Z
	shopDays   = 365

	shopRepeats = 0.45 // of the events: the user buys one of the recent items again
	shopOwn     = 0.35 // of the events: an item of the user's own group
)

// Shop makes the events of a shop one by one, in the order of time, in memory that does not depend on their number: a
// few bytes for each user. How much users buy and items are bought is heavy-tailed, with exponent 3/4. 45 % of the
// events repeat one of the user's last items, 35 % are items of the user's group, the others any. Times are whole
// seconds of one year, more of them in the evening than at night. Users are nodes 1 … Users, items the ones behind.
type Shop struct {
	ShopOptions
	rng    *rand.Rand
	hours  [24]float64 // events in a second, by hour of the day
	at     float64     // seconds since the beginning
	recent []int32     // [users, shopRecent] ranks of items
	bought []uint32    // [users] items that went to recent
	users  scatter
	items  scatter
}

// NewShop begins a stream.
func NewShop(o ShopOptions) (*Shop, error) {
	if o.Users == 0 {
		o.Users = max(1, o.Events/25)
	}
	if o.Items == 0 {
		o.Items = max(1, o.Events/100)
	}
	const most = math.MaxInt32 - 1
	if o.Events < 1 || o.Users < 1 || o.Items < 1 || o.Events > most || o.Users > most-o.Items {
		return nil, fmt.Errorf("shop of %d events, %d users and %d items: want at least one of each, and at most %d "+
			"events, and users and items", o.Events, o.Users, o.Items, most)
	}
	s := &Shop{ShopOptions: o, rng: rand.New(rand.NewPCG(o.Seed, 0x5409)), recent: make([]int32, shopRecent*o.Users),
		bought: make([]uint32, o.Users), users: newScatter(o.Users), items: newScatter(o.Items)}
	mean := float64(o.Events) / (shopDays * day)
	for h := range s.hours { // least at 5, most at 17
		s.hours[h] = mean * (1 - 0.8*math.Cos(2*math.Pi*float64(h-5)/24))
	}
	return s, nil
}

// Next is the next event.
func (s *Shop) Next() event.Event {
	s.at += s.rng.ExpFloat64() / s.hours[int(s.at/3600)%24]
	user := heavy(s.rng.Float64(), s.Users)
	item := s.item(user)
	return event.Event{Src: event.Node(1 + s.users.place(user)), Dst: event.Node(1 + s.Users + s.items.place(item)),
		Time: shopStart + math.Floor(s.at)}
}

// item draws what a user buys. Users and items are ranks, from the most active and most popular on.
func (s *Shop) item(user int) int {
	mine, n := s.recent[user*shopRecent:][:shopRecent], int(s.bought[user])
	what := s.rng.Float64()
	if what < shopRepeats && n > 0 {
		return int(mine[s.rng.IntN(min(n, shopRecent))])
	}
	item := heavy(s.rng.Float64(), s.Items)
	if group := user % shopTastes; what < shopRepeats+shopOwn && group < s.Items {
		within := (s.Items - group + shopTastes - 1) / shopTastes // items of the group
		item = heavy(s.rng.Float64(), within)*shopTastes + group
	}
	mine[n%shopRecent] = int32(item)
	s.bought[user]++
	return item
}

// heavy turns a uniform number into a rank from 0 to n−1. Rank k is about as likely as (k+1) to the power of −3/4.
func heavy(x float64, n int) int {
	root := math.Sqrt(math.Sqrt(float64(n + 1)))
	x = 1 + float64(x*(root-1))
	x *= x
	return min(int(x*x)-1, n-1)
}

// scatter puts ranks at places, so that ids tell nothing of them.
type scatter struct{ n, step uint64 }

func newScatter(n int) scatter {
	step := uint64(float64(n)*0.618) | 1
	for gcd(step, uint64(n)) != 1 {
		step += 2
	}
	return scatter{uint64(n), step}
}

func (s scatter) place(rank int) int { return int(uint64(rank) * s.step % s.n) }

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
