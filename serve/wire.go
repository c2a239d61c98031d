package serve

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/suggest"
)

// scanner reads the JSON of requests, strictly: no field that is unknown or comes twice, no number that is not finite,
// nothing behind the end. Strings without escapes are parts of the text, so that a large batch costs no allocation for
// each of its names. It stops at the first thing that is no JSON, and panics with a *refusal there: read catches it.
type scanner struct {
	text string
	at   int
}

// read lets fill take a document from a text, to its end.
func read(text string, fill func(s *scanner)) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r, ok := p.(*refusal)
			if !ok {
				panic(p)
			}
			err = r
		}
	}()
	s := &scanner{text: text}
	fill(s)
	if s.space(); s.at < len(s.text) {
		s.stop("the end of the document")
	}
	return nil
}

// stop ends reading with what was found here.
func (s *scanner) stop(want string) { panic(bad(s.where(), s.found(), want)) }

func (s *scanner) where() string {
	line := 1 + strings.Count(s.text[:s.at], "\n")
	return fmt.Sprintf("line %d, byte %d", line, s.at-strings.LastIndexByte(s.text[:s.at], '\n'))
}

// found shows a little of what stands here.
func (s *scanner) found() string {
	if s.at >= len(s.text) {
		return "the end"
	}
	rest := s.text[s.at:min(len(s.text), s.at+24)]
	return strconv.Quote(strings.ToValidUTF8(rest, "\ufffd"))
}

func (s *scanner) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\n', '\t', '\r':
			s.at++
		default:
			return
		}
	}
}

// next says whether c comes next, and takes it.
func (s *scanner) next(c byte) bool {
	s.space()
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) must(c byte) {
	if !s.next(c) {
		s.stop(strconv.QuoteRune(rune(c)))
	}
}

// object reads an object: value is called for each field, by its place among the names, and reads it. It returns which
// fields came, as bits.
func (s *scanner) object(names []string, value func(field int)) (came uint) {
	s.must('{')
	if s.next('}') {
		return 0
	}
	for {
		s.space()
		start := s.at
		key := s.string("the name of a field")
		field := -1
		for i, n := range names {
			if n == key {
				field = i
			}
		}
		switch {
		case field < 0:
			s.at = start
			s.stop("a field that is known: " + strings.Join(names, ", ") + suggest.Hint(key, names))
		case came&(1<<field) != 0:
			s.at = start
			s.stop("each field once")
		}
		came |= 1 << field
		s.must(':')
		value(field)
		if s.next('}') {
			return came
		}
		s.must(',')
	}
}

// array reads an array of values.
func (s *scanner) array(value func(i int)) {
	s.must('[')
	if s.next(']') {
		return
	}
	for i := 0; ; i++ {
		value(i)
		if s.next(']') {
			return
		}
		s.must(',')
	}
}

// string reads a string.
func (s *scanner) string(want string) string {
	s.space()
	if s.at >= len(s.text) || s.text[s.at] != '"' {
		s.stop(want + ", in quotes")
	}
	start := s.at
	for i := start + 1; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"':
			s.at = i + 1
			return s.text[start+1 : i]
		case c == '\\' || c >= utf8.RuneSelf:
			return s.stringSlow(want)
		case c < ' ':
			s.at = i
			s.stop("no control characters in a string; \\n and the like are written as escapes")
		}
	}
	s.stop("a string that ends")
	return ""
}

// stringSlow reads one with escapes or characters beyond ASCII.
func (s *scanner) stringSlow(want string) string {
	start := s.at
	for i := start + 1; i < len(s.text); i++ {
		switch s.text[i] {
		case '\\':
			i++
		case '"':
			raw := s.text[start : i+1]
			var out string
			if !utf8.ValidString(raw) || json.Unmarshal([]byte(raw), &out) != nil {
				s.stop(want + ", a string of valid UTF-8 and escapes")
			}
			s.at = i + 1
			return out
		}
	}
	s.stop("a string that ends")
	return ""
}

// number reads a number that a float64 can hold.
func (s *scanner) number(want string) float64 {
	s.space()
	start := s.at
	raw := s.digits(want)
	v, err := strconv.ParseFloat(raw, 64)
	if err != nil || math.IsInf(v, 0) {
		s.at = start
		s.stop(want + ", a finite number")
	}
	return v
}

// digits takes the text of a number, by the grammar of JSON.
func (s *scanner) digits(want string) string {
	s.space()
	start, i := s.at, s.at
	at := func() byte {
		if i < len(s.text) {
			return s.text[i]
		}
		return 0
	}
	run := func() int {
		from := i
		for c := at(); c >= '0' && c <= '9'; c = at() {
			i++
		}
		return i - from
	}
	if at() == '-' {
		i++
	}
	whole := i
	n := run()
	if n == 0 || n > 1 && s.text[whole] == '0' {
		s.stop(want)
	}
	if at() == '.' {
		i++
		if run() == 0 {
			s.stop(want)
		}
	}
	if c := at(); c == 'e' || c == 'E' {
		i++
		if c := at(); c == '+' || c == '-' {
			i++
		}
		if run() == 0 {
			s.stop(want)
		}
	}
	s.at = i
	return s.text[start:i]
}

// peek is the character that comes next, 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

// null takes a null if one comes.
func (s *scanner) null() bool {
	s.space()
	if strings.HasPrefix(s.text[s.at:], "null") {
		s.at += 4
		return true
	}
	return false
}

// id reads the name of a node: a string, or a whole number, which is then its own name.
func (s *scanner) id() string {
	if s.peek() == '"' {
		return s.string("the name of a node")
	}
	start := s.at
	raw := s.digits("a node: its name in quotes, or a whole number")
	if strings.ContainsAny(raw, ".eE") {
		s.at = start
		s.stop("a node: its name in quotes, or a whole number")
	}
	return raw
}

// time reads a time: a number in the unit of the data, or a date in quotes where times of the data are dates.
func (s *scanner) time(dates bool) event.Time {
	if s.peek() == '"' && dates {
		start := s.at
		at, format, err := dataset.ParseTime(s.string("a time"))
		if err != nil || format != dataset.TimeDate {
			s.at = start
			s.stop("a time: seconds since 1970, or a date in quotes: " + dataset.DateForms)
		}
		return at
	}
	return s.number("a time")
}

// whole reads a whole number between bounds.
func (s *scanner) whole(want string, least, most int) int {
	s.space()
	start := s.at
	v, err := strconv.Atoi(s.digits(want))
	if err != nil || v < least || v > most {
		s.at = start
		s.stop(fmt.Sprintf("%s from %d to %d", want, least, most))
	}
	return v
}
