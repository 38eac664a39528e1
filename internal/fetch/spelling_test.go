package fetch_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/braidhq/braid/pkg/service"
)

// spelled are ways in which servers write the secret back.
func spelled(t *testing.T, secret string) map[string]string {
	t.Helper()
	inJSON, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := json.Marshal(string(inJSON))
	if err != nil {
		t.Fatal(err)
	}
	var inXML bytes.Buffer
	if err := xml.EscapeText(&inXML, []byte(secret)); err != nil {
		t.Fatal(err)
	}
	var percent, unicode, entities, hexes strings.Builder
	for _, c := range []byte(secret) {
		fmt.Fprintf(&percent, "%%%02x", c)
		fmt.Fprintf(&unicode, `\u%04X`, c)
		fmt.Fprintf(&entities, "&#%d;", c)
		fmt.Fprintf(&hexes, `\x%02x`, c)
	}
	return map[string]string{
		"as it is": secret, "in a query": url.QueryEscape(secret), "in a path": url.PathEscape(secret),
		"in a query, lower case": strings.ReplaceAll(strings.ReplaceAll(url.QueryEscape(secret), "%2F", "%2f"), "%2B", "%2b"),
		"by encodeURIComponent":  strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*", "+", "%20").Replace(url.QueryEscape(secret)),
		"escaped twice":          url.QueryEscape(url.QueryEscape(secret)),
		"in JSON":                string(inJSON), "in JSON in JSON": string(twice), "in JSON, slashes escaped": strings.ReplaceAll(string(inJSON), "/", `\/`),
		"in JSON, as it is": `"` + strings.ReplaceAll(secret, `"`, `\"`) + `"`,
		"in HTML":           html.EscapeString(secret), "in XML": inXML.String(), "quoted": strconv.Quote(secret), "quoted as ASCII": strconv.QuoteToASCII(secret),
		"each byte in a URL": percent.String(), "each byte in JSON": unicode.String(), "each byte in HTML": entities.String(), "each byte in C": hexes.String(),
		"in base64": base64.StdEncoding.EncodeToString([]byte(secret)), "in base64 for URLs": base64.RawURLEncoding.EncodeToString([]byte(secret)),
	}
}

func TestASecretIsHiddenHoweverTheServerSpellsIt(t *testing.T) {
	t.Parallel()
	const secret = `Kq/&"plumQx9Wz3+Vt8 (!)='%2Fend<z`
	for name, text := range spelled(t, secret) {
		for place, handler := range map[string]http.HandlerFunc{
			"text": answer(400, "no such key: "+text+" (really)"),
			"message": func(out http.ResponseWriter, r *http.Request) {
				data, _ := json.Marshal(map[string]string{"message": "no such key: " + text + " (really)"})
				answer(400, string(data))(out, r)
			},
			"title":      answer(503, "<html><title>no such key: "+text+"</title>"),
			"at the cut": answer(400, strings.Repeat("x", 165)+text),
			"rows": func(out http.ResponseWriter, r *http.Request) {
				data, _ := json.Marshal(map[string]any{"items": []any{map[string]string{"id": "see " + text}}})
				answer(200, string(data))(out, r)
			},
			"next": func(out http.ResponseWriter, r *http.Request) {
				data, _ := json.Marshal(map[string]any{"items": []any{}, "next": "https://example.com/v1/x?page=" + text})
				answer(200, string(data))(out, r)
			},
			"path of next": func(out http.ResponseWriter, r *http.Request) {
				data, _ := json.Marshal(map[string]any{"items": []any{}, "next": "https://example.com/v1/" + text + "/x"})
				answer(200, string(data))(out, r)
			},
		} {
			w := newWorld(t, map[string]http.HandlerFunc{"example.com": handler})
			keyed := collection(t, "keyed")
			page, err := w.client(t, keyed, secret).FetchPage(t.Context(), task(t, keyed), service.Walk{})
			told := string(page.Rows) + page.Next
			if err != nil {
				told = err.Error()
			}
			if place == "rows" && strings.HasPrefix(name, "each byte in a URL") {
				continue // no server escapes letters there, and rows are long
			}
			for i := 16; i < len(text); i++ { // less than eight characters of it are nothing
				if strings.Contains(told, text[i-8:i]) {
					t.Errorf("%s, in %s: %q", name, place, told)
					break
				}
			}
		}
	}
}

func TestTextsWithoutTheSecretStayAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"no such station: USGS-01013500", `a \"quoted\" text, 50%25 + 1 &amp; more &#x; &unknown; \u12 \ %zz`, "token", "tok", strings.Repeat("&", 100), "",
		"Kq/&plum", // not the whole secret, and not cut off
	} {
		w := newWorld(t, map[string]http.HandlerFunc{"example.com": answer(400, text+" .")})
		_, err := w.client(t, collection(t, "keyed"), `Kq/&"plumQx9Wz3`).FetchPage(t.Context(), task(t, collection(t, "keyed")), service.Walk{})
		if message := refusal(t, err, service.ClassBadRequest).Message; strings.Contains(message, "[hidden]") || !strings.Contains(message, text) {
			t.Errorf("%q became %q", text, message)
		}
	}
}
