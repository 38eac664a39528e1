package loadreport

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page's template and style
	"encoding/base64"
	"fmt"
	"html/template"

	"github.com/braidhq/braid/pkg/load"
)

//go:embed report.html
var pageText string

//go:embed report.css
var style string

// Policy is the content security policy of the file, which also stands in it: nothing is loaded, nothing is run, and the only style is its own.
func Policy() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
}

// HTML writes the file. Equal reports give equal bytes. Its size is bounded: of long lists it shows the beginning, and says how many more the
// report in JSON has. Every text of the report is shown as text.
func HTML(r *load.Report) ([]byte, error) {
	page, err := template.New("report").Parse(pageText)
	if err != nil {
		return nil, fmt.Errorf("the template of the report: %w", err)
	}
	var out bytes.Buffer
	if err := page.Execute(&out, viewOf(r)); err != nil {
		return nil, fmt.Errorf("write the report of load run %s as HTML: %w", r.Run, err)
	}
	return out.Bytes(), nil
}
