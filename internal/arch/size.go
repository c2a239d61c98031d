package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// How large the module may be, as a reader meets it.
const (
	MostPackages = 30  // packages that another module can import, and programs
	MostExports  = 60  // exported names of the root package, methods included, fields not
	LongestFunc  = 80  // lines of a function
	LongestStart = 120 // lines of README.md
)

// LongFunctions may have more than LongestFunc lines, each for a reason.
var LongFunctions = map[string]string{}

// PublicPackages lists the packages of a tree that other modules can import.
func PublicPackages(tree fs.FS) (found []string, err error) {
	err = sources(tree, func(name string, _ []byte) error {
		dir := path.Dir(name)
		if !strings.HasSuffix(name, "_test.go") && !slices.Contains(found, dir) &&
			!slices.Contains(strings.Split(dir, "/"), "internal") {
			found = append(found, dir)
		}
		return nil
	})
	slices.Sort(found)
	return found, err
}

// RootExports lists the exported names of the root package: functions, types, constants, variables, and the methods of
// exported types.
func RootExports(tree fs.FS) (found []string, err error) {
	err = sources(tree, func(name string, src []byte) error {
		if path.Dir(name) != "." || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			found = append(found, exported(d)...)
		}
		return nil
	})
	slices.Sort(found)
	return found, err
}

// exported lists the exported names that a declaration adds to its package.
func exported(d ast.Decl) (found []string) {
	add := func(prefix string, names ...*ast.Ident) {
		for _, n := range names {
			if n.IsExported() {
				found = append(found, prefix+n.Name)
			}
		}
	}
	if f, ok := d.(*ast.FuncDecl); ok {
		if f.Recv == nil {
			add("", f.Name)
		} else if of := receiver(f); ast.IsExported(of) {
			add(of+".", f.Name)
		}
		return found
	}
	general, ok := d.(*ast.GenDecl)
	if !ok {
		return nil
	}
	for _, s := range general.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			add("", s.Name)
		case *ast.ValueSpec:
			add("", s.Names...)
		}
	}
	return found
}

// receiver is the name of the type that a method belongs to, "" for functions.
func receiver(f *ast.FuncDecl) (name string) {
	if f.Recv != nil {
		ast.Inspect(f.Recv.List[0].Type, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && name == "" {
				name = id.Name
			}
			return name == ""
		})
	}
	return name
}

// TooLong returns a sentence for each function outside tests that has more than LongestFunc lines and is not one of
// LongFunctions, and for each of these that is no longer so long.
func TooLong(tree fs.FS) (broken []string, err error) {
	seen := map[string]bool{}
	err = sources(tree, func(name string, src []byte) error {
		if strings.HasSuffix(name, "_test.go") {
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			id := path.Dir(name) + "." + strings.TrimPrefix(receiver(f)+"."+f.Name.Name, ".")
			lines := files.Position(f.End()).Line - files.Position(f.Pos()).Line + 1
			if lines <= LongestFunc {
				continue
			}
			if seen[id] = true; LongFunctions[id] == "" {
				const long = "%s: %s has %d lines; want at most %d, or a reason in LongFunctions"
				broken = append(broken, fmt.Sprintf(long, name, id, lines, LongestFunc))
			}
		}
		return nil
	})
	for id := range LongFunctions {
		if !seen[id] {
			broken = append(broken, fmt.Sprintf("%s is not longer than %d lines: remove it from LongFunctions",
				id, LongestFunc))
		}
	}
	slices.Sort(broken)
	return broken, err
}

// lines counts the lines of a file.
func lines(tree fs.FS, name string) (int, error) {
	text, err := fs.ReadFile(tree, name)
	return bytes.Count(text, []byte("\n")), err
}
