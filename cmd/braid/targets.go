package main

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/braidhq/braid/internal/output"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

// savedTarget is a target as it is remembered, so that a resume writes where the run would have written.
type savedTarget struct {
	Path    string `json:"path"`
	Format  string `json:"format"`
	Replace bool   `json:"replace"` // a file that is there may be replaced
	// Of a table in a database:
	IfExists   query.IfExists `json:"if_exists,omitempty"`
	Connection string         `json:"connection,omitempty"`
}

func (a *app) targetsFile(id string) string {
	return filepath.Join(a.dataDir, "outputs", id+".json")
}

// saveTargets remembers where a query's table goes. Without it a resume still runs, and says how to export.
func (a *app) saveTargets(id string, targets []target) {
	var saved []savedTarget
	for _, t := range targets {
		if t.path == "-" {
			continue // a table on stdout was for whoever read it then
		}
		path := t.path
		if !t.isPostgres() {
			var err error
			if path, err = filepath.Abs(t.path); err != nil {
				return
			}
		}
		saved = append(saved, savedTarget{path, string(t.format), t.replace, t.into.ifExists, t.into.connection})
	}
	data, err := json.Marshal(saved)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(a.targetsFile(id)), 0o700)
	}
	if err == nil {
		err = os.WriteFile(a.targetsFile(id), data, 0o600)
	}
	if err != nil {
		a.log.Warn("the outputs of the query are not remembered", "error", err)
	}
}

// savedTargets gives what saveTargets remembered, or nothing.
func (a *app) savedTargets(q *messages.Query) []target {
	if messages.CheckName(q.ID) != nil {
		return nil
	}
	data, err := os.ReadFile(a.targetsFile(q.ID))
	if err != nil {
		return nil
	}
	var saved []savedTarget
	if err := json.Unmarshal(data, &saved); err != nil {
		return nil
	}
	var targets []target
	for _, s := range saved {
		targets = append(targets, target{path: s.Path, format: output.Format(s.Format), replace: s.Replace, into: intoPostgres{s.IfExists, s.Connection}})
	}
	return targets
}

// mayWrite refuses targets that are there and may not be replaced.
func (a *app) mayWrite(targets []target) error {
	for i := range targets {
		if err := targets[i].check(); err != nil {
			return err
		}
		if err := a.checkBeside(targets[i], targets, nil); err != nil {
			return err
		}
	}
	return nil
}
