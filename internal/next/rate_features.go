package next

import (
	"math"
	"time"

	"github.com/dygmamba/dygmamba/event"
)

// Calendar says how times of a data set become hours and weekdays. The zero value has none: times are plain numbers.
type Calendar struct {
	PerSecond float64 // units of time in a second; 0: times are no dates
}

// RateWidth is the number of features of a rate.
var RateWidth = len(NewCounts(1).Rate(nil, 0, 0, Calendar{}))

// Rate appends what is known of how often a source acts at a time: when it acted last, how often on every time scale,
// whether others wrote to it, how busy everybody is, and the hour and the weekday where there are dates.
func (c *Counts) Rate(x []float32, src event.Node, at event.Time, calendar Calendar) []float32 {
	w := View{c: c, src: src, at: at, of: c.actor(src)}
	a := w.of
	sent, received, total := c.read(&a.src, at), c.read(&a.dst, at), c.read(&c.total, at)
	for s := range sent {
		// events per time scale, as a rate that does not depend on the scale
		x = append(x, rateOf(sent[s]), rateOf(received[s]), rateOf(total[s]))
	}
	since := w.age(a.srcLast)
	x = append(x, since, since*since, w.age(a.dstLast), w.age(a.firstSeen), often(int(a.srcCount)),
		often(int(a.actions)), often(int(a.dstCount)), flag(a.dstLast > a.srcLast))
	// its mean time between actions so far, and how much of that has passed
	if a.actions > 1 && a.srcLast > a.srcFirst {
		gap := (a.srcLast - a.srcFirst) / float64(a.actions-1)
		x = append(x, float32(math.Log1p(gap*c.unit))/14, ratioOf(at-a.srcLast, gap), ratioOf(at-a.srcLast, a.gap))
	} else {
		x = append(x, never, 0, 0)
	}
	return calendar.append(x, at)
}

// rateOf is a decayed count on a logarithmic scale.
func rateOf(n float32) float32 { return float32(math.Log(float64(n)+1e-4)) / 9 }

// ratioOf is a quotient on a logarithmic scale, held between −1 and 1.
func ratioOf(part, whole float64) float32 {
	if !(whole > 0) {
		return 0
	}
	return float32(max(-5, min(5, math.Log(part/whole+1e-4)))) / 5
}

// append adds the hour of the day, as two waves, and the weekday.
func (k Calendar) append(x []float32, at event.Time) []float32 {
	var days [7]float32
	if k.PerSecond == 0 {
		return append(append(x, 0, 0, 0, 0, 0, 0), days[:]...)
	}
	seconds := at / k.PerSecond
	day := math.Mod(seconds, 86400) / 86400 * 2 * math.Pi
	for wave := 1.0; wave <= 3; wave++ {
		x = append(x, float32(math.Sin(wave*day)), float32(math.Cos(wave*day)))
	}
	days[int(time.Unix(int64(seconds), 0).UTC().Weekday())] = 1
	return append(x, days[:]...)
}
