package input

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/dygmamba/dygmamba/event"
)

// tens are the powers of ten that a float64 holds exactly.
var tens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
	1e18, 1e19, 1e20, 1e21, 1e22}

// ParseFloat reads a decimal number, correctly rounded. It accepts nan and inf, as callers have more to say about those
// than "not a number".
//
// A mantissa below 2^53 and a power of ten up to 22 are both exact, so one multiplication or division rounds once and
// is right (Clinger, 1990). Everything else goes to strconv.
func ParseFloat(b []byte) (float64, bool) {
	i, neg := 0, false
	if len(b) > 0 && b[0] == '-' {
		neg, i = true, 1
	}
	var mant uint64
	digits, point := 0, -1
	for ; i < len(b); i++ {
		c := b[i]
		if d := c - '0'; d <= 9 {
			mant = mant*10 + uint64(d)
			digits++
			continue
		}
		if c != '.' || point >= 0 {
			return slowFloat(b)
		}
		point = digits
	}
	if digits == 0 || digits > 18 || mant > 1<<53 {
		return slowFloat(b)
	}
	f := float64(mant)
	if point >= 0 {
		f /= tens[digits-point]
	}
	if neg {
		f = -f
	}
	return f, true
}

// slowFloat takes exponents, many digits, a plus sign, nan and inf, but not the hexadecimal and underscored forms
// strconv would.
func slowFloat(b []byte) (float64, bool) {
	for _, c := range b {
		if c == '_' || c == 'x' || c == 'X' {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(b), len(b)), 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

// ParseInt reads a whole number in its plain form: no plus sign, no leading zeros, no "-0". Whatever it accepts,
// strconv.FormatInt writes back as it was, so that ids kept as numbers look as they did.
func ParseInt(b []byte) (int64, bool) {
	neg := len(b) > 0 && b[0] == '-'
	d := b
	if neg {
		d = b[1:]
	}
	if len(d) == 0 || len(d) > 19 || d[0] == '0' && (len(d) > 1 || neg) {
		return 0, false
	}
	var v uint64
	for _, c := range d {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + uint64(c-'0')
	}
	switch {
	case neg && v <= 1<<63:
		return -int64(v), true
	case !neg && v <= math.MaxInt64:
		return int64(v), true
	}
	return 0, false
}

// Finite holds for everything but NaN and the infinities.
func Finite(x float64) bool { return x-x == 0 }

// How times are written in a source.
const (
	TimeNumber = "number" // in whatever unit the data has
	TimeDate   = "date"   // as dates, kept as seconds since 1970-01-01T00:00:00Z
)

// DateForms says which dates are read.
const DateForms = "RFC 3339 (2024-05-01T12:00:00Z, 2024-05-01T12:00:00.25+02:00), a space for the T, " +
	"no zone (taken as UTC), no seconds, or the date alone"

// Layout is how package time writes a layout of dates that may be in the form of strftime: "%d.%m.%Y %H:%M" is
// "02.01.2006 15:04". What it does not know of that form stays, and then fits no date.
func Layout(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	return strings.NewReplacer("%Y", "2006", "%y", "06", "%m", "01", "%-m", "1", "%d", "02", "%-d", "2", "%e", "_2",
		"%H", "15", "%I", "03", "%M", "04", "%S", "05", "%f", "000000", "%p", "PM", "%b", "Jan", "%B", "January",
		"%a", "Mon", "%A", "Monday", "%z", "-0700", "%Z", "MST", "%T", "15:04:05", "%F", "2006-01-02", "%j", "002",
		"%%", "%").Replace(text)
}

// ParseTime reads a time as Import does: a number, or a date in one of DateForms. format says which it was.
func ParseTime(s string) (at event.Time, format string, err error) {
	at, format, ok := ScanTime([]byte(s))
	if !ok {
		return 0, "", fmt.Errorf("found %s; want a finite number or a date: %s", Quote(s), DateForms)
	}
	if math.Abs(at) > event.MaxTime {
		return 0, "", fmt.Errorf("found %s; want %s", Quote(s), WantWithin)
	}
	return at, format, nil
}

// FormatTime writes a time as ParseTime reads it, so that nothing is lost.
func FormatTime(at event.Time, format string) string {
	if format != TimeDate {
		return strconv.FormatFloat(at, 'f', -1, 64)
	}
	sec := int64(at)
	if float64(sec) > at {
		sec--
	}
	t := time.Unix(sec, 0).UTC()
	out := t.Format("2006-01-02T15:04:05")
	if frac := at - float64(sec); frac > 0 {
		out += decimals(frac, float64(sec))
	}
	return out + "Z"
}

// decimals are the fewest, with the point, that added to whole give the same sum as frac: in 2024 seconds have six or
// seven.
func decimals(frac, whole float64) string {
	for n := 1; n < 20; n++ {
		s := strconv.FormatFloat(frac, 'f', n, 64)
		if v, err := strconv.ParseFloat(s, 64); err == nil && whole+v == whole+frac {
			return s[1:]
		}
	}
	return strconv.FormatFloat(frac, 'f', -1, 64)[1:]
}

// ScanTime is ParseTime for those who have more to say about what is no time, or far away.
func ScanTime(b []byte) (event.Time, string, bool) {
	if len(b) > 4 && b[4] == '-' { // as in no number but one such as 123e-5, which is no date
		if v, ok := parseDate(b); ok {
			return v, TimeDate, true
		}
	}
	if v, ok := ParseFloat(b); ok {
		return v, TimeNumber, Finite(v)
	}
	return 0, TimeDate, false
}

// parseDate reads 2006-01-02[(T|t| )15:04[:05[.frac]][ ][Z|z|±07[[:]00]]].
func parseDate(b []byte) (event.Time, bool) {
	year, b, ok := number(b, 4, 0, 9999, '-')
	month, b, ok2 := number(b, 2, 1, 12, '-')
	if !ok || !ok2 {
		return 0, false
	}
	day, b, ok := number(b, 2, 1, 31, 0)
	if !ok || day > 28 && day > daysIn(year, month) {
		return 0, false
	}
	midnight := float64(86400 * daysSince1970(year, month, day))
	if len(b) == 0 {
		return midnight, true
	}
	if b[0] != 'T' && b[0] != 't' && b[0] != ' ' {
		return 0, false
	}
	hour, b, ok := number(b[1:], 2, 0, 23, ':')
	minute, b, ok2 := number(b, 2, 0, 59, 0)
	if !ok || !ok2 {
		return 0, false
	}
	var second int
	var frac float64
	if len(b) > 0 && b[0] == ':' {
		if second, b, ok = number(b[1:], 2, 0, 60, 0); !ok {
			return 0, false
		}
		if frac, b, ok = fraction(b); !ok {
			return 0, false
		}
	}
	zone, ok := offset(b)
	at := midnight + float64(hour*3600+minute*60+second-zone) + frac
	return at, ok && at >= firstYear && at < lastYear
}

// daysIn is the number of days of a month.
func daysIn(year, month int) int {
	switch {
	case month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0):
		return 29
	case month == 2:
		return 28
	case month == 4 || month == 6 || month == 9 || month == 11:
		return 30
	}
	return 31
}

// daysSince1970 is the number of a date of the Gregorian calendar. Package time would take longer than the rest of the
// row.
func daysSince1970(year, month, day int) int {
	if month <= 2 { // years begin in March, so that a leap day is the last of its year
		year, month = year-1, month+12
	}
	year += 400 // no year is negative
	const marchOfYear0 = 719468 + 146097
	return 365*year + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 1 - marchOfYear0
}

// The dates that can be written with a year of four digits, as UTC, from the first and before the last.
const firstYear, lastYear = -62167219200, 253402300800

// number takes exactly n digits within bounds, and the separator behind them unless that is 0.
func number(b []byte, n, least, most int, sep byte) (int, []byte, bool) {
	if len(b) < n || sep != 0 && (len(b) == n || b[n] != sep) {
		return 0, nil, false
	}
	v := 0
	for _, c := range b[:n] {
		if c < '0' || c > '9' {
			return 0, nil, false
		}
		v = 10*v + int(c-'0')
	}
	if sep != 0 {
		n++
	}
	return v, b[n:], v >= least && v <= most
}

// fraction takes .123, if there is one.
func fraction(b []byte) (float64, []byte, bool) {
	if len(b) == 0 || b[0] != '.' && b[0] != ',' {
		return 0, b, true
	}
	n := 1
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	if n == 1 {
		return 0, nil, false
	}
	v, ok := ParseFloat(append([]byte("0."), b[1:n]...))
	return v, b[n:], ok
}

// offset reads a zone to the end, as seconds east of Greenwich.
func offset(b []byte) (int, bool) {
	if len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	if len(b) == 0 || len(b) == 1 && (b[0] == 'Z' || b[0] == 'z') || string(b) == "UTC" {
		return 0, true
	}
	sign := 1
	switch b[0] {
	case '-':
		sign = -1
	case '+':
	default:
		return 0, false
	}
	hours, b, ok := number(b[1:], 2, 0, 23, 0)
	if !ok || len(b) == 0 {
		return sign * hours * 3600, ok
	}
	if b[0] == ':' {
		b = b[1:]
	}
	minutes, b, ok := number(b, 2, 0, 59, 0)
	return sign * (hours*3600 + minutes*60), ok && len(b) == 0
}
