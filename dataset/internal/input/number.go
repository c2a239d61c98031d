package input

import (
	"math"
	"strconv"
	"unsafe"
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
