package simulator

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"net/http"
	"regexp"
)

// answerFault answers in place of the service; false: the kind leaves the answer to the service, and spoils it afterwards.
func (c *call) answerFault(f Fault) bool {
	switch f.Kind {
	case Fault413:
		c.out.html(http.StatusRequestEntityTooLarge, "413 Request Entity Too Large")
	case Fault414:
		c.out.html(http.StatusRequestURITooLong, "414 Request-URI Too Large")
	case FaultServerLimits:
		c.refuse(http.StatusForbidden, "Forbidden", "Request exceeding server limits")
	case FaultErrorIn200:
		c.out.json(http.StatusOK, map[string]string{"error_code": "ComplexityException", "message": "The query is too complex."})
	case FaultKeyEcho:
		c.echoCredentials(f.Status)
	case FaultRedirect:
		c.redirect("http://" + c.config.ForeignHost + c.url)
	case FaultRedirectLoop:
		c.redirect(c.origin() + c.url)
	case FaultEmptyBody:
		c.out.text(http.StatusOK, "text/plain", "")
	case FaultHTML:
		c.out.html(http.StatusOK, "The service is down for maintenance")
	case FaultGzipBomb:
		c.bomb()
	case FaultCursorGone:
		c.cursorGone()
	default:
		return false
	}
	return true
}

func (c *call) redirect(location string) {
	c.out.w.Header().Set("Location", location)
	c.out.html(http.StatusFound, "302 Found")
}

// echoCredentials is the mistake of a service that repeats what it was sent.
func (c *call) echoCredentials(status int) {
	if status == 0 {
		status = http.StatusBadRequest
	}
	h := c.request.Header
	text := "The request with X-Api-Key '" + h.Get("X-Api-Key") + "', Authorization '" + h.Get("Authorization") + "' and URL " +
		c.url + " cannot be answered."
	c.out.gatewayError(status, "BAD_REQUEST", text)
}

// bomb sends 1 GiB of white space around an empty page, as gzip of many members.
func (c *call) bomb() {
	const members = 1024
	zip := func(text []byte) []byte {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(text) // into memory, where nothing fails
		_ = w.Close()
		return packed.Bytes()
	}
	c.out.zipAsked = false
	c.out.w.Header().Set("Content-Encoding", "gzip")
	c.out.start(http.StatusOK, "application/json")
	_, _ = c.out.Write(zip([]byte(`{"type":"FeatureCollection","features":[`))) // the response keeps the error
	space := zip(bytes.Repeat([]byte(" "), 1<<20))
	for range members {
		if _, err := c.out.Write(space); err != nil {
			return
		}
	}
	_, _ = c.out.Write(zip([]byte(`],"numberReturned":0,"links":[]}`)))
}

// hold keeps the body back when a fault is to be carried out on all of it.
func (o *response) hold(kind FaultKind) {
	if !kind.holdsBody() {
		return
	}
	o.held = &bytes.Buffer{}
	switch kind {
	case FaultDeclaredCharset:
		o.charset, o.zipAsked = "iso-8859-1", false
	case FaultCharset, FaultRaggedRows, FaultDoubleHeader:
		o.zipAsked = false
	default:
	}
}

// spoiled is a finished body as a fault leaves it.
func spoiled(body []byte, kind FaultKind) []byte {
	switch kind {
	case FaultCharset, FaultDeclaredCharset:
		return latin1(body)
	case FaultRaggedRows:
		return rewriteCSV(body, func(records [][]string) {
			if len(records) > 1 {
				records[1] = records[1][:len(records[1])-1]
			}
			if len(records) > 2 {
				records[2] = append(records[2], "surplus")
			}
		})
	case FaultDoubleHeader:
		return rewriteCSV(body, func(records [][]string) {
			if len(records) > 0 {
				records[0][len(records[0])-1] = records[0][0]
			}
		})
	default:
		return body
	}
}

// latin1 writes a body in ISO 8859-1. A body of ASCII alone gets a letter beyond it, in a text of the second half.
func latin1(body []byte) []byte {
	out := make([]byte, 0, len(body))
	beyond := false
	for _, r := range string(body) {
		beyond = beyond || r > 0x7f
		if r > 0xff {
			r = '?'
		}
		out = append(out, byte(r))
	}
	if beyond {
		return out
	}
	half := len(out) / 2
	if at := regexp.MustCompile(`(:"|[,\n])[A-Za-z]`).FindIndex(out[half:]); at != nil {
		out[half+at[1]-1] = 0xe9
	}
	return out
}

func rewriteCSV(body []byte, change func(records [][]string)) []byte {
	r := csv.NewReader(bytes.NewReader(body))
	records, err := r.ReadAll()
	if err != nil {
		return body // only CSV of our own comes here
	}
	change(records)
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	_ = w.WriteAll(records) // into memory, where nothing fails
	return out.Bytes()
}
