// Package input answers: how is a file read that someone else wrote, and what is said of what is wrong in it?
//
// A File unpacks itself and knows what it looks like. Text cuts one into blocks of whole rows that are parsed on all
// cores, a Block its rows into fields. Whatever is wrong becomes an Error that says where it is, what was found there
// and what would have been right; a Finder collects them.
package input

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
)

// File is a file being read, gunzipped where it is gzip. Its errors about the content are Errors.
type File struct {
	Path   string
	Packed bool
	Size   int64 // of the file, before unpacking; 0 if unknown
	Block  int   // bytes to read at a time, as text

	raw  io.Reader
	r    *bufio.Reader
	read atomic.Int64 // bytes delivered
}

// Open opens a file whatever its name says about compression.
func Open(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		f.Close()
		return nil, FileError(path, "a directory", "a file")
	}
	in, err := New(path, f)
	if err != nil {
		f.Close()
		return nil, err
	}
	if info != nil {
		in.Size = info.Size()
	}
	return in, nil
}

// New reads what r delivers, and calls it path. Closing it closes r, if that can be closed.
func New(path string, r io.Reader) (*File, error) {
	in := &File{Path: path, raw: r, r: bufio.NewReaderSize(r, 64<<10), Block: BlockSize}
	if magic, _ := in.r.Peek(2); string(magic) == "\x1f\x8b" {
		in.Packed = true
		z, err := gzip.NewReader(in.r)
		if err != nil {
			return nil, in.explain(err)
		}
		in.r = bufio.NewReaderSize(z, 64<<10)
	}
	return in, nil
}

// Close closes what is read.
func (in *File) Close() error {
	if c, ok := in.raw.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Disk is the file itself where it can be read back and forth as it is, nil elsewhere.
func (in *File) Disk() *os.File {
	if f, ok := in.raw.(*os.File); ok && !in.Packed {
		return f
	}
	return nil
}

// Peek is up to n of the bytes that Read will deliver next.
func (in *File) Peek(n int) []byte {
	head, _ := in.r.Peek(n)
	return head
}

// Delivered is how many bytes have been read, unpacked. It may be asked while another goroutine reads.
func (in *File) Delivered() int64 { return in.read.Load() }

// Read delivers the file's bytes, unpacked.
func (in *File) Read(p []byte) (int, error) {
	n, err := in.r.Read(p)
	in.read.Add(int64(n))
	if err != nil && err != io.EOF {
		err = in.explain(err)
	}
	return n, err
}

// explain turns what gzip says into what the user can do about it.
func (in *File) explain(err error) error {
	var corrupt flate.CorruptInputError
	var file *fs.PathError
	switch {
	case errors.As(err, &file): // says all this itself
		return err
	case !in.Packed:
		return fmt.Errorf("read %s: %w", in.Path, err)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return FileError(in.Path, fmt.Sprintf("a gzip file cut off after %d unpacked bytes", in.read.Load()),
			"the whole file")
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.As(err, &corrupt):
		return FileError(in.Path, fmt.Sprintf("damaged gzip data after %d unpacked bytes (%v)", in.read.Load(), err),
			"an undamaged file")
	}
	return fmt.Errorf("read %s: %w", in.Path, err)
}

// Exists says whether there is a file of that name.
func Exists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// Kind says what the file's first bytes betray, "" for what may be text.
func (in *File) Kind() string {
	head := in.Peek(512)
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.magic)) {
			return m.kind
		}
	}
	if len(head) > 1 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5 {
		return "a Python pickle"
	}
	return ""
}

const utf16Text = "UTF-16 text ('iconv -f UTF-16 -t UTF-8' converts it)"

// magics are the beginnings of files that people mistake for tables.
var magics = []struct{ magic, kind string }{
	{NpyMagic, "a NumPy .npy file"},
	{NativeMagic, "a native .dgm file"},
	{ParquetMagic, "a Parquet file"},
	{"PK\x03\x04", "a zip archive"},
	{"PK\x05\x06", "an empty zip archive"},
	{"\x1f\x8b", "a gzip file within a gzip file"},
	{"\x28\xb5\x2f\xfd", "a zstd file"},
	{"\xfd7zXZ\x00", "an xz file"},
	{"BZh", "a bzip2 file"},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive"},
	{"\x89HDF\r\n\x1a\n", "an HDF5 file"},
	{"ARROW1", "an Arrow file"},
	{"FEA1", "a Feather file"},
	{"SQLite format 3\x00", "an SQLite database"},
	{"\xff\xfe", utf16Text},
	{"\xfe\xff", utf16Text},
	{"version https://git-lfs", "a Git LFS pointer instead of the file"},
	{"<!DOCTYPE", "a web page"},
	{"<!doctype", "a web page"},
	{"<html", "a web page"},
}

// How files of three kinds begin.
const (
	NpyMagic     = "\x93NUMPY"
	NativeMagic  = "\x89DGM\r\n\x1a\n"
	ParquetMagic = "PAR1"
)
