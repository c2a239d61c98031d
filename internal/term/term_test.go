package term

import (
	"bytes"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"
)

func TestFormat(t *testing.T) {
	tests := []struct{ got, want string }{
		{Count(0), "0"},
		{Count(999), "999"},
		{Count(int32(1000)), "1,000"},
		{Count(int64(1293103)), "1,293,103"},
		{Count(-411749), "-411,749"},
		{Bytes(1023), "1023 B"},
		{Bytes(3 << 20), "3.0 MiB"},
		{Bytes(5 << 40), "5.0 TiB"},
		{Short(12), "12"},
		{Short(1234567), "1.23M"},
		{Short(56000), "56k"},
		{Counted(1, "event"), "1 event"},
		{Counted(2000, "event"), "2,000 events"},
		{Duration(0), "0 s"},
		{Duration(250 * time.Microsecond), "250 µs"},
		{Duration(1400 * time.Millisecond), "1.4 s"},
		{Duration(200 * time.Second), "3 min 20 s"},
		{Duration(125 * time.Minute), "2 h 05 min"},
		{Duration(74 * time.Hour), "3 d 02 h"},
		{Percent(0.762), "76.20"},
		{Percent(math.NaN()), "–"},
		{Spark([]float64{0, 1, 4, 8}), " ▂▅█"},
		{Spark(nil), ""},
		{clock(3700 * time.Second), "1:01:40"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestTable(t *testing.T) {
	table := NewTable(Left("memory"), Right("AP"))
	table.Row("unlimited", "76.20")
	table.Gap()
	table.Gap()
	table.Mark("größte", "100.00")
	var b bytes.Buffer
	if err := table.Write(&b, Style{}); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"  memory         AP",
		"  ─────────────────",
		"  unlimited   76.20",
		"",
		"  größte     100.00",
		"",
	}, "\n")
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestFacts(t *testing.T) {
	var f Facts
	f.Add("nodes", "7")
	f.Add("", "of two kinds")
	var b bytes.Buffer
	f.Write(&b, Style{})
	if want := "  nodes  7\n         of two kinds\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

// testConsole has a clock that the test moves.
func testConsole(live bool) (*Console, *bytes.Buffer, *time.Time) {
	var b bytes.Buffer
	now := time.Unix(0, 0)
	c := NewConsole(&b, false)
	c.live, c.now = live, func() time.Time { return now }
	return c, &b, &now
}

func TestLiveLineAndLogLinesShareTheScreen(t *testing.T) {
	c, b, now := testConsole(true)
	p := c.Progress("train", "events")
	*now = now.Add(time.Second)
	p.Set(500, 1000, "loss 0.5")
	p.Set(501, 1000, "too soon to be shown")
	live := b.String()
	if strings.Contains(live, "\n") || strings.Contains(live, "too soon") {
		t.Fatalf("a live line stays on its line and is not redrawn at every call: %q", live)
	}
	for _, part := range []string{"train", " 50%", "500 events", "500/s", "loss 0.5", "0:01 left"} {
		if !strings.Contains(live, part) {
			t.Errorf("live line %q lacks %q", live, part)
		}
	}
	c.Logger().Warn("slow disk", "file", "a b")
	if want := live + "\r\x1b[K" + "warning: slow disk  file=\"a b\"\n" + live; b.String() != want {
		t.Errorf("a log line must push the live line down: got %q, want %q", b.String(), want)
	}
	p.Done()
	if !strings.HasSuffix(b.String(), "\r\x1b[K") {
		t.Errorf("Done must remove the live line: %q", b.String())
	}
}

// A task that goes on where an earlier one ended is not faster for it, and a narrow terminal shows words rather than a
// bar.
func TestProgressGoesOn(t *testing.T) {
	c, b, now := testConsole(true)
	c.width = func() int { return 50 }
	p := c.Progress("train", "events")
	p.From(400)
	*now = now.Add(2 * time.Second)
	p.Set(500, 1000, "")
	if want := "train   50%  500 events  50/s  0:10 left"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

// What is left of the part stands beside what is left of the whole, as far as that is known.
func TestProgressOfAPart(t *testing.T) {
	c, b, now := testConsole(true)
	c.width = func() int { return 80 }
	p := c.Progress("train", "events")
	p.Of("epoch", "run "+Range(9*time.Minute, 85*time.Minute))
	*now = now.Add(2 * time.Second)
	p.Set(500, 1000, "epoch 1/200  loss 0.6157  AP 81.78")
	if want := " 50%  epoch 1/200  loss 0.6157  AP 81.78  epoch: 0:02 left; run 9–85 min"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func TestRange(t *testing.T) {
	for _, tt := range []struct {
		least, most time.Duration
		want        string
	}{
		{0, 8 * time.Second, "0–8 s"}, {40 * time.Second, 90 * time.Second, "40–90 s"},
		{61 * time.Second, 3 * time.Minute, "1–3 min"}, {9 * time.Minute, 85 * time.Minute, "9–85 min"},
		{100 * time.Minute, 14 * time.Hour, "1.5–14 h"}, {5 * time.Hour, 100 * time.Hour, "5 h – 4 d"},
		{25 * time.Minute, 7 * time.Hour, "25 min – 7 h"},
		{178 * time.Minute, 182 * time.Minute, "about 3 h"},
	} {
		if got := Range(tt.least, tt.most); got != tt.want {
			t.Errorf("%v to %v: %s, want %s", tt.least, tt.most, got, tt.want)
		}
	}
}

func TestPlainProgressIsSparse(t *testing.T) {
	c, b, now := testConsole(false)
	p := c.Progress("fetch uci", "bytes")
	for range 25 {
		*now = now.Add(time.Second)
		p.Set(1<<20, 0, "")
	}
	p.Done()
	if n := strings.Count(b.String(), "\n"); n != 2 {
		t.Errorf("25 seconds gave %d lines, want 2:\n%s", n, b.String())
	}
	if strings.Contains(b.String(), "\x1b") {
		t.Errorf("control sequences in plain output: %q", b.String())
	}
}

func TestLongLiveLineIsCut(t *testing.T) {
	c, b, now := testConsole(true)
	c.width = func() int { return 30 }
	p := c.Progress("a label much longer than the terminal is wide", "rows")
	*now = now.Add(time.Second)
	p.Set(1, 2, "")
	if n := len([]rune(b.String())); n != 27 {
		t.Errorf("live line has %d characters on a terminal of 30: %q", n, b.String())
	}
}

func TestQuietKeepsWarnings(t *testing.T) {
	var b bytes.Buffer
	log := NewConsole(&b, true).Logger()
	log.Info("hidden")
	log.With(slog.Int("n", 3)).WithGroup("g").Error("shown", "k", 1)
	if want := "error: shown  n=3  g.k=1\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
