package bestlist

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/event"
)

var some = []Record{
	{Source: 3, Rate: 0.75, Items: []Item{{7, 1.5, 2}, {9, -0.25, 0}}}, {Source: 4},
	{Source: 9, Items: []Item{{7, 3, 1}}},
}

func list(t *testing.T, j *Journal) (all []Record) {
	t.Helper()
	if err := j.Each(func(r Record) error {
		all = append(all, Record{r.Source, r.Rate, slices.Clone(r.Items)})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestCutAnywhere: a journal that ends anywhere has the records that were written whole, and goes on from there.
func TestCutAnywhere(t *testing.T) {
	q := Question{Model: "m", Data: "d", At: 5, Best: 2}
	path := filepath.Join(t.TempDir(), "journal")
	j, err := Open(path, q)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range some {
		if err := j.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	if got := list(t, j); len(got) != 3 || j.Rows != 3 || !reflect.DeepEqual(got[0], some[0]) || got[1].Source != 4 {
		t.Fatalf("got %v, %d rows", got, j.Rows)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before := 0
	for cut := range len(whole) + 1 {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		j, err := Open(path, q)
		if err != nil || j.Sources < before || j.Sources > len(some) {
			t.Fatalf("cut at %d: %d records after %d, %v", cut, j.Sources, before, err)
		}
		before = j.Sources
		if n := j.Sources; n > 0 && j.Last != some[n-1].Source {
			t.Errorf("cut at %d: the last source is %d", cut, j.Last)
		}
		for _, r := range some[j.Sources:] {
			if err := j.Add(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || !slices.Equal(got, whole) {
			t.Fatalf("cut at %d and continued: %d bytes, want the same %d", cut, len(got), len(whole))
		}
	}
	if before != len(some) {
		t.Errorf("the whole journal has %d records", before)
	}
}

// TestRefusesOthers: journals of other questions are left as they are, and a broken record ends a journal.
func TestRefusesOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j, err := Open(path, Question{Best: 2})
	if err != nil || j.Add(Record{Source: event.Node(1)}) != nil || j.Add(some[0]) != nil || j.Close() != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, Question{Best: 3}); !errors.Is(err, ErrOther) {
		t.Errorf("another question: %v", err)
	}
	bytes, _ := os.ReadFile(path)
	bytes[len(bytes)-9]++
	if err := os.WriteFile(path, bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	j, err = Open(path, Question{Best: 2})
	if err != nil || j.Sources != 1 {
		t.Fatalf("a changed record: %+v, %v", j, err)
	}
	j.Close()
}
