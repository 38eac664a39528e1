package settings_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// values is one flag of each kind.
type values struct {
	Listen string
	Wait   time.Duration
	Slots  int
	Open   bool
	Hosts  []string
	Mirror map[string]string
	Now    bool
}

func flagsOf(v *values) *pflag.FlagSet {
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&v.Listen, "listen-on", "127.0.0.1:1", "")
	flags.DurationVar(&v.Wait, "wait", time.Second, "")
	flags.IntVar(&v.Slots, "slots", 4, "")
	flags.BoolVar(&v.Open, "open", false, "")
	flags.StringSliceVar(&v.Hosts, "hosts", []string{"default"}, "")
	flags.StringToStringVar(&v.Mirror, "mirror", nil, "mirrors: `RIVER=URL`")
	flags.BoolVar(&v.Now, "now", false, "")
	settings.OnlyFlags(flags, "now")
	return flags
}

func env(pairs map[string]string) func(string) string {
	return func(name string) string { return pairs[name] }
}

// resolved is the way of a program: flags, then environment and file.
func resolved(t *testing.T, args []string, environment map[string]string, file string) (values, map[string]settings.Origin, error) {
	t.Helper()
	var v values
	flags := flagsOf(&v)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	var parsed *settings.File
	if file != "" {
		var err error
		if parsed, err = settings.ParseFile("braid.yaml", []byte(file), settings.Keys(flags)); err != nil {
			t.Fatal(err)
		}
	}
	origins, err := settings.Apply(flags, env(environment), parsed)
	return v, origins, err
}

func TestAFlagOutranksTheEnvironmentThatOutranksTheFile(t *testing.T) {
	file := "listen_on: file:1\nslots: 9\nhosts: [a, b]\nmirror: {rivers: 'http://127.0.0.1:1'}\n"
	environment := map[string]string{"BRAID_LISTEN_ON": "env:1", "BRAID_SLOTS": "8", "BRAID_OPEN": "true"}
	got, origins, err := resolved(t, []string{"--listen-on=flag:1"}, environment, file)
	if err != nil {
		t.Fatal(err)
	}
	want := values{
		Listen: "flag:1", Wait: time.Second, Slots: 8, Open: true, Hosts: []string{"a", "b"},
		Mirror: map[string]string{"rivers": "http://127.0.0.1:1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	wantOrigins := map[string]settings.Origin{
		"listen-on": settings.FromFlag, "wait": settings.FromDefault, "slots": settings.FromEnv, "open": settings.FromEnv,
		"hosts": settings.FromFile, "mirror": settings.FromFile, "now": settings.FromDefault,
	}
	if diff := cmp.Diff(wantOrigins, origins); diff != "" {
		t.Error(diff)
	}
}

func TestAFlagGivenAsItsDefaultStillOutranks(t *testing.T) {
	got, origins, err := resolved(t, []string{"--slots=4"}, map[string]string{"BRAID_SLOTS": "8"}, "")
	if err != nil || got.Slots != 4 || origins["slots"] != settings.FromFlag {
		t.Errorf("%d from %s, %v", got.Slots, origins["slots"], err)
	}
}

func TestAnEmptyVariableAndAKeyWithoutAValueSayNothing(t *testing.T) {
	got, origins, err := resolved(t, nil, map[string]string{"BRAID_SLOTS": ""}, "slots:\nwait: ~\n")
	if err != nil || got.Slots != 4 || origins["slots"] != settings.FromDefault || origins["wait"] != settings.FromDefault {
		t.Errorf("%+v from %v, %v", got, origins, err)
	}
	got, origins, err = resolved(t, nil, map[string]string{"BRAID_SLOTS": " \t", "BRAID_WAIT": " 2s\n", "BRAID_LISTEN_ON": " a "}, "")
	if err != nil || got.Slots != 4 || origins["slots"] != settings.FromDefault || got.Wait != 2*time.Second || got.Listen != " a " {
		t.Errorf("%+v from %v, %v", got, origins, err)
	}
	if _, _, err := resolved(t, nil, nil, "# nothing but a comment\n"); err != nil {
		t.Error(err)
	}
}

// BRAID_VERSION is a name that people give variables of their own.
func TestAVariableDoesNotAskForWhatOnlyAFlagAsks(t *testing.T) {
	got, origins, err := resolved(t, nil, map[string]string{"BRAID_NOW": "v1.2.3"}, "")
	if err != nil || got.Now || origins["now"] != settings.FromDefault {
		t.Errorf("%t from %s, %v", got.Now, origins["now"], err)
	}
	got, origins, err = resolved(t, []string{"--now"}, nil, "")
	if err != nil || !got.Now || origins["now"] != settings.FromFlag {
		t.Errorf("%t from %s, %v", got.Now, origins["now"], err)
	}
}

func TestAWrongValueIsToldByWhereItStandsAndNotShown(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		file string
		want []string
	}{
		"environment": {map[string]string{"BRAID_SLOTS": "hunter2"}, "", []string{"BRAID_SLOTS", "whole number", "--slots"}},
		"file":        {nil, "wait: hunter2\n", []string{"braid.yaml", "wait", "duration"}},
		"everything":  {map[string]string{"BRAID_SLOTS": "hunter2"}, "wait: hunter2\n", []string{"BRAID_SLOTS", "braid.yaml: wait"}},
		"two for one": {nil, "listen_on: [hunter2, hunter2]\n", []string{"listen_on", "2 values"}},
		"pairs":       {nil, "listen_on: {a: hunter2, b: hunter2}\n", []string{"listen_on", "2 values"}},
		"no pair":     {map[string]string{"BRAID_MIRROR": "hunter2"}, "", []string{"BRAID_MIRROR", "want RIVER=URL", "--mirror"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := resolved(t, nil, c.env, c.file)
			if !errors.Is(err, settings.ErrSetting) || strings.Contains(err.Error(), "hunter2") {
				t.Fatalf("the error is %v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not tell %q: %v", want, err)
				}
			}
		})
	}
}

