package term

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Counted is a number of things, with the plural of regular words: 1 event, 2,000 events.
func Counted[T ~int | ~int32 | ~int64](n T, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return Count(n) + " " + thing
}

// Count groups the digits of n: 1293103 is "1,293,103".
func Count[T ~int | ~int32 | ~int64](n T) string {
	digits := strconv.FormatInt(int64(n), 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}

// Bytes is a size in binary units: 3145728 is "3.0 MiB".
func Bytes(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n), ""
	for _, unit = range []string{"KiB", "MiB", "GiB", "TiB"} {
		if v /= 1024; v < 1024 {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", v, unit)
}

// Short is a number in three or four characters and a letter: 1234567 is "1.23M".
func Short(v float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if math.Abs(v) >= u.size {
			return strconv.FormatFloat(v/u.size, 'g', 3, 64) + u.name
		}
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// Duration is a span of time as people say it: "1.4 s", "3 min 20 s", "2 h 05 min", "3 d 02 h".
func Duration(d time.Duration) string {
	switch {
	case d == 0:
		return "0 s"
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	if d < 48*time.Hour {
		return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %02d h", int(d.Hours())/24, int(d.Hours())%24)
}

// Range is a span of time that is known only roughly: "40–90 s", "9–85 min", "25 min – 7 h", "about 3 h".
func Range(least, most time.Duration) string {
	least = max(0, least)
	unit, name := roughly(most)
	from, to := rounded(least, unit), rounded(most, unit)
	switch {
	case from == to:
		return "about " + to + " " + name
	case least > 0 && least < unit && unit > time.Second:
		small, its := roughly(least)
		return rounded(least, small) + " " + its + " – " + to + " " + name
	}
	return from + "–" + to + " " + name
}

// roughly is the unit in which people speak of a span of time.
func roughly(d time.Duration) (time.Duration, string) {
	switch {
	case d >= 72*time.Hour:
		return 24 * time.Hour, "d"
	case d >= 3*time.Hour:
		return time.Hour, "h"
	case d >= 2*time.Minute:
		return time.Minute, "min"
	}
	return time.Second, "s"
}

// rounded is this many units, to halves where there are few.
func rounded(d, unit time.Duration) string {
	v := float64(d) / float64(unit)
	if v < 9.5 && unit > time.Second {
		return strconv.FormatFloat(math.Round(2*v)/2, 'f', -1, 64)
	}
	return strconv.FormatFloat(math.Round(v), 'f', -1, 64)
}

// Percent is a fraction as this field prints it: 0.76203 is "76.20". A value that is not a number is a dash.
func Percent(fraction float64) string {
	if math.IsNaN(fraction) {
		return "–"
	}
	return strconv.FormatFloat(100*fraction, 'f', 2, 64)
}

// Spark draws values as a row of bars, the largest one full.
func Spark(values []float64) string {
	top := 0.0
	for _, v := range values {
		top = max(top, v)
	}
	return sparkUpTo(values, top)
}

// SparkShares draws fractions of 1, of at most this many columns: where there are more, each column is the largest of
// those that fall into it.
func SparkShares(values []float64, columns int) string {
	if n := len(values); n > columns {
		few := make([]float64, columns)
		for i, v := range values {
			at := &few[i*columns/n]
			*at = max(*at, v)
		}
		values = few
	}
	return sparkUpTo(values, 1)
}

// sparkUpTo draws values of which top is a full bar.
func sparkUpTo(values []float64, top float64) string {
	const bars = "▁▂▃▄▅▆▇█"
	var b strings.Builder
	for _, v := range values {
		if v <= 0 || top == 0 {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune([]rune(bars)[min(7, int(8*v/top))])
	}
	return b.String()
}

// Number is a number whose unit only the data know: a large one has at most two digits behind the point, a small one
// six digits in all.
func Number(x float64) string {
	if size := math.Abs(x); size >= 1000 && size < 1e15 {
		return strconv.FormatFloat(math.Round(100*x)/100, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}
