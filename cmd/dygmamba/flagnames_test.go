package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Whatever option or function package dataset names in a message, this program names as its flag or command.
func TestFlagsForOptions(t *testing.T) {
	named := regexp.MustCompile(`the options? [A-Z]\w+( and [A-Z]\w+)?|dataset\.(Open|Import|Fetch)\b`)
	found := 0
	err := filepath.WalkDir("../../dataset", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, line := range strings.Split(string(text), "\n") {
			line, _, _ = strings.Cut(line, "//")
			if !named.MatchString(line) || !strings.ContainsAny(line, "\"`") {
				continue
			}
			found++
			if said := withFlags(line); named.MatchString(said) {
				t.Errorf("%s: %s", path, strings.TrimSpace(said))
			}
		}
		return err
	})
	if err != nil || found < 15 {
		t.Errorf("found %d messages, %v", found, err)
	}
	if got := withFlags("want one, or named by the option Source"); got != "want one, or named by --src" {
		t.Error(got)
	}
}
