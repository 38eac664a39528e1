// Package settings fills flags that were not given on the command line: from the environment, then from YAML files, else
// they keep their default. Every flag --some-name can be set as BRAID_SOME_NAME and as some_name, unless it was given
// another name by Named. The package reads neither the environment nor files itself.
package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/braidhq/braid/pkg/strictyaml"
)

// ErrSetting reports a value that its flag does not take.
var ErrSetting = errors.New("wrong setting")

const maxFileBytes = 1 << 20

// Origin says where a setting's value came from.
type Origin string

// The origins, the strongest first.
const (
	FromFlag    Origin = "flag"
	FromEnv     Origin = "environment"
	FromContext Origin = "context"
	FromFile    Origin = "file"
	FromDefault Origin = "default"
)

// File is a settings file: key → values as text.
type File struct {
	Name   string
	Origin Origin // of what it sets: FromFile, unless changed
	values map[string][]string
}

// Has tells whether the file gives a value to a key.
func (f *File) Has(key string) bool { return f != nil && len(f.values[key]) > 0 }

// Text is the value of a key that takes one; empty when there is none.
func (f *File) Text(key string) string {
	if !f.Has(key) {
		return ""
	}
	return f.values[key][0]
}

// ParseFile reads a settings file. known are the keys that may stand in it; an unknown one is an error with its line and
// the nearest known key. The error reports everything that is wrong.
func ParseFile(name string, data []byte, known []string) (*File, error) {
	doc, err := strictyaml.Parse(name, data, strictyaml.Bounds{Bytes: maxFileBytes})
	if err != nil {
		return nil, err
	}
	f := &File{Name: name, Origin: FromFile, values: map[string][]string{}}
	if kind := doc.Root().Kind(); kind != strictyaml.Mapping && kind != strictyaml.Null {
		doc.Root().Fail("the file is %s; write one setting a line, as key: value", kind)
	}
	for key, node := range doc.Root().Entries() {
		if !slices.Contains(known, key) {
			node.Fail("there is no setting %q%s", key, strictyaml.DidYouMean(key, known))
			continue
		}
		switch node.Kind() {
		case strictyaml.Scalar:
			f.values[key] = []string{node.Text()}
		case strictyaml.List:
			for item := range node.Items() {
				f.values[key] = append(f.values[key], textOf(item))
			}
		case strictyaml.Absent, strictyaml.Null: // as if it did not stand there
		case strictyaml.Mapping:
			for name, item := range node.Entries() {
				f.values[key] = append(f.values[key], name+"="+textOf(item))
			}
		}
	}
	return f, doc.Err()
}

func textOf(item strictyaml.Node) string {
	if item.Kind() != strictyaml.Scalar {
		item.Fail("it is %s; write a text", item.Kind())
	}
	return item.Text()
}

// Marks of flags, in their annotations.
const (
	onlyFlag  = "command line only"
	notInFile = "command line and environment only"
	ownName   = "name as a setting"
)

// OnlyFlags marks flags that ask the program for something once, such as --version. They are no settings: neither the
// environment nor a file gives them. A BRAID_VERSION that somebody set for another purpose does no harm.
func OnlyFlags(flags *pflag.FlagSet, names ...string) {
	flags.VisitAll(func(flag *pflag.Flag) {
		if slices.Contains(names, flag.Name) {
			mark(flag, onlyFlag)
		}
	})
}

// NotInFile marks flags that the environment may give, and a file may not: those that say which file counts.
func NotInFile(flags *pflag.FlagSet, names ...string) {
	flags.VisitAll(func(flag *pflag.Flag) {
		if slices.Contains(names, flag.Name) {
			mark(flag, notInFile)
		}
	})
}

// Named gives a flag another name as a setting, where commands have flags of one name that mean different things.
func Named(flags *pflag.FlagSet, flag, setting string) { mark(flags.Lookup(flag), ownName, setting) }

func mark(flag *pflag.Flag, as string, values ...string) {
	if flag.Annotations == nil {
		flag.Annotations = map[string][]string{}
	}
	flag.Annotations[as] = values
}

// NameOf is a flag's name as a setting: that of Named, or its own.
func NameOf(flag *pflag.Flag) string {
	if name := flag.Annotations[ownName]; len(name) == 1 {
		return name[0]
	}
	return flag.Name
}

