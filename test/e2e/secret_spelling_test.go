//go:build unix

package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"net/url"
)

// spellings are ways in which a program may write the secret.
func spellings(packed func(string) []byte) map[string][]byte {
	inJSON, _ := json.Marshal(map[string]string{"key": secret}) // a text always has a JSON form
	var inXML bytes.Buffer
	_ = xml.EscapeText(&inXML, []byte(secret)) // into memory, where nothing fails
	var everyByte bytes.Buffer
	for _, c := range []byte(secret) {
		fmt.Fprintf(&everyByte, "%%%02x", c)
	}
	return map[string][]byte{
		"as it is":           []byte("key is " + secret),
		"in a query":         []byte("a=1&key=" + url.QueryEscape(secret)),
		"in a path":          []byte("/" + url.PathEscape(secret)),
		"in JSON":            inJSON,
		"in JSON in JSON":    fmt.Appendf(nil, "%q", inJSON),
		"in HTML":            []byte(html.EscapeString(secret)),
		"in XML":             inXML.Bytes(),
		"in Go":              fmt.Appendf(nil, "%#v", struct{ key string }{secret}),
		"basic":              []byte("Basic " + base64.StdEncoding.EncodeToString([]byte("ada:"+secret))),
		"basic, other name":  []byte("Basic " + base64.StdEncoding.EncodeToString([]byte("ad:"+secret))),
		"base64":             []byte(base64.RawURLEncoding.EncodeToString([]byte(secret))),
		"hex":                []byte(hex.EncodeToString([]byte(secret))),
		"every byte escaped": everyByte.Bytes(),
		"cut at its front":   []byte(secret[7:]),
		"cut at its end":     []byte(secret[:16]),
		"packed":             packed("rows with " + secret + " in them"),
	}
}
