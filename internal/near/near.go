// Package near answers: which of these names was probably meant?
package near

import "strings"

// Match is the name closest to what was given, or "" when none is close: at most a third of its letters differ, or it contains what was given.
func Match(given string, names []string) string {
	best, least := "", 1<<30
	for _, name := range names {
		d := distance(strings.ToLower(given), strings.ToLower(name))
		if len(given) >= 4 && strings.Contains(name, given) {
			d = min(d, 1)
		}
		if d < least && 3*d <= max(len(name), len(given)) {
			best, least = name, d
		}
	}
	return best
}

// Hint is "; did you mean X?" for a mistyped name, or "" when nothing is close.
func Hint(given string, names []string) string {
	if m := Match(given, names); m != "" {
		return "; did you mean " + m + "?"
	}
	return ""
}

// distance is the number of letters to change, add or drop to make b from a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
