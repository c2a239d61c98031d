package feature

import (
	"math"
	"slices"
	"strconv"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
)

// Decode is a cell that the column encodes to these features, as short as possible; false if none is found. A number
// comes back in the fewest digits that give the same feature, which are mostly those that it was written with. One that
// was too far from the mean comes back as the farthest. A category that was not seen while fitting comes back as a
// missing one. Values that were hashed cannot be told.
func (c *Column) Decode(features []float32) (cell string, ok bool) {
	switch {
	case c.Kind == Category:
		cell, ok = c.decodeCategory(features)
	case c.Missing && features[len(features)-1] == 1:
		ok = true
	case c.Kind == Date:
		cell, ok = c.decodeDate(features)
	default:
		cell, ok = c.decodeNumber(features)
	}
	return cell, ok && c.encodesTo(cell, features)
}

// encodesTo says whether a cell becomes these features, to the bit.
func (c *Column) encodesTo(cell string, features []float32) bool {
	var room [16]float32
	out := room[:0]
	if len(features) > len(room) {
		out = make([]float32, 0, len(features))
	}
	out = out[:len(features)]
	return c.Encode([]byte(cell), out) && slices.EqualFunc(out, features, func(a, b float32) bool {
		return math.Float32bits(a) == math.Float32bits(b)
	})
}

func (c *Column) decodeCategory(features []float32) (string, bool) {
	at := slices.IndexFunc(features, func(x float32) bool { return x != 0 })
	switch {
	case at < 0:
		return "", true
	case c.Hashed > 0:
		return "", false
	}
	return c.Values[at], true
}

func (c *Column) decodeNumber(features []float32) (string, bool) {
	x := c.Mean + c.Deviation*float64(features[0])
	for digits := 1; digits <= 17; digits++ {
		if cell := strconv.FormatFloat(x, 'g', digits, 64); c.encodesTo(cell, features) {
			if plain := plainNumber(cell); c.encodesTo(plain, features) {
				return plain, true
			}
			return cell, true
		}
	}
	return "", false
}

// plainNumber writes a number without an exponent where it is not long.
func plainNumber(cell string) string {
	x, _ := strconv.ParseFloat(cell, 64)
	if plain := strconv.FormatFloat(x, 'f', -1, 64); len(plain) <= 20 {
		return plain
	}
	return cell
}

// decodeDate finds the day from how late it is, and the time from the part of the day that has passed: the first is
// exact to seconds or minutes, the other to milliseconds.
func (c *Column) decodeDate(features []float32) (string, bool) {
	x := c.Mean + c.Deviation*float64(features[0])
	passed := 0.0 // seconds of the day
	if c.Clock {
		passed = day * math.Atan2(float64(features[1]), float64(features[2])) / (2 * math.Pi)
		passed -= day * math.Floor(passed/day)
	}
	for _, unit := range []float64{60, 1, 1e-1, 1e-2, 1e-3} {
		time := math.Round(passed/unit) * unit
		for _, near := range []float64{0, -1, 1} {
			at := (math.Round((x-time)/day)+near)*day + time
			if cell := input.FormatTime(at, input.TimeDate); c.encodesTo(cell, features) {
				return cell, true
			}
		}
	}
	return "", false
}

// WrongFeature is the place of a feature that this column never gives, and what it gives there; −1: it may give all of
// them. Numbers that were not encoded are mostly found by it.
func (c *Column) WrongFeature(features []float32) (at int, want string) {
	for i, x := range features {
		switch {
		case c.Kind != Category && i == 0:
			if !(x >= -far && x <= far) {
				return i, "an encoded number, from -10 to 10"
			}
		case c.Kind == Date && !(x >= -1 && x <= 1):
			return i, "an encoded date, from -1 to 1"
		case c.Kind == Date:
		case x != 0 && x != 1 && !(x == -1 && c.Hashed > 0):
			return i, "an encoded category, 0 or 1"
		}
	}
	return -1, ""
}
