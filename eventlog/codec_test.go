package eventlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// batches are of every shape that a record has a column for.
func batches() []Batch {
	plain := Batch{Last: 1000, Events: make([]Event, 1000)}
	for i := range plain.Events {
		plain.Events[i] = Event{Src: fmt.Sprint("u", i%7), Dst: fmt.Sprint("item ", i), Time: float64(i) / 3}
	}
	return []Batch{
		{Events: []Event{}},
		{Key: "k", Last: 7, Events: []Event{{}}},
		{Last: 1 << 60, Events: []Event{{Src: "ä", Dst: strings.Repeat("x", MaxName), Time: math.Inf(-1)}}},
		{
			Key: strings.Repeat("k", MaxKey), Last: 2,
			Events: []Event{{Src: "a", Label: math.Copysign(0, -1)}, {Dst: "b", Label: 1}},
		},
		{Last: 3, Events: []Event{{Features: []float32{1, 2}}, {}, {Features: []float32{}}}},
		{Last: 4, Events: []Event{{Kind: "viewed"}, {Src: "a", Kind: "bought"}, {}, {Kind: "viewed", Label: 1}}},
		plain,
	}
}

func TestRecordsComeBack(t *testing.T) {
	for i, b := range batches() {
		record, err := Encode([]byte("before"), b)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(record[len("before"):])
		if err != nil || !reflect.DeepEqual(got, b) {
			t.Errorf("batch %d came back as %.200v, %v, want %.200v", i, fmt.Sprint(got), err, fmt.Sprint(b))
		}
		if again, err := Encode(nil, got); err != nil || !bytes.Equal(again, record[len("before"):]) {
			t.Errorf("batch %d has other bytes the second time, %v", i, err)
		}
	}
}

// The bytes in docs/FORMATS.md: old records must stay readable.
func TestRecordOfTheDocs(t *testing.T) {
	want := []byte{
		1, 2, 5, 2, 'k', '1', 1, 1, 2, 'u', 'v', '2', 0, 0, 0, 0, 0, 0, 0xe0, 0x3f, 2, 0, 0, 0x80, 0x3f,
		0xbf, 0x01, 0x33, 0xe8,
	}
	b := Batch{Key: "k1", Last: 5, Events: []Event{{Src: "u", Dst: "v2", Time: 0.5, Features: []float32{1}}}}
	if record, err := Encode(nil, b); err != nil || !bytes.Equal(record, want) {
		t.Errorf("the record is % x, %v, want % x", record, err, want)
	}
	b.Events[0].Features, b.Events[0].Kind = nil, "buy"
	want = seal([]byte{1, 4, 5, 2, 'k', '1', 1, 1, 2, 'u', 'v', '2', 0, 0, 0, 0, 0, 0, 0xe0, 0x3f,
		1, 3, 'b', 'u', 'y', 1})
	if record, err := Encode(nil, b); err != nil || !bytes.Equal(record, want) {
		t.Errorf("the record of a kind is % x, %v, want % x", record, err, want)
	}
}

func TestEveryFlippedBitAndCutIsNoticed(t *testing.T) {
	for _, b := range batches()[:6] {
		record, err := Encode(nil, b)
		if err != nil {
			t.Fatal(err)
		}
		if len(record) > 2000 {
			continue // the same columns as the others
		}
		for i := range 8 * len(record) {
			record[i/8] ^= 1 << (i % 8)
			if got, err := Decode(record); !errors.Is(err, ErrDamaged) {
				t.Fatalf("bit %d of %.100v was flipped: %v, %v", i, b, got, err)
			}
			record[i/8] ^= 1 << (i % 8)
		}
		for n := range record {
			if _, err := Decode(record[:n]); !errors.Is(err, ErrDamaged) {
				t.Fatalf("%d of %d bytes: %v", n, len(record), err)
			}
		}
	}
}

func TestTooLarge(t *testing.T) {
	long := strings.Repeat("x", MaxName+1)
	for _, b := range []Batch{
		{Events: make([]Event, MaxEvents+1)},
		{Key: strings.Repeat("k", MaxKey+1)},
		{Events: []Event{{Src: long}}},
		{Events: []Event{{}, {Dst: long}}},
		{Events: []Event{{Features: make([]float32, MaxRecord/4)}}},
	} {
		if record, err := Encode([]byte("same"), b); !errors.Is(err, ErrTooLarge) || string(record) != "same" {
			t.Errorf("%d bytes, %v, want ErrTooLarge", len(record), err)
		}
	}
}

// Lengths that promise more than there is must not be believed.
func TestPromisesAreNotAllocated(t *testing.T) {
	for _, body := range [][]byte{
		binary.AppendUvarint([]byte{1, 0, 0, 0}, MaxEvents),
		binary.AppendUvarint([]byte{1, 0, 0, 0}, 1<<63),
		binary.AppendUvarint([]byte{1, 0, 0}, 1<<63),
		append(binary.AppendUvarint([]byte{1, 2, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, MaxRecord/4), 0),
	} {
		record := seal(body)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 10 {
			if _, err := Decode(record); !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		allocated := (after.TotalAlloc - before.TotalAlloc) / 10
		if allocated > 4096 {
			t.Errorf("% x took %d bytes", record, allocated)
		}
	}
}

func TestDecodeAllocatesByBatch(t *testing.T) {
	record, err := Encode(nil, batches()[6])
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(10, func() { Decode(record) }); n > 2 {
		t.Errorf("1000 events took %v allocations, want the events and the text of their names", n)
	}
}

// seal gives any bytes the checksum that lets them pass.
func seal(body []byte) []byte {
	return binary.LittleEndian.AppendUint32(bytes.Clone(body), crc32.Checksum(body, castagnoli))
}

func FuzzDecode(f *testing.F) {
	for _, b := range batches()[:6] {
		record, err := Encode(nil, b)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(record[:len(record)-checksum])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		b, err := Decode(seal(body))
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatalf("%v is not ErrDamaged", err)
			}
			return
		}
		record, err := Encode(nil, b)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := Decode(record)
		if err != nil || fmt.Sprint(again) != fmt.Sprint(b) { // NaN is not equal to itself
			t.Fatalf("%v became %v, %v", b, again, err)
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	batch := batches()[6]
	var record []byte
	for b.Loop() {
		record, _ = Encode(record[:0], batch)
	}
	b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkDecode(b *testing.B) {
	record, _ := Encode(nil, batches()[6])
	for b.Loop() {
		Decode(record)
	}
	b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "events/s")
}
