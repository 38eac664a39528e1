package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/braidhq/braid/internal/output"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

// proof is what stands beside a table: what came of each value that was asked for, and what the table is made of.
type proof struct {
	coverage     *messages.Coverage
	coverageFile string // the first one; empty: none was written
	manifestFile string
}

// prove tells what a query's table is worth, and writes it beside the files of the table.
func (a *app) prove(ctx context.Context, s *session, id string, outputs []written) (*proof, error) {
	coverage, err := s.Coverage(ctx, id)
	if err != nil {
		return nil, err
	}
	p := &proof{coverage: coverage}
	stems := stemsOf(outputs)
	if a.tableOnly || len(stems) == 0 {
		return p, nil
	}
	manifest, err := s.Manifest(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, o := range outputs {
		manifest.Outputs = append(manifest.Outputs, messages.ManifestOutput{Path: outputName(o.Path), Format: o.Format, Rows: o.Report.Rows, Bytes: o.Bytes, SHA256: o.SHA256})
	}
	var errs []error
	for _, stem := range stems {
		coverageFile, manifestFile := besides(stem)
		a.noteOthers(manifestFile, manifest)
		own := *manifest
		own.Outputs = append(slices.Clip(own.Outputs), siblings(manifestFile, manifest)...)
		_, coverageErr := output.Save(coverageFile, func(w writer) error { return writeCoverage(w, coverage) })
		_, manifestErr := output.Save(manifestFile, func(w writer) error { return writeManifest(w, &own) })
		errs = append(errs, coverageErr, manifestErr)
		if p.coverageFile == "" && coverageErr == nil {
			p.coverageFile = coverageFile
		}
		if p.manifestFile == "" && manifestErr == nil {
			p.manifestFile = manifestFile
		}
	}
	if err := errors.Join(errs...); err != nil {
		return p, fmt.Errorf("the table is written; what stands beside it is not: %w", err)
	}
	return p, nil
}

// siblings are other files of the same query that the manifest of before proves, as far as they are still there.
func siblings(path string, now *messages.Manifest) []messages.ManifestOutput {
	before := readManifest(path)
	if before == nil || before.Query.ID != now.Query.ID || before.Query.Updated != now.Query.Updated {
		return nil
	}
	return othersBeside(path, before, func(name string) bool {
		return slices.ContainsFunc(now.Outputs, func(o messages.ManifestOutput) bool { return o.Path == name })
	})
}

// noteOthers tells of tables of another query that a manifest has proved, and will no more.
func (a *app) noteOthers(path string, now *messages.Manifest) {
	before := readManifest(path)
	if before == nil || before.Query.ID == now.Query.ID {
		return
	}
	others := othersBeside(path, before, func(name string) bool {
		return slices.ContainsFunc(now.Outputs, func(o messages.ManifestOutput) bool { return o.Path == name })
	})
	for _, o := range others {
		a.line("note", "%s proved %s too, a table of query %s; it proves query %s from now on (braid manifest %s gives the other)", path, o.Path, before.Query.ID, now.Query.ID, before.Query.ID)
	}
}

// othersBeside gives the files that a manifest proves and that are there, but for some.
func othersBeside(path string, m *messages.Manifest, except func(name string) bool) []messages.ManifestOutput {
	var others []messages.ManifestOutput
	for _, o := range m.Outputs {
		if o.Path != filepath.Base(o.Path) || except(o.Path) {
			continue
		}
		if info, err := os.Lstat(filepath.Join(filepath.Dir(path), o.Path)); err == nil && info.Mode().IsRegular() {
			others = append(others, o)
		}
	}
	return others
}

// readManifest gives a manifest of ours; nil: there is none, or it is something else.
func readManifest(path string) *messages.Manifest {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxManifestBytes {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	m, err := messages.DecodeManifest(data)
	if err != nil {
		return nil
	}
	return m
}

const maxManifestBytes = 1 << 30

// outputName leaves out of a manifest in which folder of which machine a file was written: it stands beside it.
func outputName(path string) string {
	if path == "-" {
		return "stdout"
	}
	return filepath.Base(path)
}

// besides are the files beside a table.
func besides(stem string) (coverage, manifest string) {
	return stem + ".coverage.csv", stem + ".manifest.json"
}

// stemsOf gives the paths of the files without their endings, each once.
func stemsOf(outputs []written) []string {
	var stems []string
	seen := map[string]bool{}
	for _, o := range outputs {
		if stem := stemOf(o.Path); o.Path != "-" && o.Postgres == nil && !seen[stem] {
			seen[stem] = true
			stems = append(stems, stem)
		}
	}
	return stems
}

func stemOf(path string) string {
	if format, err := output.FormatOf(path, ""); err == nil && format != "" {
		return strings.TrimSuffix(path, filepath.Ext(path))
	}
	return path
}

// checkBeside refuses to write beside a table what would take the place of something else: of another table or a file that the query
// reads, or of what is no coverage or manifest of ours.
func (a *app) checkBeside(t target, all []target, inputs []string) error {
	if a.tableOnly || t.path == "-" || t.isPostgres() {
		return nil
	}
	const instead = "name another file with -o, or say --table-only"
	coverage, manifest := besides(stemOf(t.path))
	for _, path := range []string{coverage, manifest} {
		for _, other := range all {
			if !other.isPostgres() && samePath(other.path, path) {
				return usage("%s would be written beside %s, and is a table to be written itself; %s", path, t.path, instead)
			}
		}
		for _, input := range inputs {
			if samePath(input, path) {
				return usage("%s would be written beside %s, and the query reads it; %s", path, t.path, instead)
			}
		}
		_, err := os.Lstat(path)
		switch {
		case err != nil: // nothing is there
		case !t.replace:
			return usage("%s exists, which is written beside the table; name another file with -o, write `output: {to: %s, if_exists: replace}` in the query, or say --table-only", path, t.path)
		case path == coverage && !isCoverage(path), path == manifest && readManifest(path) == nil:
			return usage("%s exists and is nothing that braid wrote; it would be replaced by what is written beside the table: %s", path, instead)
		}
	}
	return nil
}

// samePath tells whether two paths lead to the same place, as far as their names tell.
func samePath(a, b string) bool {
	if a == "-" || b == "-" {
		return a == b
	}
	x, errX := filepath.Abs(a)
	y, errY := filepath.Abs(b)
	return errX == nil && errY == nil && x == y
}

// isCoverage tells whether a file begins as writeCoverage begins.
func isCoverage(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close() //nolint:errcheck // it was only read
	start := make([]byte, len(coverageHeader))
	_, err = io.ReadFull(file, start)
	return err == nil && string(start) == coverageHeader
}

const coverageHeader = "parameter,value,state,rows\n"

func writeManifest(w writer, m *messages.Manifest) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false) // URLs stay as they are
	return enc.Encode(m)
}

// partialName is where a table goes that rows are missing from: never under the name of the finished one.
func partialName(path string) string {
	if _, is, _ := query.ParsePostgres(path); is {
		return path + "_partial"
	}
	stem := stemOf(path)
	return stem + ".partial" + strings.TrimPrefix(path, stem)
}
