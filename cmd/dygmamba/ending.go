package main

import (
	"os"
	"path/filepath"
	"strings"
)

// endingOf tells by the ending of a file's name which of some formats to write, and that the file can be made. Other
// endings are a mistake of the command line. A name without an ending, a pipe and a device get the first format.
func endingOf(flag, path string, formats ...string) (string, error) {
	found := ""
	for _, f := range formats {
		if strings.HasSuffix(strings.ToLower(path), f) && len(f) > len(found) {
			found = f
		}
	}
	info, err := os.Stat(path)
	if found == "" && (filepath.Ext(path) == "" || err == nil && !info.Mode().IsRegular()) {
		found = formats[0]
	}
	if found == "" {
		return "", usagef("--%s %s: unknown file ending, want one of %s", flag, path,
			strings.Join(formats, ", "))
	}
	return found, writable(flag, path)
}

// endingEarly is endingOf for a file that does not exist yet. One that does is looked at later, when it is known if
// it will be read.
func endingEarly(flag, path string, formats ...string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	_, err := endingOf(flag, path, formats...)
	return err
}

// tableEndings are the formats of tables with a row for each answer.
var tableEndings = []string{".csv", ".parquet"}
