package data

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Limits of classes: labels have this many at most, and a name of one this many bytes.
const (
	MaxClasses   = 1000
	MaxClassName = 200
)

// ErrManyClasses says that labels have more values than a classifier tells apart.
var ErrManyClasses = errors.New("labels have too many values")

// Classes says which class a label is. The zero value tells a label that is not 0 from one that is.
type Classes struct {
	// Names of the classes 0, 1, …; nil: two without names.
	Names []string

	listed bool      // labels are 1 + the class, 0 where there is none
	values []float32 // otherwise: the label of each class, ascending
	as     []int     // of each class here the one in the list that was asked for; nil: the same
}

// Of is the class of a label, −1 where it has none.
func (c *Classes) Of(label float32) int {
	k := -1
	switch {
	case c.Names == nil:
		if label != 0 {
			return 1
		}
		return 0
	case c.listed:
		k = int(label) - 1
	default:
		if at, ok := slices.BinarySearch(c.values, label); ok {
			k = at
		}
	}
	if k < 0 || c.as == nil {
		return k
	}
	return c.as[k]
}

// Gaps says that labels may have no class.
func (c *Classes) Gaps() bool { return c.listed }

// LabelClasses are those that the labels of the set stand for: the listed ones of a column with words or gaps, two
// without names where labels are 0 and one other number, and otherwise the numbers themselves in ascending order.
func (s *Set) LabelClasses() (*Classes, error) {
	if s.NodeLabels != nil { // as NodeLabels.Log has them
		return &Classes{Names: s.NodeLabels.Names, listed: true}, nil
	}
	if s.Classes != nil {
		return &Classes{Names: s.Classes, listed: true}, nil
	}
	c := &Classes{}
	for i, all := 0, s.Log.All(); i < all.Len(); i++ {
		at, known := slices.BinarySearch(c.values, all.Label(i))
		if known {
			continue
		}
		if len(c.values) == MaxClasses {
			return nil, fmt.Errorf("%s: %w: more than %d; numbers to predict are imported with --value", s.Name,
				ErrManyClasses, MaxClasses)
		}
		c.values = slices.Insert(c.values, at, all.Label(i))
	}
	if len(c.values) < 2 || len(c.values) == 2 && slices.Contains(c.values, 0) {
		return c, nil
	}
	c.nameValues()
	return c, nil
}

func (c *Classes) nameValues() {
	for _, x := range c.values {
		c.Names = append(c.Names, NumberClass(float64(x)))
	}
}

// ClassesAs are the classes of the set numbered as in a list, which must have all of them; nil: two without names.
func (s *Set) ClassesAs(names []string) (*Classes, error) {
	c, err := s.LabelClasses()
	if err != nil || c.Names == nil && names == nil {
		return c, err
	}
	if c.Names == nil {
		c.nameValues()
	}
	for _, name := range c.Names {
		at := slices.Index(names, name)
		if at < 0 {
			return nil, fmt.Errorf("the labels of %s have the class %q, want those of %s", s.Name, name,
				cmp.Or(ListKinds(names), "two numbers, of which one is 0"))
		}
		c.as = append(c.as, at)
	}
	c.Names = names
	return c, nil
}

// NumberClass is the name of a class that is a number.
func NumberClass(x float64) string { return strconv.FormatFloat(x, 'g', -1, 32) }

// CompareClasses is the order of classes: by name, or by value where both are numbers.
func CompareClasses(a, b string) int {
	x, notX := strconv.ParseFloat(a, 64)
	y, notY := strconv.ParseFloat(b, 64)
	if notX == nil && notY == nil && x != y {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(a, b)
}

// ClassName is the name of the class of a label, "" where it has none. Labels of other sets are numbers.
func (s *Set) ClassName(label float32) string {
	if k := int(label); s.Classes != nil && k >= 1 && k <= len(s.Classes) {
		return s.Classes[k-1]
	}
	return ""
}

// CheckClasses says what is wrong with a list of names of classes.
func CheckClasses(names []string) error {
	if len(names) > MaxClasses {
		return fmt.Errorf("%d classes of labels, at most %d are possible", len(names), MaxClasses)
	}
	seen := make(map[string]bool, len(names))
	for i, name := range names {
		if name == "" || len(name) > MaxClassName || !utf8.ValidString(name) || seen[name] {
			return fmt.Errorf("class %d of labels is called %q", i+1, name)
		}
		seen[name] = true
	}
	return nil
}
