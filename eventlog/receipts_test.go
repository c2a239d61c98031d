package eventlog

import (
	"fmt"
	"testing"
)

func TestReceiptsForgetTheOldest(t *testing.T) {
	r := NewReceipts(3)
	for i := range 8 {
		key := fmt.Sprint(i)
		if _, ok := r.Find(key); ok {
			t.Errorf("%s is known", key)
		}
		r.Add(key, Receipt{Last: uint64(i), Accepted: i})
		r.Add("", Receipt{Last: 99})
		for j := range i + 1 {
			got, ok := r.Find(fmt.Sprint(j))
			if want := i-j < 3; ok != want || ok && got != (Receipt{Last: uint64(j), Accepted: j, Again: true}) {
				t.Errorf("after %d, %d: %+v, %v", i, j, got, ok)
			}
		}
	}
	if _, ok := r.Find(""); ok || r.Len() != 3 {
		t.Errorf("no key is known, %v; %d keys, want 3", ok, r.Len())
	}
}
