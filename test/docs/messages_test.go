package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/braidhq/braid/internal/httpapi/contract"
)

const troubleshooting = "docs/troubleshooting.md"

func TestEveryKindOfProblemHasItsCureOnThePage(t *testing.T) {
	var b strings.Builder
	b.WriteString("| type | status | means | do |\n|---|---|---|---|\n")
	kinds := contract.Kinds()
	slices.SortFunc(kinds, func(a, b contract.Kind) int { return strings.Compare(a.Slug, b.Slug) })
	for _, k := range kinds {
		if k.Fix == "" {
			t.Errorf("the kind %s has no cure", k.Slug)
		}
		fmt.Fprintf(&b, "| `/problems/%s` | %d | %s | %s |\n", k.Slug, k.Status, cell(k.Title), cell(k.Fix))
	}
	holdsPart(t, troubleshooting, "problems", b.String())
}

func TestEveryMessageOfWrongUseIsOnThePage(t *testing.T) {
	var b strings.Builder
	for _, m := range wrongUse(t) {
		fmt.Fprintf(&b, "- %s\n", cell(m))
	}
	holdsPart(t, troubleshooting, "wrong use", b.String())
}

func TestEverySentinelErrorHasItsCureOnThePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, troubleshooting))
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]bool)
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|[^|]+\\|[^|]*[a-z][^|]*\\|$").FindAllStringSubmatch(string(page), -1) {
		rows[m[1]] = true
	}
	texts := sentinels(t)
	if len(texts) < 30 {
		t.Fatalf("only %d errors were found in the code", len(texts))
	}
	for _, s := range texts {
		if !rows[s.text] && !rows[s.text+": …"] {
			t.Errorf("%s: %q has no line in the tables of %s: | `%s` | what it means | what to do |", s.where, s.text, troubleshooting, s.text)
		}
	}
}

func TestEveryExitCodeIsOnThePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, troubleshooting))
	if err != nil {
		t.Fatal(err)
	}
	source := read(t, "cmd/braid/exit.go")
	codes := regexp.MustCompile(`(?m)^\texit\w+\s+= (\d+)`).FindAllStringSubmatch(string(source), -1)
	if len(codes) < 8 {
		t.Fatalf("only %d exit codes were found", len(codes))
	}
	for _, code := range codes {
		if !strings.Contains(string(page), "\n| "+code[1]+" |") {
			t.Errorf("%s does not explain the exit code %s", troubleshooting, code[1])
		}
	}
}

// cell is text as a table or a list of Markdown shows it.
func cell(text string) string {
	parts := strings.Split(strings.ReplaceAll(text, "\n", " "), "`")
	for i := range parts {
		if i%2 == 0 { // not code
			parts[i] = strings.NewReplacer("<", "&lt;", "*", `\*`, "_", `\_`).Replace(parts[i])
		}
	}
	return strings.ReplaceAll(strings.Join(parts, "`"), "|", `\|`)
}

type sentinel struct{ where, text string }

// unseen are packages whose errors nobody sees: callers branch on them and say something else.
func unseen() []string {
	return []string{"pkg/lease", "pkg/lease/leasetest", "pkg/breaker", "internal/testkit", "internal/worker"}
}

// sentinels finds the errors that are package variables, in the packages of the binaries.
func sentinels(t *testing.T) []sentinel {
	var all []sentinel
	eachFile(t, []string{"pkg", "internal", "cmd"}, func(name string, file *ast.File) {
		if slices.Contains(unseen(), filepath.ToSlash(filepath.Dir(name))) {
			return
		}
		for _, decl := range file.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.VAR {
				continue
			}
			for _, spec := range group.Specs {
				value := spec.(*ast.ValueSpec)
				for i, ident := range value.Names {
					if !strings.HasPrefix(ident.Name, "Err") || i >= len(value.Values) {
						continue
					}
					if format, ok := firstText(value.Values[i], "New", "Errorf"); ok {
						all = append(all, sentinel{name, plain(format)})
					}
				}
			}
		}
	})
	return all
}

// wrongUse finds what the command line says of flags, files and values: the formats of usage, where they are more than an error that is passed on.
func wrongUse(t *testing.T) []string {
	var all []string
	eachFile(t, []string{"cmd/braid"}, func(_ string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			expr, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			if format, ok := firstText(expr, "usage"); ok && strings.Count(plain(format), " ") > 3 {
				all = append(all, plain(format))
			}
			return true
		})
	})
	slices.Sort(all)
	return slices.Compact(all)
}

// firstText is the text that a call of one of these functions begins with.
func firstText(expr ast.Expr, functions ...string) (string, bool) {
	call, ok := expr.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return "", false
	}
	name := ""
	switch f := call.Fun.(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		name = f.Sel.Name
	}
	literal, ok := call.Args[0].(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING || !slices.Contains(functions, name) {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}

var verb = regexp.MustCompile(`%[-+ #0-9.]*[a-zA-Z]`)

// plain puts an ellipsis where a format has a value.
func plain(format string) string { return verb.ReplaceAllString(format, "…") }

// eachFile parses the files below folders that are not tests.
func eachFile(t *testing.T, folders []string, do func(name string, file *ast.File)) {
	t.Helper()
	for _, folder := range folders {
		err := fs.WalkDir(os.DirFS(root), folder, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.ParseComments)
			if err == nil {
				do(name, file)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
