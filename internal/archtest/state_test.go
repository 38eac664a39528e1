package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

func TestNoPackageHoldsStateOrRunsCodeAtItsStart(t *testing.T) {
	report(t, checkState(tables(), readTree(t)))
}

// checkState finds init functions and package variables outside tests. Allowed are: an assertion that a type fits an
// interface (var _ I = …), a sentinel error, a compiled pattern, an embedded file, and the listed tables.
func checkState(tables map[string]string, sources []source) []string {
	var findings []string
	unused := make(map[string]bool, len(tables))
	for name := range tables {
		unused[name] = true
	}
	for _, s := range sources {
		if s.test {
			continue
		}
		for _, declaration := range s.syntax.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok && function.Recv == nil && function.Name.Name == "init" {
				findings = append(findings, s.at(function)+": init runs unasked; call a function from where its work is needed")
			}
			for _, variable := range variables(declaration) {
				for i, name := range variable.names {
					full := s.pkg + "." + name.Name
					delete(unused, full)
					if tables[full] == "" && !harmless(s, variable, i) {
						findings = append(findings, fmt.Sprintf("%s: package variable %s may hold state; make it a constant, a function or a field (or, if it is a table nobody writes, list it in tables in internal/archtest/rules_test.go)", s.at(name), name.Name))
					}
				}
			}
		}
	}
	for name := range unused {
		findings = append(findings, fmt.Sprintf("the table %s is gone; remove its line from tables in internal/archtest/rules_test.go", name))
	}
	return findings
}

// variable is one line of a var declaration.
type variable struct {
	names    []*ast.Ident
	kind     ast.Expr // nil when it is inferred
	values   []ast.Expr
	embedded bool
}

func variables(declaration ast.Decl) []variable {
	general, ok := declaration.(*ast.GenDecl)
	if !ok || general.Tok != token.VAR {
		return nil
	}
	var found []variable
	for _, spec := range general.Specs {
		values, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		found = append(found, variable{
			names: values.Names, kind: values.Type, values: values.Values,
			embedded: embeds(general.Doc) || embeds(values.Doc),
		})
	}
	return found
}

func embeds(doc *ast.CommentGroup) bool {
	if doc == nil {
		return false
	}
	for _, line := range doc.List {
		if strings.HasPrefix(line.Text, "//go:embed ") {
			return true
		}
	}
	return false
}

// harmless tells whether the variable at an index of its line is of a kind that every package may have.
func harmless(s source, v variable, index int) bool {
	switch {
	case v.names[index].Name == "_", v.embedded:
		return true
	case v.kind != nil && !isIdentifier(v.kind, "error"), len(v.values) != len(v.names):
		return false
	}
	call, ok := v.values[index].(*ast.CallExpr)
	if !ok {
		return false
	}
	return calls(s, call, "errors", "New") || calls(s, call, "fmt", "Errorf") || calls(s, call, "regexp", "MustCompile")
}

func isIdentifier(e ast.Expr, name string) bool {
	identifier, ok := e.(*ast.Ident)
	return ok && identifier.Name == name
}

// calls tells whether a call is of a function of an imported package.
func calls(s source, call *ast.CallExpr, importPath, function string) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	return ok && selects(s, selector, importPath, function)
}

// selects tells whether a selector names something of an imported package.
func selects(s source, selector *ast.SelectorExpr, importPath, name string) bool {
	local := s.localName(importPath)
	return local != "" && selector.Sel.Name == name && isIdentifier(selector.X, local)
}

func TestPlantedStateIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"a sentinel":              {`import "errors"; var ErrGone = errors.New("gone")`, nil},
		"a wrapped sentinel":      {`import "fmt"; var errGone = fmt.Errorf("gone: %w", errOther)`, nil},
		"a typed sentinel":        {`import "errors"; var ErrGone error = errors.New("gone")`, nil},
		"two sentinels on a line": {`import "errors"; var a, b = errors.New("a"), errors.New("b")`, nil},
		"a renamed import":        {`import no "errors"; var ErrGone = no.New("gone")`, nil},
		"another package's New":   {`import errors "elsewhere/state"; var pool = errors.New("gone")`, []string{"pkg/a/a.go:2: package variable pool"}},
		"a pattern":               {`import "regexp"; var word = regexp.MustCompile("^a$")`, nil},
		"an assertion":            {`var _ I = (*T)(nil)`, nil},
		"an embedded file":        {"import _ \"embed\"\n\n//go:embed a.txt\nvar text string", nil},
		"embedded in a group":     {"import _ \"embed\"\n\nvar (\n\t//go:embed a.txt\n\ttext string\n)", nil},
		"a counter":               {`var calls int`, []string{"pkg/a/a.go:2: package variable calls"}},
		"a map":                   {`var kinds = map[string]int{"a": 1}`, []string{"pkg/a/a.go:2: package variable kinds"}},
		"a lock":                  {`import "sync"; var mu sync.Mutex`, []string{"pkg/a/a.go:2: package variable mu"}},
		"a function to replace":   {`import "time"; var now = time.Now`, []string{"pkg/a/a.go:2: package variable now"}},
		"one of two on a line":    {`import "errors"; var a, b = errors.New("a"), 1`, []string{"pkg/a/a.go:2: package variable b"}},
		"a listed table":          {`var listed = [2]string{"a", "b"}`, nil},
		"a variable in a func":    {`func f() { var n int; _ = n }`, nil},
		"an init":                 {`func init() {}`, []string{"pkg/a/a.go:2: init runs unasked"}},
		"a method named init":     {`func (t T) init() {}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tables := map[string]string{}
			if strings.Contains(c.text, "var listed") {
				tables["pkg/a.listed"] = "planted"
			}
			expect(t, checkState(tables, []source{parse(t, "pkg/a/a.go", "package a\n"+c.text+"\n")}), c.want)
		})
	}
}

func TestATableThatIsGoneLosesItsPermission(t *testing.T) {
	expect(t, checkState(map[string]string{"pkg/a.gone": "planted"}, nil), []string{"the table pkg/a.gone is gone"})
}
