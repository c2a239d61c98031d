package model

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// Long and Deep are the most that settings may ask for of positions and of layers. What fits into memory is another
// question, but to find out that thousands of layers do not, they would have to be put together first, which takes
// minutes.
const (
	Long = 1 << 20
	Deep = 100
)

// checkBounds says which number among the settings is not in the interval that its tag "in" names, such as [1,65536] or
// (0,inf).
func checkBounds(c any) error {
	for f, value := range fields(c) {
		interval := f.Tag.Get("in")
		if interval == "" {
			continue
		}
		x := value.Convert(reflect.TypeFor[float64]()).Float()
		low, high, _ := strings.Cut(strings.Trim(interval, "[]()"), ",")
		least, errLow := strconv.ParseFloat(low, 64)
		most, errHigh := strconv.ParseFloat(high, 64)
		if errLow != nil || errHigh != nil {
			panic(fmt.Sprintf("model: setting %s has bounds %q, which are no interval", keyOf(f), interval))
		}
		must, inside := "at least "+low, x >= least
		if interval[0] == '(' {
			must, inside = "above "+low, x > least
		}
		switch {
		case strings.HasSuffix(interval, "]"):
			must, inside = must+" and at most "+high, inside && x <= most
		case !math.IsInf(most, 1):
			must, inside = must+" and below "+high, inside && x < most
		}
		if !inside || math.IsInf(x, 0) {
			return fmt.Errorf("%s is %v, must be %s", keyOf(f), value, must)
		}
	}
	return nil
}

// CheckTimeDim says what is wrong with the width of a time encoding.
func CheckTimeDim(width int) error {
	if width < 2 {
		return fmt.Errorf("time_feat_dim is %d, must be at least 2: frequencies run from 1 to 1e-9", width)
	}
	return nil
}
