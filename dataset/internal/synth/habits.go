package synth

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/event"
)

// HabitsName is the data set that Habits makes.
const HabitsName = "habits"

// HabitsOptions shape a stream of weekly habits. Zero values are replaced by those of DefaultHabits.
type HabitsOptions struct {
	People, Places int
	Weeks          int
	PerPerson      int     // habits that a person has at any time
	Keep           float64 // how likely a habit is kept on a day that it is for
	Spread         float64 // seconds: standard deviation around the habit's hour, cut at three of them
	Drift          float64 // seconds: standard deviation of the weekly step that a habit's hour takes
	Change         float64 // how likely a habit is given up for another at the end of a week
	Noise          float64 // part of the events that follow no habit
	Seed           uint64
}

// DefaultHabits is about ten thousand events. Twenty weeks are fewer seconds than a 32-bit float can count.
var DefaultHabits = HabitsOptions{
	People: 60, Places: 25, Weeks: 20, PerPerson: 3, Keep: 0.9, Spread: 600, Drift: 120, Change: 0.01, Noise: 0.02,
}

const (
	day  = 24 * 3600.0
	week = 7 * day
)

// Habit is something that a person does at a place: on certain days, around an hour, in some of the weeks.
type Habit struct {
	Person, Place event.Node
	Days          [7]bool // from Monday on
	First         int     // week
	Hours         []float64
}

// Routine is what a stream of habits was made from.
type Routine struct {
	HabitsOptions
	List []Habit

	of    map[[2]event.Node][]int // habits of a person at a place
	noise float64                 // visits in a second, of any person at any place, that follow no habit
}

// Habits makes a stream in which people go to places: on workdays, at weekends or on one day of the week, each habit
// around an hour of its own, which drifts. Habits are given up for others, are not always kept, and a few visits follow
// none. Times are whole seconds, from Monday, midnight, on. How likely every visit was is known: see Routine.Rate.
func Habits(o HabitsOptions) (*data.Set, *Routine, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, nil, err
	}
	rng := rand.New(rand.NewPCG(o.Seed, 0x4ab175))
	r := &Routine{HabitsOptions: o, of: map[[2]event.Node][]int{}}
	for person := range o.People {
		for range o.PerPerson {
			for first := 0; first < o.Weeks; {
				h := r.draw(rng, event.Node(1+person), first)
				pair := [2]event.Node{h.Person, h.Place}
				r.of[pair] = append(r.of[pair], len(r.List))
				r.List = append(r.List, h)
				first += len(h.Hours)
			}
		}
	}
	r.noise = r.expected() * o.Noise / (1 - o.Noise) / float64(o.People*o.Places) / (float64(o.Weeks) * week)
	g := &synth{rng: rng}
	for _, h := range r.List {
		g.live(h, o)
	}
	visits := len(g.events)
	for range int(float64(visits) * o.Noise / (1 - o.Noise)) {
		g.events = append(g.events, event.Event{
			Src: event.Node(1 + rng.IntN(o.People)), Dst: event.Node(1 + o.People + rng.IntN(o.Places)),
			Time: math.Floor(rng.Float64() * float64(o.Weeks) * week),
		})
	}
	s, err := g.set(HabitsName)
	if err != nil {
		return nil, nil, err
	}
	s.Names, err = data.NewNames(sideNames(o.People, o.Places), o.People)
	return s, r, err
}

// draw makes up a habit that begins in a week and lasts till it is given up, or to the end.
func (r *Routine) draw(rng *rand.Rand, person event.Node, first int) Habit {
	h := Habit{Person: person, Place: event.Node(1 + r.People + rng.IntN(r.Places)), First: first}
	kind, from, to := rng.IntN(3), 7.0, 20.0
	switch kind {
	case 0:
		h.Days = [7]bool{true, true, true, true, true}
	case 1:
		h.Days, from, to = [7]bool{5: true, 6: true}, 9, 22
	default:
		h.Days[rng.IntN(7)] = true
	}
	hour := 3600 * (from + rng.Float64()*(to-from))
	for w := first; w < r.Weeks; w++ {
		h.Hours = append(h.Hours, hour)
		if rng.Float64() < r.Change {
			break
		}
		hour = min(23*3600, max(3600, hour+r.Drift*rng.NormFloat64()))
	}
	return h
}

// live adds the visits of a habit.
func (g *synth) live(h Habit, o HabitsOptions) {
	for i, hour := range h.Hours {
		for d, on := range h.Days {
			if !on || g.rng.Float64() >= o.Keep {
				continue
			}
			off := g.rng.NormFloat64()
			for math.Abs(off) > 3 {
				off = g.rng.NormFloat64()
			}
			at := float64(h.First+i)*week + float64(d)*day + hour + off*o.Spread
			g.events = append(g.events, event.Event{Src: h.Person, Dst: h.Place, Time: math.Floor(at)})
		}
	}
}

// Rate is how many visits of a person at a place were to be expected in an hour around a time, at the density that it
// had at that very time: what an oracle knows that does not know whether today's visit has been made already.
func (r *Routine) Rate(person, place event.Node, at event.Time) float64 {
	total := 0.0
	for _, i := range r.of[[2]event.Node{person, place}] {
		h := &r.List[i]
		w, d := int(at/week)-h.First, int(at/day)%7
		if at < 0 || w < 0 || w >= len(h.Hours) || !h.Days[d] {
			continue
		}
		off := (at - float64(w+h.First)*week - float64(d)*day - h.Hours[w]) / r.Spread
		if math.Abs(off) <= 3 {
			total += r.Keep * math.Exp(-off*off/2) / (within3 * math.Sqrt(2*math.Pi) * r.Spread)
		}
	}
	return 3600 * (total + r.noise)
}

// within3 is the share of a normal distribution within three standard deviations.
const within3 = 0.9973002039367398

// expected is how many visits all habits lead to.
func (r *Routine) expected() float64 {
	visits := 0.0
	for _, h := range r.List {
		for _, on := range h.Days {
			if on {
				visits += r.Keep * float64(len(h.Hours))
			}
		}
	}
	return visits
}

func (o HabitsOptions) check() error {
	if o.People < 1 || o.Places < 1 || o.Weeks < 1 || o.PerPerson < 1 || !(o.Keep > 0 && o.Keep <= 1) ||
		!(o.Spread > 0 && o.Spread <= 3600/3) || !(o.Drift >= 0) || !(o.Change >= 0 && o.Change <= 1) ||
		!(o.Noise >= 0 && o.Noise < 1) {
		return fmt.Errorf("habits of %+v: want at least one person, place, week and habit, shares from 0 to 1, "+
			"a spread of at most 1200 seconds and a drift from 0 on", o)
	}
	return nil
}

func (o HabitsOptions) withDefaults() HabitsOptions {
	d := DefaultHabits
	o.People, o.Places = cmp.Or(o.People, d.People), cmp.Or(o.Places, d.Places)
	o.Weeks, o.PerPerson = cmp.Or(o.Weeks, d.Weeks), cmp.Or(o.PerPerson, d.PerPerson)
	o.Keep, o.Spread = cmp.Or(o.Keep, d.Keep), cmp.Or(o.Spread, d.Spread)
	o.Drift, o.Change = cmp.Or(o.Drift, d.Drift), cmp.Or(o.Change, d.Change)
	o.Noise = cmp.Or(o.Noise, d.Noise)
	return o
}
