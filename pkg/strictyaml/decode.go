package strictyaml

import (
	"encoding"
	"reflect"
	"slices"
	"strings"
)

// Decode reads the node into the value that into points to. Problems are noted in the document. Fields are named by
// their tag `yaml:"name"`, with `yaml:"name,required"` for keys that must be there and `yaml:"name,later"` for keys that are
// not offered in messages; a field without a tag is not read.
func (n Node) Decode(into any) {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		n.Fail("cannot be read into %T, which is not a pointer", into)
		return
	}
	n.decode(v.Elem())
}

func (n Node) decode(v reflect.Value) {
	if v.Type() == reflect.TypeFor[Node]() {
		v.Set(reflect.ValueOf(n))
		return
	}
	if v.Kind() == reflect.Pointer {
		fresh := reflect.New(v.Type().Elem())
		n.decode(fresh.Elem())
		v.Set(fresh)
		return
	}
	switch target := v.Addr().Interface().(type) {
	case Unmarshaler:
		target.UnmarshalStrict(n)
		return
	case encoding.TextUnmarshaler:
		n.decodeText(target)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		n.decodeStruct(v)
	case reflect.Slice:
		n.decodeSlice(v)
	case reflect.Map:
		n.decodeMap(v)
	default:
		n.decodeScalar(v)
	}
}

// expect tells whether the node is of the kind. A list or mapping without a value is an empty one: all its entries may
// be commented out. A scalar without a value is refused: it would silently mean the default.
func (n Node) expect(kind Kind) bool {
	switch got := n.Kind(); {
	case got == kind:
		return true
	case got == Null && kind == Scalar:
		n.Fail("has no value; give one, quote it to mean the word, or remove the key")
	case got == Null:
	default:
		n.Fail("is %s, want %s", got, kind)
	}
	return false
}

func (n Node) decodeText(target encoding.TextUnmarshaler) {
	if !n.expect(Scalar) {
		return
	}
	if err := target.UnmarshalText([]byte(n.yaml.Value)); err != nil {
		n.Fail("%s", err)
	}
}

type field struct {
	name     string
	index    int
	required bool
	later    bool
}

func fieldsOf(t reflect.Type) []field {
	var fields []field
	for i := range t.NumField() {
		tag, ok := t.Field(i).Tag.Lookup("yaml")
		name, option, _ := strings.Cut(tag, ",")
		if ok && name != "-" {
			fields = append(fields, field{name: name, index: i, required: option == "required", later: option == "later"})
		}
	}
	return fields
}

func (n Node) decodeStruct(v reflect.Value) {
	if !n.expect(Mapping) && n.Kind() != Null {
		return
	}
	fields := fieldsOf(v.Type())
	var offered []string
	for _, f := range fields {
		if !f.later {
			offered = append(offered, f.name)
		}
	}
	given := make(map[string]bool, len(fields))
	for key, value := range n.pairs() {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == key.yaml.Value })
		if i < 0 {
			value.at(key).Fail("unknown key%s", DidYouMean(key.yaml.Value, offered))
			continue
		}
		given[fields[i].name] = true
		value.decode(v.Field(fields[i].index))
	}
	for _, f := range fields {
		if f.required && !given[f.name] {
			n.Fail("the key %q is missing", f.name)
		}
	}
}

func (n Node) decodeSlice(v reflect.Value) {
	if !n.expect(List) {
		return
	}
	list := reflect.MakeSlice(v.Type(), n.Len(), n.Len())
	for i := range n.Len() {
		n.index(i).decode(list.Index(i))
	}
	v.Set(list)
}

func (n Node) decodeMap(v reflect.Value) {
	if v.Type().Key().Kind() != reflect.String {
		n.Fail("cannot be read into %s", v.Type())
		return
	}
	if !n.expect(Mapping) {
		return
	}
	entries := reflect.MakeMapWithSize(v.Type(), n.Len())
	for key, value := range n.pairs() {
		entry := reflect.New(v.Type().Elem()).Elem()
		value.decode(entry)
		entries.SetMapIndex(reflect.ValueOf(key.yaml.Value).Convert(v.Type().Key()), entry)
	}
	v.Set(entries)
}
