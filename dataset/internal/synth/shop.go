package synth

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/memory"
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
	bought []uint8     // [users] items that went to recent; from shopRecent on, how many more modulo shopRecent
	users  scatter
	items  scatter
	drawn  [shopBlock]purchase
	ready  []purchase // of those that were drawn
}

// purchase is what is drawn of an event. Nothing that is drawn depends on the recent items themselves.
type purchase struct {
	at     float64
	user   int
	recent int   // place in Shop.recent
	item   int32 // rank of an item that goes there; −1: the one that is there
}

// shopBlock is how many events are drawn before their recent items are looked at, so that the waits for memory overlap.
const shopBlock = 256

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
	s := &Shop{ShopOptions: o, rng: rand.New(rand.NewPCG(o.Seed, 0x5409)),
		recent: memory.Huge(make([]int32, shopRecent*o.Users)), bought: memory.Huge(make([]uint8, o.Users)),
		users: newScatter(o.Users), items: newScatter(o.Items)}
	mean := float64(o.Events) / (shopDays * day)
	for h := range s.hours { // least at 5, most at 17
		s.hours[h] = mean * (1 - 0.8*math.Cos(2*math.Pi*float64(h-5)/24))
	}
	return s, nil
}

// Next is the next event.
func (s *Shop) Next() event.Event {
	if len(s.ready) == 0 {
		for i := range s.drawn {
			s.drawn[i] = s.draw()
		}
		for i := range s.drawn {
			if p := &s.drawn[i]; p.item < 0 {
				p.item = s.recent[p.recent]
			} else {
				s.recent[p.recent] = p.item
			}
		}
		s.ready = s.drawn[:]
	}
	p := s.ready[0]
	s.ready = s.ready[1:]
	return event.Event{Src: event.Node(1 + s.users.place(p.user)),
		Dst: event.Node(1 + s.Users + s.items.place(int(p.item))), Time: shopStart + math.Floor(p.at)}
}

// draw draws an event. Users and items are ranks, from the most active and most popular on.
func (s *Shop) draw() purchase {
	s.at += s.rng.ExpFloat64() / s.hours[int(s.at/3600)%24]
	user := heavy(s.rng.Float64(), s.Users)
	p := purchase{at: s.at, user: user, item: -1}
	n := s.bought[user]
	what := s.rng.Float64()
	if what < shopRepeats && n > 0 {
		p.recent = user*shopRecent + s.rng.IntN(int(min(n, shopRecent)))
		return p
	}
	item := heavy(s.rng.Float64(), s.Items)
	if group := user % shopTastes; what < shopRepeats+shopOwn && group < s.Items {
		within := (s.Items - group + shopTastes - 1) / shopTastes // items of the group
		item = heavy(s.rng.Float64(), within)*shopTastes + group
	}
	p.recent, p.item = user*shopRecent+int(n%shopRecent), int32(item)
	if n++; n == 2*shopRecent {
		n = shopRecent
	}
	s.bought[user] = n
	return p
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
