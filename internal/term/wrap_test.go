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

func TestTableFoldsWordsOfTheLastColumn(t *testing.T) {
	words := NewTable(Left("model"), Left("what it does"))
	words.Row("a", "says a little more than fits")
	words.Row("b", "little")
	numbers := NewTable(Left("model"), Right("a number with a very long name"))
	numbers.Row("a", "1")
	for _, tt := range []struct {
		table *Table
		cols  int
		want  string
	}{
		{words, 26, "  model  what it does\n  ────────────────────────\n  a      says a little\n" +
			"         more than fits\n  b      little\n"},
		{words, 0, "  model  what it does\n  ───────────────────────────────────\n" +
			"  a      says a little more than fits\n  b      little\n"},
		{numbers, 20, "  model  a number with a very long name\n  ─────────────────────────────────────\n" +
			"  a                                   1\n"},
	} {
		var b strings.Builder
		if err := tt.table.write(&b, Style{}, tt.cols); err != nil || b.String() != tt.want {
			t.Errorf("%d columns: %v, got\n%s\nwant\n%s", tt.cols, err, b.String(), tt.want)
		}
	}
}
