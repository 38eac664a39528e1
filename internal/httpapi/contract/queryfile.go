package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/braidhq/braid/pkg/query"
)

// MaxQueryFileBytes bounds the body that carries a query file with its files of values.
const MaxQueryFileBytes = 16 << 20

const maxValueFiles = 64

// QueryFile is a query file as a person has written it, with the files of values that it names.
type QueryFile struct {
	Name  string            `json:"name,omitempty" doc:"Name of the file, which names the query; left out: query.yaml"`
	Text  string            `json:"text" doc:"The file itself: YAML"`
	Files map[string]string `json:"files,omitempty" doc:"Text of each file of values, by the path that the query file calls it by"`
}

// QueryFileRead is a query file, read.
type QueryFileRead struct {
	Spec  *query.Spec `json:"spec" doc:"The query, as it is planned and submitted"`
	Notes []string    `json:"notes" nullable:"false" doc:"What a person should know of: what was dropped, and what a server does not do"`
}

// DecodeQueryFile reads the body that carries a query file.
func DecodeQueryFile(data []byte) (*QueryFile, error) {
	f := new(QueryFile)
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(f); err != nil {
		return nil, fmt.Errorf("decode query file: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("decode query file: there is more behind it")
	}
	if len(f.Files) > maxValueFiles {
		return nil, fmt.Errorf("files: %d files of values, at most %d", len(f.Files), maxValueFiles)
	}
	if f.Name == "" {
		f.Name = "query.yaml"
	}
	return f, nil
}
