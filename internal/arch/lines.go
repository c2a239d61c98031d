package arch

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"
)

// How long a line of Go source may be, in characters; a tab counts as TabWidth of them.
const (
	Widest   = 120
	TabWidth = 4
)

// LongLines finds the lines of Go source in a tree that are longer than Widest.
func LongLines(tree fs.FS) (found []string, err error) {
	err = sources(tree, func(name string, src []byte) error {
		found = append(found, longLines(name, src)...)
		return nil
	})
	return found, err
}

func longLines(name string, src []byte) (found []string) {
	number := 0
	for line := range bytes.Lines(src) {
		number++
		line = bytes.TrimRight(line, "\r\n")
		columns := utf8.RuneCount(line) + (TabWidth-1)*bytes.Count(line, []byte("\t"))
		if columns > Widest {
			found = append(found, fmt.Sprintf("%s:%d: a line of %d columns; want at most %d, a tab counting as %d",
				name, number, columns, Widest, TabWidth))
		}
	}
	return found
}

// sources hands every Go file of a tree to visit, tests and files for other systems included.
func sources(tree fs.FS, visit func(name string, src []byte) error) error {
	return fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		return visit(name, src)
	})
}
