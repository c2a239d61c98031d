package run

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	draws "github.com/dygmamba/dygmamba/internal/rng"
	"github.com/dygmamba/dygmamba/model"
)

// Axis is a setting of which several values are tried.
type Axis struct {
	Key    string   `json:"key"`
	Values []string `json:"values,omitempty"` // each of them, or else
	Low    string   `json:"low,omitempty"`    // numbers from here
	High   string   `json:"high,omitempty"`   // to there, drawn at random
}

// ParseAxis reads key=value,value,… or, for numbers that are drawn at random, key=low..high.
func ParseAxis(text string) (Axis, error) {
	key, list, found := strings.Cut(text, "=")
	a := Axis{Key: strings.TrimSpace(key)}
	if !found || a.Key == "" || strings.TrimSpace(list) == "" {
		return a, fmt.Errorf("%w %q: want key=value,value,… or key=low..high", model.ErrSetting, text)
	}
	if low, high, between := strings.Cut(list, ".."); between {
		a.Low, a.High = strings.TrimSpace(low), strings.TrimSpace(high)
		from, err1 := strconv.ParseFloat(a.Low, 64)
		to, err2 := strconv.ParseFloat(a.High, 64)
		if err1 != nil || err2 != nil || !(from < to) || math.IsInf(to-from, 0) {
			return a, fmt.Errorf("%w %q: want a range of numbers such as 0.0001..0.01", model.ErrSetting, text)
		}
		return a, nil
	}
	for value := range strings.SplitSeq(list, ",") {
		value = strings.TrimSpace(value)
		if value == "" || slices.Contains(a.Values, value) {
			return a, fmt.Errorf("%w %q: found the value %q, want several that differ", model.ErrSetting, text, value)
		}
		a.Values = append(a.Values, value)
	}
	return a, nil
}

// String is what ParseAxis reads.
func (a Axis) String() string {
	if a.Values == nil {
		return a.Key + "=" + a.Low + ".." + a.High
	}
	return a.Key + "=" + strings.Join(a.Values, ",")
}

// mostTrials is more than anyone waits for.
const mostTrials = 10_000

// Combinations are the settings of all trials: every combination of the axes' values, the last axis changing fastest,
// or this many of them drawn at random, each once.
func Combinations(axes []Axis, trials int, seed uint64, whole func(key string) (bool, error)) ([][]string, error) {
	size, ranges := 1, false
	for _, a := range axes {
		if a.Values == nil {
			ranges = true
		} else if size *= len(a.Values); size > mostTrials {
			size = mostTrials + 1 // and no overflow
		}
	}
	switch {
	case ranges && trials == 0:
		return nil, fmt.Errorf("%w: a range has no end of values: say with trials how many to draw", model.ErrSetting)
	case trials > mostTrials || trials == 0 && size > mostTrials:
		return nil, fmt.Errorf("%w: more than %d trials", model.ErrSetting, mostTrials)
	case !ranges && (trials == 0 || trials >= size):
		return grid(axes), nil
	}
	draw := draws.New(seed, "sweep")
	var list [][]string
	seen := map[string]bool{}
	for tries := 0; len(list) < trials && tries < 100*trials; tries++ {
		var settings []string
		for _, a := range axes {
			value, err := a.draw(draw, whole)
			if err != nil {
				return nil, err
			}
			settings = append(settings, a.Key+"="+value)
		}
		if text := strings.Join(settings, " "); !seen[text] {
			seen[text] = true
			list = append(list, settings)
		}
	}
	return list, nil
}

func grid(axes []Axis) [][]string {
	list := [][]string{nil}
	for _, a := range axes {
		var longer [][]string
		for _, settings := range list {
			for _, value := range a.Values {
				longer = append(longer, append(slices.Clone(settings), a.Key+"="+value))
			}
		}
		list = longer
	}
	return list
}

// draw picks a value. Numbers of a range are drawn evenly, or evenly in their logarithm where the high end is at
// least ten times the low one, and have three digits.
func (a Axis) draw(from *draws.Source, whole func(key string) (bool, error)) (string, error) {
	if a.Values != nil {
		return a.Values[from.Below(len(a.Values))], nil
	}
	low, _ := strconv.ParseFloat(a.Low, 64) // were read by ParseAxis
	high, _ := strconv.ParseFloat(a.High, 64)
	share := from.Float64()
	v := low + share*(high-low)
	if low > 0 && high >= 10*low {
		v = low * math.Pow(high/low, share)
	}
	round, err := whole(a.Key)
	switch {
	case err != nil:
		return "", err
	case round:
		return strconv.Itoa(int(math.Round(v))), nil
	}
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'e', 2, 64), 64)
	return strconv.FormatFloat(min(high, max(low, v)), 'g', -1, 64), nil
}
