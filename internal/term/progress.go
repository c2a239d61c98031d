package term

import (
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	liveEvery  = 100 * time.Millisecond
	plainEvery = 10 * time.Second
)

// Progress tells how far one task is: as a live line on a terminal, as a log line now and then elsewhere.
// It is used from one goroutine at a time.
type Progress struct {
	console      *Console
	label, unit  string
	first        int64  // done before the task began
	part, whole  string // name of this part of a longer task, and the time that task takes
	start, shown time.Time
}

// Progress begins a task; unit names what is counted, in the plural ("events").
func (c *Console) Progress(label, unit string) *Progress {
	now := c.now()
	return &Progress{console: c, label: label, unit: unit, start: now, shown: now}
}

// From tells that this many units were done before the task began: they do not count as speed.
func (p *Progress) From(done int64) { p.first = done }

// Of says that this task is a part of a longer one: the name of the part, such as "epoch", and when the longer task
// ends, such as "run 9–85 min"; whole is "" while that is unknown.
func (p *Progress) Of(part, whole string) { p.part, p.whole = part, whole }

// Set tells that done of total units are finished (total 0: unknown) and adds a note, such as the loss. It is cheap to
// call often.
func (p *Progress) Set(done, total int64, note string) {
	if !p.due(plainEvery) {
		return
	}
	if !p.console.live {
		p.console.Logger().Info(p.label + ": " + p.describe(done, total, note, 0))
		return
	}
	room := p.console.width() - 3 // the ^C of an interruption needs room too
	line := p.label + "  " + bar(done, total) + p.describe(done, total, note, 0)
	for less := 0; less <= 2 && utf8.RuneCountInString(line) > room; less++ {
		line = p.label + "  " + p.describe(done, total, note, less) // words say more than a bar
	}
	if p.whole != "" && utf8.RuneCountInString(line) > room { // the part names what is done
		line = strings.TrimPrefix(line, p.label+"  ")
	}
	p.console.show(fit(line, room))
}

// Say shows a line of the caller's own in the place of an amount; where there is no live line, it becomes a log line at
// most every so often.
func (p *Progress) Say(line string, every time.Duration) {
	if !p.due(every) {
		return
	}
	if !p.console.live {
		p.console.Logger().Info(p.label + ": " + line)
		return
	}
	p.console.show(fit(p.label+"  "+line, p.console.width()-3))
}

// Working shows the time that passes while a task is at work that tells no amounts, until it is stopped.
func (p *Progress) Working() (stop func()) {
	quit, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		tick := time.NewTicker(liveEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.Say(clock(p.Elapsed()), plainEvery)
			case <-quit:
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(quit)
		<-gone
		p.Done()
	})
}

// due says whether it is time for a line: a log line every so often, a live line more often.
func (p *Progress) due(every time.Duration) bool {
	if p.console.live {
		every = liveEvery
	}
	now := p.console.now()
	if now.Sub(p.shown) < every {
		return false
	}
	p.shown = now
	return true
}

// Done ends the task and removes its live line.
func (p *Progress) Done() {
	if p.console.live {
		p.console.show("")
	}
}

// Elapsed is the time since the task began.
func (p *Progress) Elapsed() time.Duration { return p.console.now().Sub(p.start) }

// describe is the line in words. Where the total is known it can do with less: 1 leaves out the amount, 2 the speed
// too.
func (p *Progress) describe(done, total int64, note string, less int) string {
	var parts []string
	amount := func(n int64) string { return Count(n) + " " + p.unit }
	if p.unit == "bytes" {
		amount = Bytes
	}
	spent := p.Elapsed().Seconds()
	rate := float64(done-p.first) / max(spent, 1e-9)
	if total > 0 {
		parts = append(parts, fmt.Sprintf("%3d%%", 100*done/total))
	}
	if less < 1 || total == 0 {
		parts = append(parts, amount(done))
	}
	if less < 2 || total == 0 {
		speed := Short(rate)
		if p.unit == "bytes" {
			speed = Bytes(int64(rate))
		} else if less > 0 {
			speed += " " + p.unit // which the amount no longer names
		}
		parts = append(parts, speed+"/s")
	}
	if note != "" {
		parts = append(parts, note)
	}
	if total > 0 && done > p.first && spent >= 1 { // a guess from less would only startle
		left := time.Duration(float64(total-done) / rate * float64(time.Second))
		tail := clock(left) + " left"
		if p.whole != "" {
			tail = p.part + ": " + tail + "; " + p.whole
		}
		parts = append(parts, tail)
	}
	return strings.Join(parts, "  ")
}

func clock(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

func bar(done, total int64) string {
	if total <= 0 {
		return ""
	}
	const wide = 24
	full := int(min(done, total) * wide / total)
	return strings.Repeat("━", full) + strings.Repeat("╌", wide-full) + " "
}

func fit(line string, cols int) string {
	if utf8.RuneCountInString(line) <= cols {
		return line
	}
	return string([]rune(line)[:max(0, cols-1)]) + "…"
}
