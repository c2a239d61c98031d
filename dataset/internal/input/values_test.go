package input

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseFloat(t *testing.T) {
	for _, s := range []string{"0", "-0", "1", "0.1", "-0.1", "123456.789", "9007199254740992", "9007199254740993",
		"0.000000000000000001", "1e22", "1e23", "1e-5", "123456789012345678", "1234567890123456789", ".5", "5.",
		"00012", "+3", "179769313486231570000000000000000000000", "4.9e-324", "0.30000000000000004", "1e999"} {
		got, ok := ParseFloat([]byte(s))
		want, err := strconv.ParseFloat(s, 64)
		if !ok || math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("%s: %v %v, want %v %v", s, got, ok, want, err)
		}
	}
	for _, s := range []string{"", "-", ".", "1.2.3", "1_000", "0x10", "1e", "one", " 1", "1,5", "--1", "١"} {
		if got, ok := ParseFloat([]byte(s)); ok {
			t.Errorf("%q read as %v", s, got)
		}
	}
}

func FuzzParseFloat(f *testing.F) {
	for _, s := range []string{"0", "-12.5", "1e300", "nan", "123456789.123456789", "0.1e-400", "1_0", "0x1p3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := ParseFloat([]byte(s))
		want, err := strconv.ParseFloat(s, 64)
		if ok && (err != nil && !errors.Is(err, strconv.ErrRange) || math.Float64bits(got) != math.Float64bits(want)) {
			t.Errorf("%q: %v, strconv %v %v", s, got, want, err)
		}
		if !ok && err == nil && !strings.ContainsAny(s, "_xX") {
			t.Errorf("%q refused, strconv reads %v", s, want)
		}
		if v, ok := ParseInt([]byte(s)); ok && strconv.FormatInt(v, 10) != s {
			t.Errorf("%q read as whole number %d", s, v)
		}
	})
}

func TestParseTime(t *testing.T) {
	at := func(s string) float64 {
		v, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return float64(v.Unix()) + float64(v.Nanosecond())/1e9
	}
	for in, want := range map[string]string{
		"2024-05-01T12:00:00Z": "2024-05-01T12:00:00Z", "2024-05-01t12:00:00.25z": "2024-05-01T12:00:00.25Z",
		"2024-05-01 12:00:00": "2024-05-01T12:00:00Z", "2024-05-01T12:00": "2024-05-01T12:00:00Z",
		"2024-05-01": "2024-05-01T00:00:00Z", "2024-05-01T12:00:00+02:00": "2024-05-01T10:00:00Z",
		"2024-05-01T12:00:00-0530": "2024-05-01T17:30:00Z", "2024-05-01 12:00:00 UTC": "2024-05-01T12:00:00Z",
		"2024-05-01 12:00:00 +01": "2024-05-01T11:00:00Z", "1969-12-31T23:59:59.5Z": "1969-12-31T23:59:59.5Z",
		"2024-02-29": "2024-02-29T00:00:00Z", "1999-12-31T23:59:60Z": "2000-01-01T00:00:00Z",
		"2024-05-01T12:00:00,5Z":      "2024-05-01T12:00:00.5Z",
		"2024-09-26T19:47:53.789921Z": "2024-09-26T19:47:53.789921Z",
		"2024-09-26T19:47:53.999999Z": "2024-09-26T19:47:53.999999Z",
		"1969-12-31T23:59:59.9Z":      "1969-12-31T23:59:59.9Z",
	} {
		got, format, err := ParseTime(in)
		if err != nil || format != TimeDate || got != at(want) {
			t.Errorf("%s: %v %v, want %v", in, got, err, at(want))
		}
		if back := FormatTime(got, format); back != want {
			t.Errorf("%s is written %s, want %s", in, back, want)
		}
	}
	for _, in := range []string{"", "2024", "2024-13-01x", "2023-02-29", "2024-05-01T25:00:00Z",
		"2024-05-01T12:00:00 CET", "2024-05-01T12:00:00+2", "01.05.2024", "2024/05/01", "2024-05-01T", "nan", "inf",
		"2024-05-01T12:00:00.", "0000-01-01T00:00+01:00", "9999-12-31T23:59:60Z"} {
		if v, format, err := ParseTime(in); err == nil && !(in == "2024" && format == TimeNumber) {
			t.Errorf("%q read as %v", in, v)
		}
	}
	if got := FormatTime(1.25, TimeNumber); got != "1.25" {
		t.Error(got)
	}
	rapid.Check(t, func(t *rapid.T) {
		v := float64(rapid.Int64Range(firstYear, lastYear-1).Draw(t, "second")) +
			rapid.Float64Range(0, 0.99).Draw(t, "part")
		if got, _, err := ParseTime(FormatTime(v, TimeDate)); err != nil || got != v {
			t.Fatalf("%v is written %s and read as %v: %v", v, FormatTime(v, TimeDate), got, err)
		}
	})
}

// Every day that can be written is the one that package time knows.
func TestDatesOfTheCalendar(t *testing.T) {
	for at := int64(firstYear); at < lastYear; at += 86400 * 3 {
		day := time.Unix(at, 0).UTC()
		if got, ok := parseDate([]byte(day.Format("2006-01-02"))); !ok || int64(got) != at {
			t.Fatalf("%s is %v %v, want %d", day.Format("2006-01-02"), got, ok, at)
		}
	}
	for year := range 10000 {
		for month := 1; month <= 12; month++ {
			last := time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
			for day := 28; day <= 31; day++ {
				text := fmt.Sprintf("%04d-%02d-%02d", year, month, day)
				if _, ok := parseDate([]byte(text)); ok != (day <= last) {
					t.Fatalf("%s is read: %v, the month has %d days", text, ok, last)
				}
			}
		}
	}
}
