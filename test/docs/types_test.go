package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// language reads the types behind one of our YAML languages: which keys there are, what may be written, and what is said of them.
type language struct {
	t      *testing.T
	types  map[string]*ast.TypeSpec // those of the package itself
	consts map[string]string        // texts; those of other packages with the package's name and a dot
	choice map[string][]string      // type → texts, from its method Choices
	facts  map[string]fact
}

// key is one key, as a reader meets it.
type key struct {
	path     string // such as collections.*.params.*.type
	form     string
	doc      string
	required bool
	choices  []string
}

func readLanguage(t *testing.T, dir string, facts map[string]fact, also ...string) *language {
	t.Helper()
	l := &language{t: t, types: map[string]*ast.TypeSpec{}, consts: map[string]string{}, choice: map[string][]string{}, facts: facts}
	var methods []*ast.FuncDecl
	for _, folder := range append([]string{dir}, also...) {
		prefix := ""
		if folder != dir {
			prefix = path.Base(folder) + "."
		}
		for _, file := range parseFolder(t, folder) {
			for _, decl := range file.Decls {
				switch d := decl.(type) {
				case *ast.GenDecl:
					l.declare(d, prefix)
				case *ast.FuncDecl:
					if d.Name.Name == "Choices" && prefix == "" {
						methods = append(methods, d)
					}
				}
			}
		}
	}
	for _, m := range methods {
		l.choice[receiver(m)] = l.texts(m.Body)
	}
	return l
}

func parseFolder(t *testing.T, folder string) []*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

func (l *language) declare(d *ast.GenDecl, prefix string) {
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if prefix == "" {
				l.types[s.Name.Name] = s
			}
		case *ast.ValueSpec:
			for i, name := range s.Names {
				if i >= len(s.Values) {
					continue
				}
				if literal, ok := s.Values[i].(*ast.BasicLit); ok && literal.Kind == token.STRING {
					l.consts[prefix+name.Name], _ = strconv.Unquote(literal.Value)
				}
			}
		}
	}
}

func receiver(m *ast.FuncDecl) string {
	expr := m.Recv.List[0].Type
	if star, ok := expr.(*ast.StarExpr); ok {
		expr = star.X
	}
	return expr.(*ast.Ident).Name
}

// texts gives the texts that stand in a function, written out or by the name of a constant, in their order.
func (l *language) texts(body ast.Node) []string {
	var all []string
	ast.Inspect(body, func(n ast.Node) bool {
		text, ok := "", false
		switch e := n.(type) {
		case *ast.BasicLit:
			if e.Kind == token.STRING {
				text, _ = strconv.Unquote(e.Value)
				ok = true
			}
		case *ast.SelectorExpr:
			if pkg, is := e.X.(*ast.Ident); is {
				text, ok = l.consts[pkg.Name+"."+e.Sel.Name]
			}
		case *ast.Ident:
			text, ok = l.consts[e.Name]
		}
		if ok && !slices.Contains(all, text) {
			all = append(all, text)
		}
		return true
	})
	return all
}

// schema is JSON Schema of what stands at a place.
type schema = map[string]any

