package service

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ErrPinned reports a pinned definition that cannot be opened.
var ErrPinned = errors.New("not a pinned definition")

// Pinned is a definition as a query keeps it: its text, and the base URL that replaces the text's own, if any. All who
// work on the query open the same bytes, whatever definitions they have themselves.
type Pinned struct {
	V       int    `json:"v"`
	File    string `json:"file"` // for messages
	Text    string `json:"text"`
	BaseURL string `json:"base_url,omitempty"`
}

// Encode checks that the definition opens and gives its wire form: equal definitions give equal bytes.
func (p Pinned) Encode() ([]byte, error) {
	if _, err := p.open(); err != nil {
		return nil, err
	}
	return p.wire()
}

func (p Pinned) wire() ([]byte, error) {
	p.V = 1
	data, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("pin %s: %w", p.File, err)
	}
	return data, nil
}

// OpenPinned reads what Encode wrote. Errors wrap ErrPinned, or are those of Parse and Rebase.
func OpenPinned(data []byte) (*Definition, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var p Pinned
	if err := dec.Decode(&p); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPinned, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) || p.V != 1 {
		return nil, fmt.Errorf("%w: version %d, or data after it; this build reads version 1", ErrPinned, p.V)
	}
	return p.open()
}

func (p Pinned) open() (*Definition, error) {
	d, err := Parse(p.File, []byte(p.Text))
	if err != nil {
		return nil, err
	}
	if p.BaseURL != "" {
		if err := d.Rebase(p.BaseURL); err != nil {
			return nil, err
		}
	}
	return d, nil
}