// IsSetting tells whether anything but the command line can give the flag.
func IsSetting(flag *pflag.Flag) bool {
	_, only := flag.Annotations[onlyFlag]
	return !only && flag.Name != "help"
}

// Keys lists the names in a file of the flags that are settings, sorted. The flag config names the file, and does not
// stand in it.
func Keys(flags *pflag.FlagSet) []string {
	var keys []string
	flags.VisitAll(func(flag *pflag.Flag) {
		if _, barred := flag.Annotations[notInFile]; IsSetting(flag) && !barred && flag.Name != "config" {
			keys = append(keys, Key(NameOf(flag)))
		}
	})
	slices.Sort(keys)
	return keys
}

// Key is the name of a flag's setting in a file.
func Key(flag string) string { return strings.ReplaceAll(flag, "-", "_") }

// Variable is the name of a flag's setting in the environment.
func Variable(flag string) string { return "BRAID_" + strings.ToUpper(Key(flag)) }

// Apply fills the flags that were not given. A variable that is empty or blank says nothing. files are the strongest first,
// and may be nil. It returns where each flag's value came from. The error names the variable or the file's key, and never
// shows a value.
func Apply(flags *pflag.FlagSet, getenv func(string) string, files ...*File) (map[string]Origin, error) {
	origins := map[string]Origin{}
	var errs []error
	flags.VisitAll(func(flag *pflag.Flag) {
		variable, key := Variable(NameOf(flag)), Key(NameOf(flag))
		file := slices.IndexFunc(files, func(f *File) bool { return f.Has(key) })
		switch {
		case flag.Changed:
			origins[flag.Name] = FromFlag
		case !IsSetting(flag):
			origins[flag.Name] = FromDefault
		case strings.TrimSpace(getenv(variable)) != "":
			origins[flag.Name] = FromEnv
			errs = append(errs, set(flags, flag, []string{inVariable(flag, getenv(variable))}, variable))
		case file >= 0:
			origins[flag.Name] = files[file].Origin
			errs = append(errs, set(flags, flag, files[file].values[key], files[file].Name+": "+key))
		default:
			origins[flag.Name] = FromDefault
		}
	})
	return origins, errors.Join(errs...)
}

// inVariable gives the value of a flag's variable. White space around it belongs to a text, and to nothing else.
func inVariable(flag *pflag.Flag, value string) string {
	if strings.HasPrefix(flag.Value.Type(), "string") {
		return value
	}
	return strings.TrimSpace(value)
}

func set(flags *pflag.FlagSet, flag *pflag.Flag, values []string, source string) error {
	if len(values) > 1 && !takesSeveral(flag.Value) {
		return fmt.Errorf("%w: %s: it has %d values and takes one; see --help for --%s", ErrSetting, source, len(values), flag.Name)
	}
	for _, value := range values {
		if err := flags.Set(flag.Name, value); err != nil {
			return fmt.Errorf("%w: %s: want %s; see --help for --%s", ErrSetting, source, wanted(flag), flag.Name)
		}
	}
	return nil
}

// wanted says what a flag takes. A flag may say it itself, by a word in backquotes in its usage.
func wanted(flag *pflag.Flag) string {
	if name, usage := pflag.UnquoteUsage(flag); usage != flag.Usage {
		return name
	}
	switch flag.Value.Type() {
	case "bool":
		return "true or false"
	case "duration":
		return "a duration with its unit, such as 90s, 5m or 2h"
	case "int", "int64", "uint64":
		return "a whole number"
	case "float64":
		return "a number"
	case "stringToString":
		return "NAME=VALUE"
	}
	return "a " + flag.Value.Type()
}

// FlagError says in words what is wrong with a flag that pflag does not take; other errors stay as they are.
func FlagError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	return fmt.Errorf("--%s: %.80q is not usable; want %s", invalid.GetFlag().Name, invalid.GetValue(), wanted(invalid.GetFlag()))
}

func takesSeveral(value pflag.Value) bool {
	_, list := value.(pflag.SliceValue)
	return list || strings.HasPrefix(value.Type(), "stringTo")
}