// visit tells of each key below a struct, in the order of the fields, and gives the struct's schema.
func (l *language) visit(s *ast.StructType, at string, tell func(key)) schema {
	properties, required := schema{}, []string{}
	for _, field := range s.Fields.List {
		if field.Tag == nil {
			continue
		}
		raw, _ := strconv.Unquote(field.Tag.Value)
		name, option, _ := strings.Cut(reflect.StructTag(raw).Get("yaml"), ",")
		if name == "" || name == "-" {
			continue
		}
		k := key{path: join(at, name), doc: saidOf(field), required: option == "required"}
		var below []key
		inner, form := l.value(field.Type, k.path, func(b key) { below = append(below, b) })
		k.form, k.choices = form, choicesOf(inner)
		delete(inner, ofItems)
		if k.doc == "" {
			l.t.Errorf("the key %s has no comment at its field; the reference is made of these", k.path)
		}
		if f, ok := l.facts[k.path]; ok {
			f.into(inner)
		}
		described := schema{"description": k.doc}
		maps.Copy(described, inner)
		properties[name] = described
		if k.required {
			required = append(required, name)
		}
		tell(k)
		for _, b := range below {
			tell(b)
		}
	}
	object := schema{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		object["required"] = required
	}
	return object
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

// zeroValue is how a comment in Go speaks of a key that is left out.
var zeroValue = regexp.MustCompile(`(^|; )(?:empty|nil|0):`)

// saidOf is what is said of a field: behind it, or above it.
func saidOf(field *ast.Field) string {
	for _, group := range []*ast.CommentGroup{field.Comment, field.Doc} {
		if group != nil {
			text := strings.Join(strings.Fields(group.Text()), " ")
			if len(field.Names) > 0 {
				text = strings.TrimPrefix(text, field.Names[0].Name+" is ")
			}
			return strings.TrimSuffix(zeroValue.ReplaceAllString(text, "${1}left out:"), ".")
		}
	}
	return ""
}

// ofItems carries the words that a list may have up to its key, and no further.
const ofItems = "words of the items"

func choicesOf(s schema) []string {
	list, _ := s["enum"].([]string)
	if of, ok := s[ofItems].([]string); ok {
		list = of
	}
	return list
}

// value gives the schema of what may stand for a type, and its form in words.
func (l *language) value(expr ast.Expr, at string, tell func(key)) (schema, string) {
	switch e := expr.(type) {
	case *ast.StarExpr:
		return l.value(e.X, at, tell)
	case *ast.ArrayType:
		item, form := l.value(e.Elt, at+"[]", tell)
		return schema{"type": "array", "items": item}, "list of " + plural(form)
	case *ast.MapType:
		return l.mapping(e.Value, at, tell)
	case *ast.StructType:
		return l.visit(e, at, tell), "mapping"
	case *ast.IndexExpr:
		switch name := typeName(e.X); name {
		case "strictyaml.Map":
			return l.mapping(e.Index, at, tell)
		case "strictyaml.OneOrMany":
			item, form := l.value(e.Index, at, tell)
			return schema{"anyOf": []any{item, schema{"type": "array", "items": item}}, ofItems: item["enum"]}, form + ", or a list"
		}
	}
	return l.named(typeName(expr), at, tell)
}

func (l *language) mapping(value ast.Expr, at string, tell func(key)) (schema, string) {
	item, form := l.value(value, at+".*", tell)
	return schema{"type": "object", "additionalProperties": item}, "name → " + form
}

func plural(form string) string {
	if form == "mapping" || form == "text" || form == "number" {
		return form + "s"
	}
	return form
}

func typeName(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return typeName(e.X) + "." + e.Sel.Name
	}
	return ""
}

// named gives what stands for a type by its name: what reads it by code of its own is described in forms.
func (l *language) named(name, at string, tell func(key)) (schema, string) {
	if other, ok := stands()[at]; ok {
		name = other
	}
	if f, ok := forms()[name]; ok {
		s := maps.Clone(f.schema)
		if s == nil {
			s = schema{}
		}
		if len(f.objects) > 0 {
			either := slices.Clone(f.orelse)
			for _, name := range f.objects {
				either = append(either, l.visit(l.types[name].Type.(*ast.StructType), at, tell))
			}
			s["anyOf"] = either
		}
		return s, f.words
	}
	if choices := l.choice[name]; len(choices) > 0 {
		return schema{"enum": choices}, "word"
	}
	spec := l.types[name]
	if spec == nil {
		l.t.Errorf("%s: nothing is known of the type %q; add it to forms in test/docs/forms_test.go", at, name)
		return schema{}, "?"
	}
	return l.value(spec.Type, at, tell)
}

var number = regexp.MustCompile(`^-?[0-9]+$`)

// fact is what the code says of a number or a default by its own calls: each is tried on the real reader.
type fact struct {
	least, most int64  // both 0: no number
	usual       string // what is meant when the key is left out
	with        string // YAML that the key needs beside it
	silent      bool   // the default is not what the reader sets, but what others take an absent key for
}

func (f fact) bounded() bool { return f.least != 0 || f.most != 0 }

func (f fact) into(s schema) {
	if f.bounded() && s["type"] != nil {
		s["minimum"], s["maximum"] = f.least, f.most
	}
	if f.usual != "" && number.MatchString(f.usual) {
		s["default"], _ = strconv.ParseInt(f.usual, 10, 64)
	} else if f.usual != "" {
		s["default"] = f.usual
	}
}

func (f fact) String() string { return fmt.Sprintf("%s to %s", grouped(f.least), grouped(f.most)) }

func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
