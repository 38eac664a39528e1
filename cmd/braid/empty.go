package main

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/braidhq/braid/pkg/messages"
)

const (
	askedValue = 60  // characters that are shown of one parameter
	askedAll   = 240 // and of all
)

// emptyFlagOn adds the flag of commands that write a complete table.
func (a *app) emptyFlagOn(flags *pflag.FlagSet) {
	flags.BoolVar(&a.failOnEmpty, "fail-on-empty", false, "end with exit code 6 when the complete table has no row")
}

// nothingThere says of a complete query that its table is empty, and what to look at. It is an answer and no error.
func nothingThere(q *messages.Query) string {
	return "the service answered that there is nothing for " + whatWasAsked(q.URL) + ": check the values, the time, the parameter codes"
}

// whatWasAsked lists the parameters of a query's URL as a person writes them, cut to what fits in a line or two.
func whatWasAsked(address string) string {
	_, raw, _ := strings.Cut(address, "?")
	raw, _, _ = strings.Cut(raw, "#")
	var asked []string
	left := askedAll
	for pair := range strings.SplitSeq(raw, "&") {
		text, err := url.QueryUnescape(pair)
		if err != nil || text == "" {
			text = pair
		}
		if text = messages.Text(text); text == "" {
			continue
		}
		text = shortened(text, askedValue)
		if left -= utf8.RuneCountInString(text) + len(", "); left < 0 {
			asked = append(asked, "…")
			break
		}
		asked = append(asked, text)
	}
	if len(asked) == 0 {
		return "what was asked"
	}
	return strings.Join(asked, ", ")
}
