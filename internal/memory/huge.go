package memory

// Grow makes room for n more elements, as slices.Grow does, on large pages.
func Grow[T any](s []T, n int) []T {
	if n <= cap(s)-len(s) {
		return s
	}
	return append(Huge(make([]T, 0, max(2*cap(s), len(s)+n))), s...)
}
