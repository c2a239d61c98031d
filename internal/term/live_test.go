package term

import (
	"strings"
	"testing"
)

func TestLive(t *testing.T) {
	var b strings.Builder
	l, err := NewLive(&b, Style{}, []Column{Right("n"), Right("time"), Left("note")}, "1000", "10.0 ms")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range [][]string{{"64", "1.5 ms", "fine"}, {"128", "123456.7 ms", "wide"}, {"256"}} {
		if err := l.Row(row...); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Remark("1000000", "does not fit at all"); err != nil {
		t.Fatal(err)
	}
	want := `
     n     time  note
  ───────────────────
    64   1.5 ms  fine
   128  123456.7 ms  wide
   256
  1000000  does not fit at all
`
	if got := "\n" + b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
