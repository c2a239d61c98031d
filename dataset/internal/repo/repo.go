// Package repo answers: who changed which file when, in the history of a Git repository?
package repo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"strconv"
	"strings"
)

// Columns are those of the table that Write writes: a row for every file that a commit changed.
var Columns = []string{"person", "file", "time", "dir", "ext"}

// Options say what is written.
type Options struct {
	Anonymous bool              // people are called p0, p1, … in the order in which they appear
	Progress  func(commits int) // told now and then; may be nil
}

// Counts is what a history holds.
type Counts struct {
	Commits, Changes, People int
}

// Write writes the history of the repository in dir as CSV, the oldest commit first: the author, the path of the file,
// the author's time in Unix seconds, the first directory of the path, and the ending of the file. Merges say nothing
// that their parents do not, and are left out. It runs the installed git.
func Write(ctx context.Context, dir string, to io.Writer, o Options) (n Counts, err error) {
	cmd := exec.CommandContext(ctx, "git", "-C", dir, "-c", "core.quotepath=off", "log", "--reverse", "--no-merges",
		"--no-renames", "--name-only", "-z", "--format=%x01%at%x00%aN%x00")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return n, err
	}
	if err := cmd.Start(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			err = errors.New("there is no program git; install it, or export the history as CSV")
		}
		return n, fmt.Errorf("read the history of %s: %w", dir, err)
	}
	w := writer{out: csv.NewWriter(to), o: o, people: map[string]string{}}
	err = w.all(bufio.NewReaderSize(out, 1<<20))
	if err != nil { // git would wait for a reader
		cmd.Cancel()
		io.Copy(io.Discard, out)
	}
	switch failed := cmd.Wait(); {
	case ctx.Err() != nil:
		err = ctx.Err()
	case err == nil && failed != nil:
		err = &Refused{strings.TrimSpace(said.String())}
	}
	w.n.People = len(w.people)
	return w.n, err
}

// Refused is what git said where it could not read a directory.
type Refused struct{ Said string }

func (e *Refused) Error() string { return "git: " + e.Said }

// writer turns what git prints into rows.
type writer struct {
	out    *csv.Writer
	o      Options
	people map[string]string
	n      Counts

	person, time string // of the commit
}

// all reads texts that end with a zero byte: after a byte 1 the time of a commit, its author, then its files, the first
// of which has an empty line before it.
func (w *writer) all(in *bufio.Reader) error {
	if err := w.out.Write(Columns); err != nil {
		return err
	}
	for part := 2; ; {
		text, err := in.ReadString(0)
		if err == io.EOF && strings.Trim(text, "\n") == "" {
			w.out.Flush()
			return w.out.Error()
		}
		if err != nil {
			return fmt.Errorf("what git printed ends in the middle: %w", err)
		}
		text = strings.TrimLeft(strings.TrimSuffix(text, "\x00"), "\n")
		if at, begins := strings.CutPrefix(text, "\x01"); begins {
			w.time, part = at, 0
		}
		switch part {
		case 0:
			if _, err := strconv.ParseInt(w.time, 10, 64); err != nil {
				return fmt.Errorf("git printed %q as the time of a commit, want a number", w.time)
			}
			if w.n.Commits++; w.o.Progress != nil && w.n.Commits%1000 == 0 {
				w.o.Progress(w.n.Commits)
			}
		case 1:
			w.person = w.name(text)
		default:
			if text == "" {
				continue
			}
			if err := w.change(text); err != nil {
				return err
			}
		}
		part++
	}
}

// name is what a person is called.
func (w *writer) name(author string) string {
	author = strings.TrimSpace(strings.ToValidUTF8(author, "?"))
	if author == "" {
		author = "unknown"
	}
	if w.people[author] == "" {
		w.people[author] = author
		if w.o.Anonymous {
			w.people[author] = "p" + strconv.Itoa(len(w.people)-1)
		}
	}
	return w.people[author]
}

func (w *writer) change(file string) error {
	file = strings.ToValidUTF8(file, "?")
	dir, _, below := strings.Cut(file, "/")
	if !below {
		dir = "."
	}
	w.n.Changes++
	ext := strings.TrimPrefix(path.Ext(path.Base(file)), ".")
	return w.out.Write([]string{w.person, file, w.time, dir, strings.ToLower(ext)})
}
