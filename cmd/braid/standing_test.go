package main

import (
	"io"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

// withSettings is a program whose settings were read for a command.
func withSettings(t *testing.T, command string, args []string, env map[string]string, file string) (*app, error) {
	t.Helper()
	home := t.TempDir()
	a := &app{getenv: func(name string) string {
		if name == "HOME" {
			return home
		}
		return env[name]
	}, stdout: io.Discard, stderr: io.Discard}
	if file != "" {
		a.config = home + "/config.yaml"
		if err := os.WriteFile(a.config, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", a.config)
	}
	cmd, rest, err := a.root().Find(append([]string{command}, args...))
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return nil, err
	}
	if err := a.setUp(cmd); err != nil {
		return nil, err
	}
	err = a.checkEmbedded()
	return a, err
}

const server = "--server=http://127.0.0.1:1"

func TestAQueryAsksForItsRankAsTheStrongestSourceSays(t *testing.T) {
	env, file := map[string]string{"BRAID_PRIORITY": "-2", "BRAID_WEIGHT": "20"}, "priority: 3\nweight: 30\n"
	asked := query.Run{Priority: new(0), Weight: 1}
	for name, c := range map[string]struct {
		args []string
		env  map[string]string
		file string
		run  query.Run
		want messages.Rank
	}{
		"nobody":           {nil, nil, "", query.Run{}, messages.Rank{}},
		"flag":             {[]string{"--priority", "-1", "--weight", "10"}, env, file, asked, messages.Rank{Priority: -1, Weight: 10}},
		"flag as default":  {[]string{"--priority=0", "--weight=1"}, env, file, query.Run{Priority: new(9), Weight: 9}, messages.Rank{}},
		"environment":      {nil, env, file, asked, messages.Rank{Priority: -2, Weight: 20}},
		"query":            {nil, nil, file, query.Run{Priority: new(9), Weight: 9}, messages.Rank{Priority: 9, Weight: 9}},
		"query as default": {nil, nil, file, asked, messages.Rank{}},
		"settings":         {nil, nil, file, query.Run{}, messages.Rank{Priority: 3, Weight: 30}},
	} {
		a, err := withSettings(t, "run", c.args, c.env, c.file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		spec := &query.Spec{Run: c.run}
		if a.askStanding(spec); spec.Run.Rank() != c.want {
			t.Errorf("%s: %+v, want %+v", name, spec.Run.Rank(), c.want)
		}
	}
	for _, wrong := range [][]string{{"--priority=11"}, {"--priority=-11"}, {"--weight=0"}, {"--weight=101"}, {"--weight=1.5"}, {"--priority=high"}} {
		if _, err := withSettings(t, "run", wrong, nil, ""); err == nil {
			t.Errorf("%v is taken", wrong)
		}
	}
}

// Flag and environment change a query that is resumed; without them it goes on as it stood.
func TestAResumeAsksOnlyForWhatItIsTold(t *testing.T) {
	stands := &messages.Query{InFlight: 8, Rank: messages.Rank{Priority: 4, Weight: 4}}
	file := "in_flight: 6\npriority: 3\nweight: 30\n"
	for name, c := range map[string]struct {
		args []string
		env  map[string]string
		file string
		q    *messages.Query
		want query.Resumption
	}{
		"nothing":                               {nil, nil, "", stands, query.Resumption{}},
		"flag":                                  {[]string{"--in-flight=1", "--priority=0"}, map[string]string{"BRAID_IN_FLIGHT": "2"}, file, stands, query.Resumption{InFlight: new(messages.InFlight(1)), Priority: new(0)}},
		"environment":                           {nil, map[string]string{"BRAID_IN_FLIGHT": "unbounded", "BRAID_WEIGHT": "1"}, file, stands, query.Resumption{InFlight: new(messages.Unbounded), Weight: new(1)}},
		"settings":                              {nil, nil, file, stands, query.Resumption{}},
		"settings of a query that says nothing": {nil, nil, file, &messages.Query{}, query.Resumption{Priority: new(3), Weight: new(30)}},
		"the same, and a server":                {[]string{server}, nil, file, &messages.Query{}, query.Resumption{InFlight: new(messages.InFlight(6)), Priority: new(3), Weight: new(30)}},
	} {
		for _, command := range []string{"resume", "retry"} {
			a, err := withSettings(t, command, c.args, c.env, c.file)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			again := query.Resumption{}
			a.askAgain(&again, c.q)
			if diff := cmp.Diff(c.want, again); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", command, name, diff)
			}
		}
	}
}

// The settings file is no word about one query: a server is told, this process reads it anew each time.
func TestTheSettingsFileHoldsForTheProcessThatReadsIt(t *testing.T) {
	for _, c := range []struct {
		args         []string
		asked, holds messages.InFlight
	}{{nil, 0, 6}, {[]string{server}, 6, 6}} {
		a, err := withSettings(t, "run", c.args, nil, "in_flight: 6\n")
		if err != nil {
			t.Fatal(err)
		}
		spec := &query.Spec{Run: query.Run{OnQuota: query.OnQuota{WaitUpTo: query.Duration(time.Hour)}}}
		a.askStanding(spec)
		if spec.Run.InFlight != c.asked || a.defaultInFlight() != c.holds || a.operatorsInFlight() != 0 {
			t.Errorf("%v: the query asks for %s, %s holds by default, and %s for all", c.args, spec.Run.InFlight, a.defaultInFlight(), a.operatorsInFlight())
		}
	}
}
