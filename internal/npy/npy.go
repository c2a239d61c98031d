// Package npy reads and writes NumPy's .npy files, as far as feature matrices need it: two dimensions, little-endian
// floats, C order.
package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Magic is how every .npy file begins.
const Magic = "\x93NUMPY"

// Limits of a header. Real ones take about a hundred bytes.
const (
	maxHeader = 1 << 16
	MaxRows   = 1 << 31 // ids are int32
	MaxCols   = 1 << 20
)

// Header is the shape and type of a matrix.
type Header struct {
	Rows, Cols int
	Size       int // bytes of a value: 4 or 8
}

// Error is a complaint about a file: what was found and what would have been right.
type Error struct{ Found, Want string }

func (e *Error) Error() string { return "npy: found " + e.Found + "; want " + e.Want }

// ReadHeader reads up to the first value of a matrix. Complaints about the file are *Error; what r says is passed on.
func ReadHeader(r io.Reader) (Header, error) {
	var pre [12]byte
	if err := readFull(r, pre[:8], "the beginning"); err != nil {
		return Header{}, err
	}
	if string(pre[:6]) != Magic {
		return Header{}, &Error{fmt.Sprintf("%q at the beginning", pre[:6]), `a NumPy file, which begins "\x93NUMPY"`}
	}
	var size int
	switch version := pre[6]; version {
	case 1:
		if err := readFull(r, pre[8:10], "the header length"); err != nil {
			return Header{}, err
		}
		size = int(binary.LittleEndian.Uint16(pre[8:]))
	case 2, 3:
		if err := readFull(r, pre[8:12], "the header length"); err != nil {
			return Header{}, err
		}
		size = int(min(binary.LittleEndian.Uint32(pre[8:]), math.MaxInt32))
	default:
		return Header{}, &Error{fmt.Sprintf("format version %d.%d", version, pre[7]), "version 1, 2 or 3"}
	}
	if size > maxHeader {
		return Header{}, &Error{fmt.Sprintf("a header of %d bytes", size), fmt.Sprintf("at most %d", maxHeader)}
	}
	text := make([]byte, size)
	if err := readFull(r, text, "the header"); err != nil {
		return Header{}, err
	}
	return parseHeader(string(text))
}

// WriteHeader writes a version 1 header, the values to follow row by row.
func WriteHeader(w io.Writer, h Header) error {
	dict := fmt.Sprintf("{'descr': '<f%d', 'fortran_order': False, 'shape': (%d, %d), }", h.Size, h.Rows, h.Cols)
	const align = 64 // NumPy pads the whole header to a multiple of this
	pad := align - (10+len(dict)+1)%align
	dict += strings.Repeat(" ", pad%align) + "\n"
	buf := append([]byte(Magic), 1, 0)
	buf = binary.LittleEndian.AppendUint16(buf, uint16(len(dict)))
	_, err := w.Write(append(buf, dict...))
	return err
}

func readFull(r io.Reader, buf []byte, what string) error {
	n, err := io.ReadFull(r, buf)
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return &Error{fmt.Sprintf("the end of the file after %d of %d bytes of %s", n, len(buf), what),
			"a whole NumPy file"}
	}
	return err
}

// A header is a dictionary {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }, its keys in any order.
const member = `['"](\w+)['"]\s*:\s*('[^']*'|"[^"]*"|\([^()]*\)|\[[^\[\]]*\]|\w+)\s*`

var (
	members    = regexp.MustCompile(member)
	dict       = regexp.MustCompile(`^\{\s*(` + member + `(,\s*)?)*\}$`)
	dimensions = regexp.MustCompile(`^\(\s*(\d+)\s*,\s*(\d+)\s*,?\s*\)$`)
)

func parseHeader(text string) (Header, error) {
	text = strings.TrimSpace(text)
	values := map[string]string{}
	if dict.MatchString(text) {
		for _, m := range members.FindAllStringSubmatch(text, -1) {
			values[m[1]] = m[2]
		}
	}
	descr, order, shape := values["descr"], values["fortran_order"], values["shape"]
	if descr == "" || order == "" || shape == "" {
		return Header{}, &Error{fmt.Sprintf("the header %.80q", text),
			"{'descr': '<f8', 'fortran_order': False, 'shape': (rows, columns), }"}
	}
	return checkHeader(descr, order, shape)
}

func checkHeader(descr, order, shape string) (Header, error) {
	h := Header{}
	switch strings.Trim(descr, `'"`) {
	case "<f8":
		h.Size = 8
	case "<f4":
		h.Size = 4
	case "|O":
		return h, &Error{"Python objects (type |O)", "numbers of type <f8 or <f4: array.astype('<f8')"}
	default:
		return h, &Error{"type " + descr, "<f8 or <f4: array.astype('<f8')"}
	}
	if order != "False" {
		return h, &Error{"Fortran order (fortran_order: " + order + ")", "C order: numpy.ascontiguousarray(array)"}
	}
	size := dimensions.FindStringSubmatch(shape)
	if size == nil {
		return h, &Error{"shape " + shape, "two dimensions: (rows, columns)"}
	}
	var err, err2 error
	h.Rows, err = strconv.Atoi(size[1])
	h.Cols, err2 = strconv.Atoi(size[2])
	if err != nil || err2 != nil || h.Rows > MaxRows || h.Cols > MaxCols {
		return h, &Error{"shape " + shape, fmt.Sprintf("at most %d rows and %d columns", MaxRows, MaxCols)}
	}
	return h, nil
}
