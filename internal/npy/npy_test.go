package npy

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestHeaderRoundTrip(t *testing.T) {
	for _, h := range []Header{{Rows: 3, Cols: 4, Size: 8}, {Rows: 0, Cols: 0, Size: 4},
		{Rows: 123456789, Cols: 172, Size: 8}} {
		var b bytes.Buffer
		if err := WriteHeader(&b, h); err != nil {
			t.Fatal(err)
		}
		if b.Len()%64 != 0 {
			t.Errorf("header of %d bytes, want a multiple of 64", b.Len())
		}
		if got, err := ReadHeader(&b); err != nil || got != h {
			t.Errorf("%+v %v, want %+v", got, err, h)
		}
	}
}

// Headers as different versions of NumPy write them.
func TestHeaderForms(t *testing.T) {
	for _, dict := range []string{
		"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }          \n",
		"{'shape': (2, 3), 'fortran_order': False, 'descr': '<f4'}\n",
		`{"descr": "<f4", "fortran_order": False, "shape": (2,3)}`,
		"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3,), }",
	} {
		short, long := string([]byte{byte(len(dict)), 0}), string([]byte{byte(len(dict)), 0, 0, 0})
		for _, head := range []string{Magic + "\x01\x00" + short, Magic + "\x02\x00" + long,
			Magic + "\x03\x00" + long} {
			h, err := ReadHeader(strings.NewReader(head + dict))
			if err != nil || h != (Header{Rows: 2, Cols: 3, Size: 4}) {
				t.Errorf("%q: %+v %v", dict, h, err)
			}
		}
	}
}

func TestBadHeaders(t *testing.T) {
	for _, dict := range []string{"", "{", "{}", "[]", "{'descr'}", "{'descr': '<f4'",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': ()}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3)}",
		"{'descr': '>f8', 'fortran_order': False, 'shape': (2, 3)}"} {
		_, err := ReadHeader(strings.NewReader(Magic + "\x01\x00" + string([]byte{byte(len(dict)), 0}) + dict))
		var bad *Error
		if !errors.As(err, &bad) || bad.Found == "" || bad.Want == "" {
			t.Errorf("%q: %v", dict, err)
		}
	}
	if _, err := ReadHeader(io.MultiReader(strings.NewReader(Magic), failing{})); !errors.Is(err, errDisk) {
		t.Errorf("a reader's own error became %v", err)
	}
}

var errDisk = errors.New("disk on fire")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errDisk }
