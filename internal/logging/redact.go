package logging

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Redacted stands where a secret was.
const Redacted = "[redacted]"

const (
	maxRead    = 64 << 10 // of one text; what is behind it is never looked at, and never written
	maxWritten = 4 << 10  // of one text
)

// secretNames are the beginnings and ends of words that name secrets, in keys from which case and separators were taken.
const secretNames = `pass(?:word|wd|phrase)?|secret|client[-_. ]?secret|token|(?:access|refresh|id|session|auth)[-_. ]?token|api[-_. ]?key|apikey|` +
	`subscription[-_. ]?key|private[-_. ]?key|signature|sig|seed|nkey|jwt`

var (
	userinfo = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^/?#\s"'<>]*@`)
	// oddInfo is a password with characters that a URL does not have there: a port has digits alone.
	oddInfo   = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^/?#\s"'<>@]*:[0-9]*[^0-9/?#\s"'<>@][^\s"'<>]*@`)
	inQuery   = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://[^\s?"'<>]*\?)[^\s"'<>]+`)
	parameter = regexp.MustCompile(`(?i)([?&](?:` + secretNames + `|key|auth|code)=)[^&\s"'<>]+`)
	quoted    = regexp.MustCompile(`(?i)("(?:[a-z0-9]+[-_. ])?(?:` + secretNames + `|authorization|cookie|set-cookie)"\s*:\s*)"(?:[^"\\]|\\.)*"?`)
	header    = regexp.MustCompile(`(?i)\b((?:proxy-)?authorization|(?:set-)?cookie|x-api-key|x-auth-token)(["']?\s*[:=]\s*)(?:map)?\[?[^\r\n"]+`)
	assigned  = regexp.MustCompile(`(?i)\b((?:[a-z0-9]+[-_.])*(?:` + secretNames + `)\s*[=:]\s*)("(?:[^"\\]|\\.)*"?|'[^']*'?|[^\s"',;&]+)`)
	scheme    = regexp.MustCompile(`(?i)\b(bearer|basic|digest|negotiate)\s+([A-Za-z0-9+/=._~-]{8,})`)
	nkeySeed  = regexp.MustCompile(`\bS[UANOCX][A-Z2-7]{40,}`)
	ourToken  = regexp.MustCompile(`\bbraid_[0-9A-Za-z]{20,}`)
	webToken  = regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?`)
	pemKey    = regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*(?:PRIVATE KEY|SEED|JWT)-----.*?(?:-----END [A-Z0-9 ]*-----|$)`)
	secretKey = regexp.MustCompile(`(?:password|passwd|passphrase|secret|token|apikey|subscriptionkey|privatekey|authorization|cookie|jwt|nkey|signature|idempotencykey)s?$|^(?:pass|seed|sig|auth)$`)
)

// IsSecretKey tells whether the values under a key are never written: the key names a secret.
func IsSecretKey(key string) bool {
	return secretKey.MatchString(strings.Map(func(letter rune) rune {
		if strings.ContainsRune("_-. ", letter) {
			return -1
		}
		return unicode.ToLower(letter)
	}, key))
}

// Clean takes out of a text what looks like a secret: names and passwords in URLs and all behind their question mark, headers that
// authenticate, values that are named as secrets, keys and tokens. A long text is cut.
func Clean(text string) string {
	if text == "" {
		return text
	}
	whole := len(text)
	if whole > maxRead {
		text = text[:maxRead]
	}
	if mayHold(text) {
		text = pemKey.ReplaceAllString(text, Redacted)
		text = oddInfo.ReplaceAllString(text, "${1}"+Redacted+"@")
		text = userinfo.ReplaceAllString(text, "${1}"+Redacted+"@")
		text = inQuery.ReplaceAllString(text, "${1}"+Redacted)
		text = parameter.ReplaceAllString(text, "${1}"+Redacted)
		text = quoted.ReplaceAllString(text, `${1}"`+Redacted+`"`)
		text = header.ReplaceAllString(text, "${1}${2}"+Redacted)
		text = assigned.ReplaceAllString(text, "${1}"+Redacted)
		text = scheme.ReplaceAllStringFunc(text, cleanScheme)
		text = nkeySeed.ReplaceAllString(text, Redacted)
		text = ourToken.ReplaceAllString(text, Redacted)
		text = webToken.ReplaceAllString(text, Redacted)
	}
	return clip(text, whole)
}

// mayHold is a quick look: most texts are plain words and numbers, in which no pattern can be found.
func mayHold(text string) bool {
	return strings.ContainsAny(text, ":=?&") || len(text) >= 16
}

// cleanScheme leaves plain words behind the name of a scheme, such as "basic authentication".
func cleanScheme(match string) string {
	name, credential, _ := strings.Cut(match, " ")
	credential = strings.TrimSpace(credential)
	if strings.Trim(credential, "abcdefghijklmnopqrstuvwxyz.-") == "" && len(credential) < 20 {
		return match
	}
	return strings.TrimSpace(name) + " " + Redacted
}

// clip cuts a text between two letters, and tells how long it was.
func clip(text string, whole int) string {
	if len(text) <= maxWritten && whole <= maxRead {
		return text
	}
	cut := min(len(text), maxWritten)
	for cut > 0 && cut < len(text) && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "… (" + itoa(whole) + " bytes)"
}
