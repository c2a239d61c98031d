package arch

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Module is the path all of this module's packages begin with.
const Module = "github.com/dygmamba/dygmamba"

// Check parses the imports of every Go file of a source tree, whatever its build tags, and returns a sentence for each
// that breaks Layers, Beyond or Outside. It reads the sources itself: the answer of a command would be cached by `go
// test`.
//
// Test files may import upwards, but not from the other tower.
func Check(tree fs.FS) ([]string, error) {
	names, err := catalogue(tree)
	if err != nil {
		return nil, err
	}
	var broken []string
	err = sources(tree, func(name string, src []byte) error {
		found, err := checkFile(name, src, names)
		broken = append(broken, found...)
		return err
	})
	return broken, err
}

func checkFile(name string, src []byte, names []string) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
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
	if !test && !slices.ContainsFunc(NamesModels, func(p string) bool { return matches(p, pkg) }) {
		for _, model := range named(file, names) {
			broken = append(broken, fmt.Sprintf("%s: names the model %q; only the catalogue knows it", name, model))
		}
	}
	return broken, nil
}

// named lists the models that a file names in a string of its own.
func named(file *ast.File, names []string) (found []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil && slices.Contains(names, text) {
				found = append(found, text)
			}
		}
		return true
	})
	return found
}

// catalogue reads the names of the models from the list of them, but for the default one, which is the program's name
// too.
func catalogue(tree fs.FS) ([]string, error) {
	src, err := fs.ReadFile(tree, Catalogue)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), Catalogue, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		pair, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		if key, ok := pair.Key.(*ast.BasicLit); ok && key.Kind == token.STRING {
			if name, err := strconv.Unquote(key.Value); err == nil && name != DefaultModel {
				names = append(names, name)
			}
		}
		return true
	})
	return names, nil
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
	case matches("models/internal/*", below) && pkg != "models" && !strings.HasPrefix(pkg, "models/"):
		return fmt.Sprintf("imports %q; models are found in the catalogue", below)
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
