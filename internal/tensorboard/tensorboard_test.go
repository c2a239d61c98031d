package tensorboard

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// TestFile reads a file back by the rules of the wire format.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	w, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Scalars(7, map[string]float64{"val/ap": 0.5, "train/loss": 0.25}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "events.out.tfevents.*"))
	if len(files) != 1 {
		t.Fatalf("got files %v, want one", files)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	events := records(t, raw)
	if len(events) != 2 {
		t.Fatalf("got %d events, want 2", len(events))
	}
	if v := fields(t, events[0])[3]; string(v.([]byte)) != "brain.Event:2" {
		t.Errorf("file version is %q", v)
	}
	event := fields(t, events[1])
	if event[2] != uint64(7) {
		t.Errorf("step is %v, want 7", event[2])
	}
	want := map[string]float32{"val/ap": 0.5, "train/loss": 0.25}
	for summary := event[5].([]byte); len(summary) > 0; {
		size, n := binary.Uvarint(summary[1:])
		value := summary[1+n : 1+n+int(size)]
		summary = summary[1+n+int(size):]
		f := fields(t, value)
		name := string(f[1].([]byte))
		if got := math.Float32frombits(f[2].(uint32)); got != want[name] {
			t.Errorf("%s is %v, want %v", name, got, want[name])
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("missing %v", want)
	}
}

// TestMask checks the masked CRC against the known value of the check string "123456789": CRC-32C 0xe3069283.
func TestMask(t *testing.T) {
	c := uint32(0xe3069283)
	if got, want := masked([]byte("123456789")), (c>>15|c<<17)+0xa282ead8; got != want {
		t.Errorf("masked CRC is %#x, want %#x", got, want)
	}
}

func records(t *testing.T, raw []byte) (data [][]byte) {
	for len(raw) > 0 {
		n := binary.LittleEndian.Uint64(raw)
		if binary.LittleEndian.Uint32(raw[8:]) != masked(raw[:8]) {
			t.Fatal("bad checksum of a length")
		}
		body := raw[12 : 12+n]
		if binary.LittleEndian.Uint32(raw[12+n:]) != masked(body) {
			t.Fatal("bad checksum of a record")
		}
		data = append(data, body)
		raw = raw[16+n:]
	}
	return data
}

// fields are the fields of a message by number; of a repeated one, the last.
func fields(t *testing.T, msg []byte) map[uint64]any {
	f := map[uint64]any{}
	for len(msg) > 0 {
		tag, n := binary.Uvarint(msg)
		msg = msg[n:]
		switch tag & 7 {
		case 0:
			v, n := binary.Uvarint(msg)
			f[tag>>3], msg = v, msg[n:]
		case 1:
			f[tag>>3], msg = binary.LittleEndian.Uint64(msg), msg[8:]
		case 2:
			size, n := binary.Uvarint(msg)
			f[tag>>3], msg = msg[n:n+int(size)], msg[n+int(size):]
		case 5:
			f[tag>>3], msg = binary.LittleEndian.Uint32(msg), msg[4:]
		default:
			t.Fatalf("wire type %d", tag&7)
		}
	}
	return f
}