func TestAFileThatCannotBeUsedIsToldWithItsLines(t *testing.T) {
	known := settings.Keys(flagsOf(&values{}))
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"an unknown key":      {"slots: 4\nslot: 5\n", []string{"braid.yaml:2", `"slot"`, `did you mean "slots"?`}},
		"two of them":         {"a: 1\nslots: 2\nb: 2\n", []string{"braid.yaml:1", "braid.yaml:3"}},
		"a key twice":         {"slots: 4\nslots: 5\n", []string{"braid.yaml:2", "slots"}},
		"a list of lists":     {"hosts:\n  - [a]\n", []string{"braid.yaml:2", "a list"}},
		"a nested mapping":    {"mirror:\n  a: {b: c}\n", []string{"braid.yaml:2", "a mapping"}},
		"nothing in a list":   {"hosts: [a, ~]\n", []string{"braid.yaml:1", "no value"}},
		"a list for a file":   {"- slots\n", []string{"braid.yaml:1", "key: value"}},
		"a text for a file":   {"slots\n", []string{"braid.yaml:1", "key: value"}},
		"no YAML":             {"slots: [\n", []string{"braid.yaml", "not YAML"}},
		"what only a flag is": {"now: true\n", []string{"braid.yaml:1", `"now"`}},
		"too long":            {strings.Repeat("#", 1<<20+1), []string{"braid.yaml", "bytes"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := settings.ParseFile("braid.yaml", []byte(c.text), known)
			if !errors.Is(err, strictyaml.ErrInvalid) {
				t.Fatalf("the error is %v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not tell %q: %v", want, err)
				}
			}
		})
	}
}

func TestNamesFollowFromTheFlag(t *testing.T) {
	if got := settings.Variable("lease-ttl"); got != "BRAID_LEASE_TTL" {
		t.Errorf("the variable is %s", got)
	}
	if got := settings.Key("lease-ttl"); got != "lease_ttl" {
		t.Errorf("the key is %s", got)
	}
	want := []string{"hosts", "listen_on", "mirror", "open", "slots", "wait"}
	if diff := cmp.Diff(want, settings.Keys(flagsOf(&values{}))); diff != "" {
		t.Error(diff)
	}
}

