package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
		_, coverageErr := output.Save(coverageFile, func(w writer) error { return writeCoverage(w, coverage) })
		_, manifestErr := output.Save(manifestFile, func(w writer) error { return writeManifest(w, manifest) })
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

// checkBeside refuses what stands where the files beside a table are to be written, unless it may be replaced.
func (a *app) checkBeside(t target) error {
	if a.tableOnly || t.path == "-" || t.isPostgres() {
		return nil
	}
	coverage, manifest := besides(stemOf(t.path))
	for _, path := range []string{coverage, manifest} {
		if _, err := os.Lstat(path); err == nil && !t.replace {
			return usage("%s exists, which is written beside the table; name another file with -o, write `if_exists: replace` in the query, or say --table-only", path)
		}
	}
	return nil
}

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
