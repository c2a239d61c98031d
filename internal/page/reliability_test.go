package page

import (
	"testing"

	"github.com/dygmamba/dygmamba/calibration"
)

func TestMoreAnswersHaveLargerDots(t *testing.T) {
	bins := []calibration.Bin{{Answers: 2, Said: 0.1}, {Said: 0.5}, {Answers: 98, Said: 0.9, True: 1}}
	dots := Reliability(calibration.Reliability{Bins: bins}).Series[1]
	if len(dots.Radius) != 2 || len(dots.X) != 2 || dots.Radius[0] >= dots.Radius[1] {
		t.Errorf("dots of %v at %v", dots.Radius, dots.X)
	}
}
