package protocol

import (
	"fmt"
	"strings"
)

// Shares say in which proportions training draws negatives of each kind. They count relative to their sum; a kind that
// is not there has none.
type Shares map[Negatives]float64

// SharePrefix is what the setting of a kind's share begins with.
const SharePrefix = "negatives_"

// PlainShares are those of the reference programs: random negatives alone.
func PlainShares() Shares {
	s := Shares{}
	for _, k := range kinds {
		if k.Plain > 0 {
			s[k.Name] = k.Plain
		}
	}
	return s
}

// Sum adds up the shares of some kinds, of all where none is named.
func (s Shares) Sum(of ...Negatives) float64 {
	if len(of) == 0 {
		of = Trained()
	}
	sum := 0.0
	for _, n := range of {
		sum += s[n]
	}
	return sum
}

// Mixed says whether there is any kind but random.
func (s Shares) Mixed() bool {
	for n, share := range s {
		if n != RandomNegatives && share > 0 {
			return true
		}
	}
	return false
}

// Equal says whether both have the same share of every kind.
func (s Shares) Equal(o Shares) bool {
	for _, n := range Trained() {
		if s[n] != o[n] {
			return false
		}
	}
	return true
}

// Check says what is wrong with s.
func (s Shares) Check() error {
	var settings []string
	for _, n := range Trained() {
		if !(s[n] >= 0 && s[n] <= 1) {
			return fmt.Errorf("%s%s is %v, must be at least 0 and at most 1", SharePrefix, n, s[n])
		}
		settings = append(settings, SharePrefix+string(n))
	}
	if s.Sum() == 0 {
		last := len(settings) - 1
		return fmt.Errorf("%s and %s are all 0, one must be above", strings.Join(settings[:last], ", "), settings[last])
	}
	return nil
}

// IsZero says that all shares are plain: there is nothing to write down.
func (s Shares) IsZero() bool { return s.Equal(PlainShares()) }

// MarshalJSON writes down the shares that are not plain.
func (s Shares) MarshalJSON() ([]byte, error) {
	other, plain := Shares{}, PlainShares()
	for _, n := range Trained() { // a kind that is not there has a share too: none
		if s[n] != plain[n] {
			other[n] = s[n]
		}
	}
	return MarshalMembers(other, SharePrefix)
}
