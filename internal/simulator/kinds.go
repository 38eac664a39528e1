package simulator

import "slices"

// FaultKind names one way an answer goes wrong.
type FaultKind string

// The kinds of faults. "Page" in a comment marks those that only strike requests for a page of rows, "CSV" those that
// only strike requests for a page of CSV, "cursor" those that only strike requests for a page behind the first.
const (
	Fault500             FaultKind = "500"
	Fault502             FaultKind = "502"              // with the HTML of a proxy
	Fault503             FaultKind = "503"              // with Retry-After when Fault.Delay is set
	Fault504             FaultKind = "504"              // with the HTML of a proxy
	Fault413             FaultKind = "413"              // with the HTML of a proxy
	Fault414             FaultKind = "414"              // with the HTML of a proxy
	FaultServerLimits    FaultKind = "server_limits"    // 403 "exceeding server limits": ask for less
	Fault429             FaultKind = "429"              // refused like a used-up quota; Retry-After when Fault.Delay is set
	FaultErrorIn200      FaultKind = "error_in_200"     // 200 with {"error_code":"ComplexityException",…}
	FaultKeyEcho         FaultKind = "key_echo"         // an error that repeats every credential it got; Fault.Status, 400 when 0
	FaultRedirect        FaultKind = "redirect"         // 302 to the same path on Config.ForeignHost
	FaultRedirectLoop    FaultKind = "redirect_loop"    // 302 to the request's own URL
	FaultResetBefore     FaultKind = "reset_before"     // connection reset at once, body of the request unread
	FaultResetAfter      FaultKind = "reset_after"      // connection reset after the service did its work, nothing sent
	FaultTruncated       FaultKind = "truncated"        // connection broken half way through the body
	FaultCutJSON         FaultKind = "cut_json"         // half of the body, ended as if it were whole
	FaultEmptyBody       FaultKind = "empty_body"       // 200 without a body
	FaultHTML            FaultKind = "html"             // 200 with an HTML page
	FaultGzipBomb        FaultKind = "gzip_bomb"        // 1 GiB of JSON or CSV that is white space, in about 1 MB of gzip
	FaultCharset         FaultKind = "charset"          // the body is ISO 8859-1 and does not say so
	FaultDeclaredCharset FaultKind = "declared_charset" // the body is ISO 8859-1 and says so
	FaultSlowBody        FaultKind = "slow_body"        // stalls for Fault.Delay (2 s when 0) half way; the answer is whole
	FaultHang            FaultKind = "hang"             // no answer until the client gives up or Fault.Delay has passed
	FaultWrongCount      FaultKind = "wrong_count"      // page: numberReturned is one more than the rows sent
	FaultWrongTotal      FaultKind = "wrong_total"      // page: the number of all rows is one more than there are
	FaultClipped         FaultKind = "clipped"          // page: events say that they were cut off
	FaultRepeatedNext    FaultKind = "repeated_next"    // page: the next link or cursor leads to the page itself (A, A)
	FaultCyclicNext      FaultKind = "cyclic_next"      // page: behind the first, it leads back to the first (A, B, A, B)
	FaultTrailingNext    FaultKind = "trailing_next"    // page: the last one too has a next link, to an empty page with a link to itself
	FaultEmptyPage       FaultKind = "empty_page"       // page: no rows, and a next link behind which they stand; legal
	FaultForeignNext     FaultKind = "foreign_next"     // page: the next link leads to Config.ForeignHost
	FaultAliasNext       FaultKind = "alias_next"       // page: the next link leads to Config.AliasHost
	FaultBadLink         FaultKind = "bad_link"         // page: the next link cannot be read
	FaultClampedLimit    FaultKind = "clamped_limit"    // page: at most Fault.Rows rows (half of the limit when 0), without a word
	FaultHugeNumber      FaultKind = "huge_number"      // page: the numbers of the first row have 401 digits
	FaultCursorGone      FaultKind = "cursor_gone"      // cursor: 400, the cursor has expired
	FaultRaggedRows      FaultKind = "ragged_rows"      // CSV: the first row has one cell too few, the second one too many
	FaultDoubleHeader    FaultKind = "double_header"    // CSV: the last column has the name of the first
)

// FaultKinds lists every kind, in the order of their declaration.
func FaultKinds() []FaultKind {
	return []FaultKind{
		Fault500, Fault502, Fault503, Fault504, Fault413, Fault414, FaultServerLimits, Fault429, FaultErrorIn200, FaultKeyEcho,
		FaultRedirect, FaultRedirectLoop, FaultResetBefore, FaultResetAfter, FaultTruncated, FaultCutJSON, FaultEmptyBody,
		FaultHTML, FaultGzipBomb, FaultCharset, FaultDeclaredCharset, FaultSlowBody, FaultHang, FaultWrongCount,
		FaultWrongTotal, FaultClipped, FaultRepeatedNext, FaultCyclicNext, FaultTrailingNext, FaultEmptyPage, FaultForeignNext,
		FaultAliasNext, FaultBadLink, FaultClampedLimit, FaultHugeNumber, FaultCursorGone, FaultRaggedRows, FaultDoubleHeader,
	}
}

// form is what a path answers with.
type form int

const (
	formOther    form = iota // no page of rows
	formFeatures             // GeoJSON with links
	formJSON
	formCSV
	formLines // JSON, one row a line
)

// nature is what the fault script knows of a request besides its URL.
type nature struct {
	form      form
	continued bool // it asks for a page behind the first
}

// suits tells whether a kind makes sense for a request.
func (k FaultKind) suits(n nature) bool {
	switch k {
	case FaultWrongCount, FaultWrongTotal, FaultClipped, FaultRepeatedNext, FaultCyclicNext, FaultTrailingNext, FaultEmptyPage,
		FaultForeignNext, FaultAliasNext, FaultBadLink, FaultClampedLimit, FaultHugeNumber:
		return n.form != formOther
	case FaultCursorGone:
		return n.continued
	case FaultRaggedRows, FaultDoubleHeader:
		return n.form == formCSV
	default:
		return true
	}
}

// strikesRows tells the kinds that the fast path of daily values cannot carry out.
func (k FaultKind) strikesRows() bool {
	return slices.Contains([]FaultKind{FaultWrongTotal, FaultClampedLimit, FaultHugeNumber}, k)
}

// spoils tells the kinds after which a client has no usable answer, although the status may be 200.
func (k FaultKind) spoils() bool {
	switch k {
	case "", FaultSlowBody, FaultEmptyPage, FaultTrailingNext, FaultAliasNext, FaultClampedLimit, FaultDeclaredCharset:
		return false
	default:
		return true
	}
}

// holdsBody tells the kinds that are carried out on the finished body.
func (k FaultKind) holdsBody() bool {
	switch k {
	case FaultResetAfter, FaultTruncated, FaultCutJSON, FaultSlowBody, FaultCharset, FaultDeclaredCharset, FaultRaggedRows,
		FaultDoubleHeader:
		return true
	default:
		return false
	}
}
