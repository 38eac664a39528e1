// Package settings fills flags that were not given on the command line: from the environment, then from a YAML file, else
// they keep their default. Every flag --some-name can be set as BRAID_SOME_NAME and as some_name. The package reads
// neither the environment nor files itself.
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
	FromFile    Origin = "file"
	FromDefault Origin = "default"
)

// File is a settings file: key → values as text.
type File struct {
	Name   string
	values map[string][]string
}

// ParseFile reads a settings file. known are the keys that may stand in it; an unknown one is an error with its line and
// the nearest known key. The error reports everything that is wrong.
func ParseFile(name string, data []byte, known []string) (*File, error) {
	doc, err := strictyaml.Parse(name, data, strictyaml.Bounds{Bytes: maxFileBytes})
	if err != nil {
		return nil, err
	}
	f := &File{Name: name, values: map[string][]string{}}
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

const onlyFlag = "command line only"

// OnlyFlags marks flags that ask the program for something once, such as --version. They are no settings: neither the
// environment nor a file gives them. A BRAID_VERSION that somebody set for another purpose does no harm.
func OnlyFlags(flags *pflag.FlagSet, names ...string) {
	flags.VisitAll(func(flag *pflag.Flag) {
		if slices.Contains(names, flag.Name) {
			flag.Annotations = map[string][]string{onlyFlag: nil}
		}
	})
}

func isSetting(flag *pflag.Flag) bool {
	_, only := flag.Annotations[onlyFlag]
	return !only && flag.Name != "help"
}

// Keys lists the names in a file of the flags that are settings, sorted. The flag config names the file, and does not
// stand in it.
func Keys(flags *pflag.FlagSet) []string {
	var keys []string
	flags.VisitAll(func(flag *pflag.Flag) {
		if isSetting(flag) && flag.Name != "config" {
			keys = append(keys, Key(flag.Name))
		}
	})
	slices.Sort(keys)
	return keys
}

// Key is the name of a flag's setting in a file.
func Key(flag string) string { return strings.ReplaceAll(flag, "-", "_") }

// Variable is the name of a flag's setting in the environment.
func Variable(flag string) string { return "BRAID_" + strings.ToUpper(Key(flag)) }

// Apply fills the flags that were not given. A variable that is empty or blank says nothing. file may be nil. It returns where each flag's value came from. The error
// names the variable or the file's key, and never shows a value.
func Apply(flags *pflag.FlagSet, getenv func(string) string, file *File) (map[string]Origin, error) {
	origins := map[string]Origin{}
	var errs []error
	flags.VisitAll(func(flag *pflag.Flag) {
		switch {
		case flag.Changed:
			origins[flag.Name] = FromFlag
		case !isSetting(flag):
			origins[flag.Name] = FromDefault
		case strings.TrimSpace(getenv(Variable(flag.Name))) != "":
			origins[flag.Name] = FromEnv
			errs = append(errs, set(flags, flag, []string{inVariable(flag, getenv)}, Variable(flag.Name)))
		case file != nil && len(file.values[Key(flag.Name)]) > 0:
			origins[flag.Name] = FromFile
			errs = append(errs, set(flags, flag, file.values[Key(flag.Name)], file.Name+": "+Key(flag.Name)))
		default:
			origins[flag.Name] = FromDefault
		}
	})
	return origins, errors.Join(errs...)
}

// inVariable gives the value of a flag's variable. White space around it belongs to a text, and to nothing else.
func inVariable(flag *pflag.Flag, getenv func(string) string) string {
	value := getenv(Variable(flag.Name))
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
