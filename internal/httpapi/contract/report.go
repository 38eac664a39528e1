package contract

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/braidhq/braid/pkg/frame"
)

const (
	// ReportHeader carries the report of a table, beside the table itself.
	ReportHeader = "Braid-Report"
	// MaxReportBytes bounds the header's value: servers and proxies commonly refuse headers of more than 8 KiB.
	MaxReportBytes = 8000
)

// EncodeReport writes a report as the value of its header: JSON in ASCII. What does not fit is left out, samples first,
// then names; the counts of rows are always there, and a list that is not empty keeps at least its first member.
func EncodeReport(r frame.Report) (string, error) {
	members := max(len(r.Bad), len(r.Unknown), len(r.Moved), len(r.Absent))
	for _, samples := range []int{10, 3, 1, 0} {
		if text, err := asciiJSON(shortened(r, members, samples)); err != nil || len(text) <= MaxReportBytes {
			return text, err
		}
	}
	for ; members > 1; members /= 2 {
		if text, err := asciiJSON(shortened(r, members, 0)); err != nil || len(text) <= MaxReportBytes {
			return text, err
		}
	}
	return asciiJSON(shortened(r, 1, 0))
}

// DecodeReport reads the value of the header.
func DecodeReport(value string) (*frame.Report, error) {
	if value == "" {
		return nil, fmt.Errorf("header %s is missing", ReportHeader)
	}
	if len(value) > MaxReportBytes {
		return nil, fmt.Errorf("header %s: %d bytes, at most %d", ReportHeader, len(value), MaxReportBytes)
	}
	var r frame.Report
	if err := json.Unmarshal([]byte(value), &r); err != nil {
		return nil, fmt.Errorf("header %s: %w", ReportHeader, err)
	}
	return &r, nil
}

const maxReportName = 200

func shortened(r frame.Report, members, samples int) frame.Report {
	r.Bad = slices.Clone(r.Bad[:min(len(r.Bad), members)])
	for i := range r.Bad {
		b := &r.Bad[i]
		b.Name = clip(b.Name, maxReportName)
		b.Originals = b.Originals[:min(len(b.Originals), samples)]
	}
	r.Unknown = slices.Clone(r.Unknown[:min(len(r.Unknown), members)])
	for i, name := range r.Unknown {
		r.Unknown[i] = clip(name, maxReportName)
	}
	r.Moved = slices.Clone(r.Moved[:min(len(r.Moved), members)])
	for i := range r.Moved {
		m := &r.Moved[i]
		m.Name, m.As = clip(m.Name, maxReportName), clip(m.As, maxReportName)
	}
	r.Absent = slices.Clone(r.Absent[:min(len(r.Absent), members)])
	for i, name := range r.Absent {
		r.Absent[i] = clip(name, maxReportName)
	}
	if r.Summary != nil && samples == 0 {
		short := *r.Summary
		short.Statuses, short.Units = nil, nil
		r.Summary = &short
	}
	return r
}

// asciiJSON escapes what JSON would leave as it is but a header cannot carry through every proxy.
func asciiJSON(r frame.Report) (string, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("encode report: %w", err)
	}
	var text strings.Builder
	for _, c := range string(data) {
		if c < 0x7f {
			text.WriteRune(c)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, c) {
			fmt.Fprintf(&text, `\u%04x`, unit)
		}
	}
	return text.String(), nil
}
