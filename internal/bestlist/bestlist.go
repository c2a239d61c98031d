// Package bestlist answers: which sources have their best partners already, if finding them for all was interrupted?
//
// A journal is one file: a line of JSON that says what was asked, then a record for each source, in the order in which
// they were ranked. A record that was not written whole ends the journal.
package bestlist

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"

	"github.com/dygmamba/dygmamba/event"
)

// ErrOther says that a journal is of another question.
var ErrOther = errors.New("a journal of another question")

// Question is what the best partners were asked for. Journals of different questions do not continue each other.
type Question struct {
	Model      string     `json:"model_sha256"`
	Data       string     `json:"data_sha256"`
	Candidates string     `json:"candidates_sha256,omitempty"` // "": all destinations
	At         event.Time `json:"at"`
	Best       int        `json:"best"`
	Exact      bool       `json:"exact,omitempty"`
	Order      string     `json:"order,omitempty"`
	Kind       string     `json:"kind,omitempty"`
}

// HashNodes tells lists of candidates apart.
func HashNodes(list []event.Node) string {
	h := sha256.New()
	binary.Write(h, binary.LittleEndian, list) // a hash takes everything
	return hex.EncodeToString(h.Sum(nil))
}

// Item is a partner of a source.
type Item struct {
	Node     event.Node
	Value    float64 // its logit, or its share
	Meetings int32
}

// Record is the best partners of a source, the best first.
type Record struct {
	Source event.Node
	Rate   float64 // of the source's events; 0 where the model knows none
	Items  []Item
}

// Journal is a file to which records are added. One goroutine at a time may use it.
type Journal struct {
	file  *os.File
	out   *bufio.Writer
	first int64 // where records begin

	Sources int        // that have a record
	Rows    int        // partners of all of them
	Last    event.Node // the last source with a record
}

// Open opens a journal to add to it, or begins one. What was not written whole is cut off.
func Open(path string, q Question) (*Journal, error) {
	head, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	head = append(head, '\n')
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	j := &Journal{file: f, first: int64(len(head))}
	if err := j.begin(head); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	j.out = bufio.NewWriterSize(f, 1<<16)
	return j, nil
}

// begin finds the end of what is there.
func (j *Journal) begin(head []byte) error {
	found := make([]byte, len(head))
	n, err := io.ReadFull(j.file, found)
	switch {
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case !bytes.HasPrefix(head, found[:n]):
		return ErrOther
	case n < len(head): // empty, or interrupted in its first line
		if _, err := j.file.WriteAt(head, 0); err != nil {
			return err
		}
	}
	end := j.first
	err = j.records(func(r Record, size int) error {
		j.Sources++
		j.Rows += len(r.Items)
		j.Last = r.Source
		end += int64(size)
		return nil
	})
	if err != nil {
		return err
	}
	if err := j.file.Truncate(end); err != nil {
		return err
	}
	_, err = j.file.Seek(end, io.SeekStart)
	return err
}

// Add adds the record of a source.
func (j *Journal) Add(r Record) error {
	row := binary.LittleEndian.AppendUint32(nil, uint32(r.Source))
	row = binary.LittleEndian.AppendUint32(row, uint32(len(r.Items)))
	row = binary.LittleEndian.AppendUint64(row, math.Float64bits(r.Rate))
	for _, x := range r.Items {
		row = binary.LittleEndian.AppendUint32(row, uint32(x.Node))
		row = binary.LittleEndian.AppendUint64(row, math.Float64bits(x.Value))
		row = binary.LittleEndian.AppendUint32(row, uint32(x.Meetings))
	}
	row = binary.LittleEndian.AppendUint32(row, crc32.ChecksumIEEE(row))
	j.Sources++
	j.Rows += len(r.Items)
	j.Last = r.Source
	_, err := j.out.Write(row)
	return err
}

// Flush gives all records to the operating system, which keeps them if this process ends.
func (j *Journal) Flush() error { return j.out.Flush() }

// Each visits all records in the order of the journal. The items of a record are used again by the next.
func (j *Journal) Each(visit func(Record) error) error {
	if err := j.Flush(); err != nil {
		return err
	}
	if _, err := j.file.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	return j.records(func(r Record, _ int) error { return visit(r) })
}

// records reads all records that were written whole, with their sizes.
func (j *Journal) records(visit func(r Record, size int) error) error {
	const headSize, itemSize = 16, 16
	in := bufio.NewReaderSize(io.NewSectionReader(j.file, j.first, math.MaxInt64-j.first), 1<<16)
	var row []byte
	var r Record
	for {
		row = append(row[:0], make([]byte, headSize)...)
		if _, err := io.ReadFull(in, row); err != nil {
			return ended(err)
		}
		r.Source, r.Items = event.Node(binary.LittleEndian.Uint32(row)), r.Items[:0]
		n := binary.LittleEndian.Uint32(row[4:])
		r.Rate = math.Float64frombits(binary.LittleEndian.Uint64(row[8:]))
		if n > math.MaxInt32/itemSize { // not written whole
			return nil
		}
		for range n {
			at := len(row)
			row = append(row, make([]byte, itemSize)...)
			if _, err := io.ReadFull(in, row[at:]); err != nil {
				return ended(err)
			}
			item := row[at:]
			r.Items = append(r.Items, Item{Node: event.Node(binary.LittleEndian.Uint32(item)),
				Value:    math.Float64frombits(binary.LittleEndian.Uint64(item[4:])),
				Meetings: int32(binary.LittleEndian.Uint32(item[12:]))})
		}
		var sum [4]byte
		if _, err := io.ReadFull(in, sum[:]); err != nil {
			return ended(err)
		}
		if binary.LittleEndian.Uint32(sum[:]) != crc32.ChecksumIEEE(row) {
			return nil
		}
		if err := visit(r, len(row)+len(sum)); err != nil {
			return err
		}
	}
}

// ended is nil where a file ends.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// Close writes what is left and closes the file, which stays.
func (j *Journal) Close() error { return errors.Join(j.out.Flush(), j.file.Close()) }
