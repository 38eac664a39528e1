package query

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/braidhq/braid/pkg/service"
)

// Write gives the query as a query file: Parse reads it back as the same query. Equal queries give equal bytes. The error
// tells of a text that no file can hold.
func (q *Query) Write() ([]byte, error) {
	w := new(writer)
	w.line("schema: %s", Schema)
	w.line("service: %s", w.scalar(q.Service))
	w.line("collection: %s", w.scalar(q.Collection))
	if q.Zone != "" {
		w.line("zone: %s", w.scalar(q.Zone))
	}
	if len(q.Where) == 0 {
		w.line("where: {}")
	} else {
		w.line("where:")
	}
	for _, condition := range q.Where {
		w.condition(condition)
	}
	if len(q.Select) > 0 {
		w.line("select: %s", w.list(q.Select))
	}
	if len(q.Outputs) > 0 {
		w.line("output:")
	}
	for _, output := range q.Outputs {
		w.output(output)
	}
	w.run(q.Run)
	w.verify(q)
	if since := q.Since; since != nil {
		pairs := [][2]string{{"column", since.Column}}
		if since.Overlap > 0 {
			pairs = append(pairs, [2]string{"overlap", time.Duration(since.Overlap).String()})
		}
		w.line("since: %s", w.mapping(pairs))
	}
	if q.MaxChunks > 0 {
		w.line("max_chunks: %d", q.MaxChunks)
	}
	if q.MaxRows > 0 {
		w.line("max_rows: %d", q.MaxRows)
	}
	if w.err != nil {
		return nil, fmt.Errorf("write query: %w", w.err)
	}
	return w.text.Bytes(), nil
}

// writer puts a file together and keeps the first error.
type writer struct {
	text bytes.Buffer
	err  error
}

func (w *writer) line(format string, args ...any) { fmt.Fprintf(&w.text, format+"\n", args...) }

func (w *writer) condition(c Condition) {
	name := w.scalar(c.Parameter)
	switch source := c.Source; {
	case source.File != nil:
		w.line("  %s: %s", name, w.mapping([][2]string{{"file", source.File.Path}, {"column", source.File.Column}, {"prefix", source.File.Prefix}}))
	case source.FromQuery != nil:
		w.line("  %s: %s", name, w.mapping([][2]string{{"from_query", source.FromQuery.Query}, {"column", source.FromQuery.Column}, {"prefix", source.FromQuery.Prefix}}))
	case source.Interval != nil:
		from := source.Interval.From
		if from == "" && source.Interval.To == "" {
			from = service.OpenEnd // an interval has a key by which it is known as one
		}
		w.line("  %s: %s", name, w.mapping([][2]string{{"from", from}, {"to", source.Interval.To}, {"zone", source.Interval.Zone}}))
	case source.Instant != nil:
		w.line("  %s: %s", name, w.mapping([][2]string{{"at", source.Instant.At}, {"zone", source.Instant.Zone}}))
	case len(source.Values) == 1:
		w.line("  %s: %s", name, w.scalar(source.Values[0]))
	default:
		w.line("  %s:", name)
		for _, value := range source.Values {
			w.line("    - %s", w.scalar(value))
		}
	}
}

func (w *writer) output(o Output) {
	pairs := [][2]string{{"to", o.To}, {"format", string(o.Format)}}
	if o.IfExists != IfExistsFail {
		pairs = append(pairs, [2]string{"if_exists", string(o.IfExists)})
	}
	pairs = append(pairs, [2]string{"connection", o.Connection})
	w.line("  - %s", w.mapping(pairs))
}

func (w *writer) run(r Run) {
	if r == (Run{}) || r == (Run{OnQuota: OnQuota{Then: ThenPause}}) {
		return
	}
	w.line("run:")
	if r.OnQuota.WaitUpTo > 0 {
		w.line("  on_quota: {wait_up_to: %s}", time.Duration(r.OnQuota.WaitUpTo))
	}
	if r.MaxRequests > 0 {
		w.line("  max_requests: %d", r.MaxRequests)
	}
	if r.HoldBack > 0 {
		w.line("  hold_back: %d", r.HoldBack)
	}
	if r.InFlight != 0 {
		w.line("  in_flight: %s", r.InFlight)
	}
	if r.Priority != nil {
		w.line("  priority: %d", *r.Priority)
	}
	if r.Weight > 0 {
		w.line("  weight: %d", r.Weight)
	}
	if r.OnFailure == FailureFinish {
		w.line("  on_failure: %s", r.OnFailure)
	}
}

// verify writes the rules that are not the usual ones.
func (w *writer) verify(q *Query) {
	var pairs [][2]string
	if q.BadValues == BadValuesAllow {
		pairs = append(pairs, [2]string{"bad_values", string(q.BadValues)})
	}
	if q.Coverage == CoverageRequire {
		pairs = append(pairs, [2]string{"coverage", string(q.Coverage)})
	}
	if q.Changed == ChangedRequireNone {
		pairs = append(pairs, [2]string{"changed_during_run", string(q.Changed)})
	}
	if len(pairs) > 0 {
		w.line("verify: %s", w.mapping(pairs))
	}
}

// mapping writes the pairs that have a value.
func (w *writer) mapping(pairs [][2]string) string {
	var parts []string
	for _, pair := range pairs {
		if pair[1] != "" {
			parts = append(parts, pair[0]+": "+w.scalar(pair[1]))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func (w *writer) list(texts []string) string {
	parts := make([]string, len(texts))
	for i, text := range texts {
		parts[i] = w.scalar(text)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// plain are texts that every reader of YAML takes as they stand: names, and days of the calendar, which other readers may
// take for more than text. Codes such as 00060 are quoted, so that no reader takes them for numbers.
var (
	plain    = regexp.MustCompile(`^(?:[A-Za-z_][A-Za-z0-9_./-]*|\d{4}-\d{2}-\d{2})$`)
	reserved = regexp.MustCompile(`(?i)^(?:null|true|false|yes|no|on|off|y|n)$`)
)

func (w *writer) scalar(text string) string {
	switch {
	case !utf8.ValidString(text):
		if w.err == nil {
			w.err = fmt.Errorf("the text %.80q is not UTF-8", text)
		}
		return "''"
	case plain.MatchString(text) && !reserved.MatchString(text):
		return text
	case strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return strconv.QuoteToASCII(text) // its escapes are YAML's too
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}
