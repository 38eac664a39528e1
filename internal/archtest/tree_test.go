package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// root is where the repository starts, seen from this package.
const root = "../.."

// source is one Go file of the repository.
type source struct {
	name   string // slash-separated path below the root
	pkg    string // directory below the root, the package's path below the module
	test   bool
	lines  int
	syntax *ast.File
	files  *token.FileSet
}

// imports lists the paths that the file imports.
func (s source) imports() []string {
	var paths []string
	for _, spec := range s.syntax.Imports {
		unquoted, err := strconv.Unquote(spec.Path.Value)
		if err == nil {
			paths = append(paths, unquoted)
		}
	}
	return paths
}

// at gives the place of a node as file:line.
func (s source) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.name, s.files.Position(n.Pos()).Line)
}

// localName is the name under which the file knows an imported package, empty when it does not import it.
func (s source) localName(importPath string) string {
	for _, spec := range s.syntax.Imports {
		if spec.Path.Value != strconv.Quote(importPath) {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(importPath)
	}
	return ""
}

// literals is the set of texts in the file, among which the names of flags are.
func (s source) literals() map[string]bool {
	found := make(map[string]bool)
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil {
				found[text] = true
			}
		}
		return true
	})
	return found
}

// parse makes a source of text, for the tests of the checkers.
func parse(t *testing.T, name, text string) source {
	t.Helper()
	s, err := parseSource(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parseSource(name string, text []byte) (source, error) {
	files := token.NewFileSet()
	syntax, err := parser.ParseFile(files, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return source{}, fmt.Errorf("parse %s: %w", name, err)
	}
	return source{
		name:   name,
		pkg:    path.Dir(name),
		test:   strings.HasSuffix(name, "_test.go"),
		lines:  strings.Count(string(text), "\n"),
		syntax: syntax,
		files:  files,
	}, nil
}

// readTree reads every Go file of this module, those for other systems included, and go.mod, so that the test cache
// notices each change.
func readTree(t *testing.T) []source {
	t.Helper()
	var sources []source
	if _, err := os.ReadFile(filepath.Join(root, "go.mod")); err != nil {
		t.Fatalf("read go.mod: %v", err)
	}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != root && skipped(file, entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(file, ".go"):
			return nil
		}
		below, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		s, err := parseSource(filepath.ToSlash(below), text)
		sources = append(sources, s)
		return err
	})
	if err != nil {
		t.Fatalf("read the tree: %v", err)
	}
	if len(sources) == 0 {
		t.Fatal("no Go file found: the tests would prove nothing")
	}
	return sources
}

// skipped tells which directories hold no package of this module: what the go command skips, and other modules.
func skipped(dir, name string) bool {
	if name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// below tells whether path is dir or lies under it.
func below(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, dir+"/")
}

// names tells whether an import path is meant by a technology: the same path or, with a slash at its end, one below it.
func names(technology, importPath string) bool {
	if prefix, wide := strings.CutSuffix(technology, "/"); wide {
		return below(importPath, prefix)
	}
	return importPath == technology
}

// report fails the test once for each finding.
func report(t *testing.T, findings []string) {
	t.Helper()
	for _, finding := range findings {
		t.Error(finding)
	}
}
