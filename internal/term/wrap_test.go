package term

import (
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	got := Wrap(`Words that begin at the left
edge flow together.

Flags:
      --name string   what it is, in a few more words than fit
  -q, --quiet         less
`, 40)
	want := `Words that begin at the left edge flow
together.

Flags:
      --name string   what it is, in a
                      few more words
                      than fit
  -q, --quiet         less
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWrapKeepsLongWords(t *testing.T) {
	long := strings.Repeat("x", 50)
	for _, text := range []string{long + "\n", "  " + long + " y\n", "a  " + long + "\n"} {
		if got := Wrap(text, 20); !strings.Contains(got, long) {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestLongLiveLineDoesWithLess(t *testing.T) {
	tests := []struct {
		cols int
		want string
	}{
		{100, "train  ━━━━━━━━━━━━╌╌╌╌╌╌╌╌╌╌╌╌  50%  1,000 events  100/s  loss 0.5  0:10 left"},
		{60, "train   50%  1,000 events  100/s  loss 0.5  0:10 left"},
		{50, "train   50%  100 events/s  loss 0.5  0:10 left"},
		{40, "train   50%  loss 0.5  0:10 left"},
	}
	for _, tt := range tests {
		c, b, now := testConsole(true)
		c.width = func() int { return tt.cols }
		p := c.Progress("train", "events")
		*now = now.Add(10e9)
		p.Set(1000, 2000, "loss 0.5")
		if b.String() != tt.want {
			t.Errorf("%d columns: %q, want %q", tt.cols, b.String(), tt.want)
		}
	}
}
