// Package suggest answers: which of these names was probably meant?
package suggest

import "strings"

// Match is the name closest to what was given, or "" when none is close: at most a third of its letters differ, or it
// contains what was given.
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

// distance is the number of letters to change, add, drop or swap with the next one to make b from a.
func distance(a, b string) int {
	var rows [3][]int // of the last letters of a: the one before the last, the last, this one
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
	}
	for j := range len(b) + 1 {
		rows[1][j] = j
	}
	for i := range len(a) {
		before, last, row := rows[0], rows[1], rows[2]
		row[0] = i + 1
		for j := range len(b) {
			change := last[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		rows = [3][]int{last, row, before}
	}
	return rows[1][len(b)]
}
