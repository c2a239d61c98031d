package suggest

import "testing"

func TestMatch(t *testing.T) {
	names := []string{"json", "model", "data", "data-dir", "num_epochs", "USLegis"}
	tests := []struct{ given, want string }{
		{"json", "json"},
		{"jsn", "json"},
		{"modle", "model"}, // two letters swapped
		{"madle", ""},      // and one more is wrong
		{"mdel", "model"},
		{"dat", "data"},
		{"datadir", "data-dir"},
		{"epochs", "num_epochs"},
		{"uslegis", "USLegis"},
		{"zebra", ""},
		{"", ""},
	}
	for _, tt := range tests {
		if got := Match(tt.given, names); got != tt.want {
			t.Errorf("Match(%q) = %q, want %q", tt.given, got, tt.want)
		}
	}
	if got := Hint("jsn", names); got != "; did you mean json?" {
		t.Errorf("Hint: %q", got)
	}
}

func TestDistance(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{{"", "", 0}, {"json", "json", 0}, {"jsn", "json", 1}, {"modle", "model", 1}, {"trian", "train", 1}, {"tarin",
		"train", 1}, {"ca", "abc", 3}, {"", "abc", 3}, {"kitten", "sitting", 3}}
	for _, tt := range tests {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
