package arch

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Module is the path all of this module's packages begin with.
const Module = "github.com/dygmamba/dygmamba"

// Check parses the imports of every Go file of a source tree, whatever its build tags, and returns a sentence for each that
// breaks Layers, Beyond or Outside. It reads the sources itself: the answer of a command would be cached by `go test`.
//
// Test files may import upwards, but not from the other tower.
func Check(tree fs.FS) ([]string, error) {
	var broken []string
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		found, err := checkFile(tree, name)
		broken = append(broken, found...)
		return err
	})
	return broken, err
}

func checkFile(tree fs.FS, name string) ([]string, error) {
	src, err := fs.ReadFile(tree, name)
	if err != nil {
		return nil, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	pkg, test := path.Dir(name), strings.HasSuffix(name, "_test.go")
	if place(pkg) < 0 {
		return []string{fmt.Sprintf("%s: package %q has no line in internal/arch/layers.go", name, pkg)}, nil
	}
	var broken []string
	for _, spec := range file.Imports {
		if why := forbidden(pkg, strings.Trim(spec.Path.Value, `"`), test); why != "" {
			broken = append(broken, name+": "+why)
		}
	}
	return broken, nil
}

// forbidden says why pkg may not import what, or nothing.
func forbidden(pkg, what string, test bool) string {
	if what == "C" {
		return "cgo is not used here"
	}
	below, inside := strings.CutPrefix(what+"/", Module+"/")
	if !inside {
		return foreign(pkg, what, test)
	}
	below = path.Clean(below)
	from, to := place(pkg), place(below)
	switch {
	case to < 0:
		return fmt.Sprintf("imports %q, which has no line in internal/arch/layers.go", below)
	case below == pkg:
		return "" // the external tests of a package
	case apart(Layers[from].Tower, Layers[to].Tower):
		return fmt.Sprintf("imports %q of the other tower; data and maths meet at package model", below)
	case to >= from && !test:
		return fmt.Sprintf("imports %q, which is not below %q", below, pkg)
	case beyond(pkg, below):
		return fmt.Sprintf("imports %q, which %q leaves to the library", below, pkg)
	}
	return ""
}

// beyond says whether Beyond keeps pkg from importing what.
func beyond(pkg, what string) bool {
	for from, list := range Beyond {
		if matches(from, pkg) && slices.ContainsFunc(list, func(p string) bool { return matches(p, what) }) {
			return true
		}
	}
	return false
}

func apart(a, b Tower) bool { return a != b && a != Both && b != Both }

func foreign(pkg, what string, test bool) string {
	if !strings.Contains(strings.SplitN(what, "/", 2)[0], ".") {
		return "" // the standard library
	}
	for module, users := range Outside {
		if what != module && !strings.HasPrefix(what, module+"/") {
			continue
		}
		if test || slices.ContainsFunc(users, func(u string) bool { return matches(u, pkg) }) {
			return ""
		}
		return fmt.Sprintf("imports %q, which is meant for %v alone", what, users)
	}
	return fmt.Sprintf("imports %q, which has no line in Outside of internal/arch/layers.go", what)
}

// place is the storey of a package, or −1.
func place(pkg string) int {
	return slices.IndexFunc(Layers, func(l Layer) bool {
		return slices.ContainsFunc(l.Packages, func(p string) bool { return matches(p, pkg) })
	})
}

func matches(pattern, pkg string) bool {
	ok, err := path.Match(pattern, pkg)
	return ok && err == nil
}