func TestOnlyWhatAFileCanSetIsOffered(t *testing.T) {
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	for _, name := range []string{"help", "config", "now", "slots"} {
		flags.String(name, "", "")
	}
	settings.OnlyFlags(flags, "now")
	if diff := cmp.Diff([]string{"slots"}, settings.Keys(flags)); diff != "" {
		t.Error(diff)
	}
}

func TestAWrongFlagIsToldInWords(t *testing.T) {
	for arg, want := range map[string]string{
		"--open=perhaps": `--open: "perhaps" is not usable; want true or false`,
		"--slots=many":   `--slots: "many" is not usable; want a whole number`,
		"--wait=3":       `--wait: "3" is not usable; want a duration with its unit, such as 90s, 5m or 2h`,
		"--mirror=x":     `--mirror: "x" is not usable; want RIVER=URL`,
		"--surprise":     `unknown flag: --surprise`,
	} {
		if err := settings.FlagError(flagsOf(&values{}).Parse([]string{arg})); err == nil || err.Error() != want {
			t.Errorf("%s: got %v\nwant %s", arg, err, want)
		}
	}
}

func FuzzParseFile(f *testing.F) {
	for _, text := range []string{"slots: 4\n", "hosts: [a, b]\n", "mirror: {a: b}\n", "- a\n", "a: &x 1\nb: *x\n", ""} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var v values
		flags := flagsOf(&v)
		file, err := settings.ParseFile("braid.yaml", data, settings.Keys(flags))
		if err != nil {
			if !errors.Is(err, strictyaml.ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		if _, err := settings.Apply(flags, env(nil), file); err != nil && !errors.Is(err, settings.ErrSetting) {
			t.Fatal(err)
		}
	})
}

// A context is a file beside the settings file, and stronger than it.
func TestTheStrongestFileCounts(t *testing.T) {
	var v values
	flags := flagsOf(&v)
	parse := func(name, text string) *settings.File {
		f, err := settings.ParseFile(name, []byte(text), settings.Keys(flags))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	strong := parse("context.yaml", "listen_on: context:1\n")
	strong.Origin = settings.FromContext
	weak := parse("braid.yaml", "listen_on: file:1\nslots: 9\n")
	origins, err := settings.Apply(flags, env(nil), strong, nil, weak)
	if err != nil || v.Listen != "context:1" || origins["listen-on"] != settings.FromContext || v.Slots != 9 || origins["slots"] != settings.FromFile {
		t.Errorf("%+v from %v, %v", v, origins, err)
	}
	if !strong.Has("listen_on") || strong.Has("slots") || strong.Text("listen_on") != "context:1" || strong.Text("slots") != "" || (*settings.File)(nil).Has("slots") {
		t.Error("what a file says is not told")
	}
}

func TestAFlagMayHaveAnotherNameAsASetting(t *testing.T) {
	var v values
	flags := flagsOf(&v)
	settings.Named(flags, "slots", "api-slots")
	settings.NotInFile(flags, "wait")
	want := []string{"api_slots", "hosts", "listen_on", "mirror", "open"}
	if diff := cmp.Diff(want, settings.Keys(flags)); diff != "" {
		t.Error(diff)
	}
	file, err := settings.ParseFile("braid.yaml", []byte("api_slots: 7\n"), settings.Keys(flags))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := settings.Apply(flags, env(map[string]string{"BRAID_SLOTS": "8", "BRAID_WAIT": "2s"}), file); err != nil || v.Slots != 7 || v.Wait != 2*time.Second {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := settings.ParseFile("braid.yaml", []byte("wait: 2s\n"), settings.Keys(flags)); err == nil {
		t.Error("a file sets what only the environment may")
	}
	v.Slots = 4
	flags = flagsOf(&v)
	settings.Named(flags, "slots", "api-slots")
	if _, err := settings.Apply(flags, env(map[string]string{"BRAID_API_SLOTS": "many"})); !errors.Is(err, settings.ErrSetting) || !strings.Contains(err.Error(), "BRAID_API_SLOTS") {
		t.Errorf("the error is %v", err)
	}
}
