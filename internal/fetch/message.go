package fetch

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/braidhq/braid/pkg/retry"
	"github.com/braidhq/braid/pkg/service"
)

const (
	maxMessageBytes = 500
	maxExcerptBytes = 200
	maxHintBytes    = 250
)

// refuse makes the error of an answer that is not a page.
func (e *exchange) refuse(response *http.Response, data []byte, class, givesUpAs service.Class) error {
	refusal := &service.ResponseError{Class: class, GivesUpAs: givesUpAs, Status: response.StatusCode}
	hint := ""
	if class == service.ClassQuota || class == service.ClassTransient {
		// Without a hint that can be used the wait is 0, which says just that.
		refusal.RetryAfter, _ = retry.ParseRetryAfter(response.Header.Get("Retry-After"), e.client.cfg.Now())
	}
	if class == service.ClassQuota || class == service.ClassAuth {
		hint = e.hint()
	}
	refusal.Message = clip(e.sent.hide(messageOf(response.StatusCode, data)), maxMessageBytes-len(hint)) + hint
	return refusal
}

// hint tells a person who is refused without a key that there is one to be had.
func (e *exchange) hint() string {
	if len(e.absent) == 0 {
		return ""
	}
	credential := e.absent[0]
	return clip("; sent without the credential "+credential.ID+whereToGet(credential), maxHintBytes)
}

// MessageOf says what an answer that is no page says about itself, in one line and bounded. It may have secrets in it.
func MessageOf(status int, data []byte) string { return clip(messageOf(status, data), maxMessageBytes) }

// messageOf says what an answer says about itself, in one line: of JSON its code and text, of HTML its title, else the
// beginning.
func messageOf(status int, data []byte) string {
	head := fmt.Sprintf("HTTP %d", status)
	text := strings.TrimSpace(string(data))
	switch {
	case json.Valid(data):
		if code, said := jsonMessage(gjson.Parse(text)); said != "" || code != "" {
			return head + ": " + joinSentences(code, said)
		}
	case isHTML(text):
		title := htmlTitle(text)
		if title == "" {
			title = "an HTML page"
		}
		return head + ": " + title
	}
	if name := http.StatusText(status); name != "" {
		head += " " + name
	}
	if text = clip(oneLine(text), maxExcerptBytes); text == "" {
		return head
	}
	return head + ": " + text
}

// jsonMessage finds code and text: in the nested error object first, a description before a message.
func jsonMessage(doc gjson.Result) (code, text string) {
	if doc.IsArray() {
		doc = doc.Get("0")
	}
	for _, path := range []string{"error", "errors.0", "@this"} {
		object := doc.Get(path)
		if !object.IsObject() {
			continue
		}
		code = firstText(object, "code", "error_code", "errorCode")
		text = firstText(object, "description", "message", "detail", "error_description", "detail.0.msg", "title", "error", "errors.0")
		if code != "" || text != "" {
			return code, text
		}
	}
	return "", ""
}

func firstText(object gjson.Result, paths ...string) string {
	for _, path := range paths {
		value := object.Get(path)
		if value.Type != gjson.String && value.Type != gjson.Number {
			continue
		}
		if text := strings.TrimRight(oneLine(value.String()), ". "); text != "" {
			return text
		}
	}
	return ""
}

func joinSentences(code, text string) string {
	switch {
	case code == "":
		return text
	case text == "":
		return code
	}
	return code + ". " + text
}

var (
	htmlStart     = regexp.MustCompile(`(?i)^\s*(<\?xml[^>]{0,200}>\s*)?<(!doctype\s+html|html|head|body)\b`)
	htmlTitleMark = regexp.MustCompile(`(?is)<title[^>]{0,200}>(.{0,500}?)</title>`)
)

func isHTML(text string) bool { return htmlStart.MatchString(text) }

func htmlTitle(text string) string {
	if match := htmlTitleMark.FindStringSubmatch(text); match != nil {
		return oneLine(html.UnescapeString(match[1]))
	}
	return ""
}

// oneLine makes text of a server harmless in a log and on a terminal.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return strings.Join(strings.Fields(text), " ")
}

// clip shortens text to so many bytes, between characters.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	cut := max(limit-len("…"), 0)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
