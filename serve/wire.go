package serve

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/suggest"
)

// scanner reads the JSON of requests strictly: it refuses unknown and repeated fields, numbers that are not finite, and
// anything after the end. Strings without escapes are parts of the text, so that names cost no allocation. At the first
// error it panics with an *apiError, which read catches.
type scanner struct {
	text  string
	at    int
	lines int // that came before the text
}

// read lets fill read a document, which must end where the text does. Lines is how many lines came before it.
func read(text string, lines int, fill func(s *scanner)) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r, ok := p.(*apiError)
			if !ok {
				panic(p)
			}
			err = r
		}
	}()
	s := &scanner{text: text, lines: lines}
	fill(s)
	if s.space(); s.at < len(s.text) {
		s.stop(s.at, "the end of the document")
	}
	return nil
}

// stop ends reading with an error at a place. It shows what begins there.
func (s *scanner) stop(at int, want string) {
	before, found := s.text[:at], "the end"
	line, column := s.lines+1+strings.Count(before, "\n"), at-strings.LastIndexByte(before, '\n')
	if at < len(s.text) {
		found = strconv.Quote(strings.ToValidUTF8(s.text[at:min(len(s.text), at+24)], "\ufffd"))
	}
	panic(bad(fmt.Sprintf("line %d, byte %d", line, column), found, want))
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

// next consumes c if it comes next.
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
		s.stop(s.at, strconv.QuoteRune(rune(c)))
	}
}

// object reads an object. Value is called with the index of each field among the names, and reads its value. The result
// has a bit for each field that was present.
func (s *scanner) object(names []string, value func(field int)) (present uint) {
	s.must('{')
	if s.next('}') {
		return 0
	}
	for {
		s.space()
		start := s.at
		key := s.string("the name of a field")
		field := slices.Index(names, key)
		switch {
		case field < 0:
			s.stop(start, "a known field: "+strings.Join(names, ", ")+suggest.Hint(key, names))
		case present&(1<<field) != 0:
			s.stop(start, "each field once")
		}
		present |= 1 << field
		s.must(':')
		value(field)
		if s.next('}') {
			return present
		}
		s.must(',')
	}
}

// members reads an object with any number of possible fields, as object does.
func (s *scanner) members(names []string, value func(field int)) {
	s.must('{')
	if s.next('}') {
		return
	}
	present := make([]bool, len(names))
	for {
		s.space()
		start := s.at
		key := s.string("the name of a column")
		field := slices.Index(names, key)
		switch {
		case field < 0:
			s.stop(start, "a known column: "+strings.Join(names, ", ")+suggest.Hint(key, names))
		case present[field]:
			s.stop(start, "each column once")
		}
		present[field] = true
		s.must(':')
		value(field)
		if s.next('}') {
			return
		}
		s.must(',')
	}
}

// cell reads a value as a table has it: text, a number as it is written, true or false; nothing for null.
func (s *scanner) cell(want string) string {
	if s.null() {
		return ""
	}
	for _, word := range []string{"true", "false"} {
		if strings.HasPrefix(s.text[s.at:], word) {
			s.at += len(word)
			return word
		}
	}
	if s.peek() == '"' {
		return s.string(want)
	}
	return s.digits(want + ": a string, a number, true, false or null")
}

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

func (s *scanner) string(want string) string {
	if s.peek() != '"' {
		s.stop(s.at, want+", in quotes")
	}
	start, plain := s.at, true
	for i := start + 1; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"':
			s.at = i + 1
			if plain {
				return s.text[start+1 : i]
			}
			var out string
			if raw := s.text[start:s.at]; !utf8.ValidString(raw) || json.Unmarshal([]byte(raw), &out) != nil {
				s.stop(start, want+", a string of valid UTF-8 and escapes")
			}
			return out
		case c < ' ':
			s.stop(i, "no control characters in a string; \\n and the like are written as escapes")
		case c == '\\':
			plain = false
			i++
		case c >= utf8.RuneSelf:
			plain = false
		}
	}
	s.stop(start, "a string that ends")
	return ""
}

// number reads a number that a float64 can hold.
func (s *scanner) number(want string) float64 {
	s.space()
	start := s.at
	v, err := strconv.ParseFloat(s.digits(want), 64)
	if err != nil || math.IsInf(v, 0) {
		s.stop(start, want+", a finite number")
	}
	return v
}

// digits reads the text of a number by the grammar of JSON.
func (s *scanner) digits(want string) string {
	s.space()
	start := s.at
	one := func(of string) bool {
		found := s.at < len(s.text) && strings.IndexByte(of, s.text[s.at]) >= 0
		if found {
			s.at++
		}
		return found
	}
	some := func() bool {
		from := s.at
		for s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' {
			s.at++
		}
		return s.at > from
	}
	one("-")
	valid := one("0") != some() // no digit follows a leading 0
	if one(".") {
		valid = some() && valid
	}
	if one("eE") {
		one("+-")
		valid = some() && valid
	}
	if !valid {
		s.stop(start, want)
	}
	return s.text[start:s.at]
}

// peek is the next character, 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

// null consumes a null if it comes next.
func (s *scanner) null() bool {
	s.space()
	if strings.HasPrefix(s.text[s.at:], "null") {
		s.at += 4
		return true
	}
	return false
}

// boolean reads true or false.
func (s *scanner) boolean() bool {
	s.space()
	for _, word := range []string{"true", "false"} {
		if strings.HasPrefix(s.text[s.at:], word) {
			s.at += len(word)
			return word == "true"
		}
	}
	s.stop(s.at, "true or false")
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
		s.stop(start, "a node: its name in quotes, or a whole number")
	}
	return raw
}

// word reads a string, or a number as it is written.
func (s *scanner) word(want string) string {
	if s.peek() == '"' {
		return s.string(want)
	}
	return s.digits(want + ": a string in quotes, or a number")
}

// time reads a time: a number in the unit of the data, or a date in quotes where times of the data are dates.
func (s *scanner) time(c dataset.Clock) event.Time {
	if s.peek() == '"' && c.Known() {
		start := s.at
		text := s.string("a time")
		at, err := c.Parse(text)
		if _, format, _ := dataset.ParseTime(text); err != nil || format != dataset.TimeDate {
			s.stop(start, "a time: a number without quotes, or a date in quotes: "+dataset.DateForms)
		}
		return at
	}
	return s.number("a time")
}

// integer reads a whole number between bounds.
func (s *scanner) integer(want string, least, most int) int {
	s.space()
	start := s.at
	v, err := strconv.Atoi(s.digits(want))
	if err != nil || v < least || v > most {
		s.stop(start, fmt.Sprintf("%s from %d to %d", want, least, most))
	}
	return v
}
