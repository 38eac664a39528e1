package logging_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/braidhq/braid/internal/logging"
)

const secret = "Zx9-hunter2_QQ"

// hostile are texts with a secret in them, each as somebody could write it into a log.
func hostile() map[string]string {
	return map[string]string{
		"user and password":      "dial nats://braid:" + secret + "@nats.example:4222: refused",
		"a password alone":       "nats://:" + secret + "@nats.example:4222",
		"a token as the user":    "nats://" + secret + "@nats.example",
		"an at in the password":  "https://a:x@" + secret + "@host/path",
		"a slash in it":          "https://a:" + secret + "/more@host/path",
		"a query string":         `Get "https://host/items?limit=5&api_key=` + secret + `": EOF`,
		"an unknown parameter":   "https://host/items?whatever=" + secret,
		"a relative URL":         "/items?limit=5&token=" + secret + " failed",
		"a bearer token":         "sent Authorization: Bearer " + secret,
		"a bearer token alone":   "bearer " + secret,
		"basic credentials":      "basic dXNlcjpwYXNz" + secret,
		"a header map":           "map[Authorization:[Token " + secret + "] Accept:[*/*]]",
		"a cookie":               "Cookie: session=" + secret + "; other=1",
		"a key of a gateway":     "X-Api-Key: " + secret,
		"an assignment":          "password=" + secret,
		"a prefix before it":     "db_password = " + secret,
		"with spaces in quotes":  `client_secret: "two words ` + secret + `"`,
		"JSON":                   `{"user":"a","password":"` + secret + `","n":1}`,
		"JSON with a quote":      `{"token":"a\"` + secret + `"}`,
		"camel case":             `{"accessToken": "` + secret + `"}`,
		"upper case":             "API_KEY=" + secret,
		"a private key":          "-----BEGIN EC PRIVATE KEY-----\n" + secret + "\n-----END EC PRIVATE KEY-----",
		"a private key, cut off": "-----BEGIN PRIVATE KEY-----\n" + secret,
		"an nkey":                "seed SUAMK2FG4MI6UE3ACF3FK3OIQBCEIEZV7NSWFFEW63UXMRLFM2XLAXK4GY" + secret,
		"a token of ours":        "who has braid_0123456789abcdefghijABCDEFGHIJ" + strings.ReplaceAll(strings.ReplaceAll(secret, "-", ""), "_", ""),
		"a web token":            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0." + secret,
	}
}

func TestNoSecretIsWritten(t *testing.T) {
	for name, text := range hostile() {
		for _, format := range []string{logging.JSON, logging.Text} {
			t.Run(name+" as "+format, func(t *testing.T) {
				var out bytes.Buffer
				log, err := logging.New(&out, format, slog.LevelDebug)
				if err != nil {
					t.Fatal(err)
				}
				log.Info("message: " + text) //nolint:sloglint // a message that somebody put together
				log.Info("a text", "note", text)
				log.Info("an error", "error", fmt.Errorf("fetch: %w", errors.New(text)))
				log.Info("bytes", "body", []byte(text))
				log.Info("a list", "urls", []string{"first", text})
				log.Info("a struct", "request", struct{ URL string }{text})
				log.Info("a map", "headers", map[string][]string{"Via": {text}})
				log.Info("a group", slog.Group("outer", slog.Group("inner", "text", text)))
				log.Info("a stringer", "value", shown{text})
				log.With("kept", text).WithGroup("g").Warn("with attributes", "more", text)
				if strings.Contains(out.String(), secret) {
					t.Errorf("%s", out.String())
				}
				if got := strings.Count(out.String(), logging.Redacted); got < 10 {
					t.Errorf("%d of the lines say that something was taken out:\n%s", got, out.String())
				}
			})
		}
	}
}

type shown struct{ text string }

func (s shown) String() string { return s.text }

type valuer struct{ value slog.Value }

func (v valuer) LogValue() slog.Value { return v.value }

func TestValuesUnderSecretKeysAreNotWritten(t *testing.T) {
	var out bytes.Buffer
	log, err := logging.New(&out, logging.JSON, slog.LevelInfo)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"password", "Password", "db_password", "token", "access_token", "X-Api-Key", "api key", "Authorization", "proxy_authorization", "Cookie", "set-cookie",
		"client_secret", "nats_nkey", "jwt", "private_key", "passphrase", "signature", "idempotency_key",
	} {
		log.Info("key", key, secret)
		log.Info("number", key, 4711)
		log.Info("group", slog.Group(key, "a", secret))
		log.Info("list", key, []string{secret})
		log.Info("map", "m", map[string]any{"deep": []any{map[string]any{key: secret}}})
		log.Info("late", "x", valuer{slog.GroupValue(slog.String(key, secret))})
	}
	if strings.Contains(out.String(), secret) || strings.Contains(out.String(), "4711") {
		t.Errorf("%s", out.String())
	}
}

func TestWhatIsNoSecretIsWrittenAsItIs(t *testing.T) {
	for _, text := range []string{
		"", "chunk failed", "HTTP 429 Too Many Requests: basic authentication is not supported", "the service names a next page that this walk has seen",
		"position 17.0.1 of 01931f6e-1c5c-7f6e-9a51-0123456789ab", "listen on 127.0.0.1:8080: address already in use", "https://api.waterdata.usgs.gov/ogcapi/v0",
		"nats://127.0.0.1:4222,nats://127.0.0.1:4223", "stream RESULTS: no response from stream", "tokens were counted", "key: value",
	} {
		if got := logging.Clean(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	var out bytes.Buffer
	log, err := logging.New(&out, logging.JSON, slog.LevelInfo)
	if err != nil {
		t.Fatal(err)
	}
	log.Info("kinds", "n", 3, "f", 1.5, "b", true, "d", time.Second, "t", time.Unix(0, 0).UTC(), "list", []int{1, 2}, "nil", nil, "credential", "usgs", "tokens_left", 4)
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"n": 3.0, "f": 1.5, "b": true, "d": 1e9, "t": "1970-01-01T00:00:00Z", "nil": nil, "credential": "usgs", "tokens_left": 4.0} {
		if line[key] != want {
			t.Errorf("%s is %v, want %v", key, line[key], want)
		}
	}
	if got := fmt.Sprint(line["list"]); got != "[1 2]" {
		t.Errorf("list is %s", got)
	}
}

func TestALongTextIsCut(t *testing.T) {
	for _, n := range []int{4095, 4096, 4097, 70_000, 3 << 20} {
		got := logging.Clean(strings.Repeat("ü", n/2))
		if len(got) > 4200 || !utf8.ValidString(got) {
			t.Errorf("of %d bytes %d are written, valid: %t", n, len(got), utf8.ValidString(got))
		}
		if n > 5000 && !strings.HasSuffix(got, fmt.Sprintf("(%d bytes)", n/2*2)) {
			t.Errorf("it does not end with its length: %q", got[len(got)-30:])
		}
	}
}

type panicking struct{}

func (*panicking) Error() string { panic("no text") }

func TestValuesThatCannotBeShownEndNothing(t *testing.T) {
	var out bytes.Buffer
	log, err := logging.New(&out, logging.JSON, slog.LevelInfo)
	if err != nil {
		t.Fatal(err)
	}
	var deep any = "end"
	for range 100 {
		deep = []any{deep}
	}
	var none *panicking
	log.Info("odd", "error", none, "channel", make(chan int), "deep", deep, "url", &url.URL{Scheme: "https", User: url.UserPassword("a", secret), Host: "h"})
	if !strings.Contains(out.String(), "odd") || strings.Contains(out.String(), secret) {
		t.Errorf("%s", out.String())
	}
}

func TestAPasswordInAURLIsNeverWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		password := rapid.StringMatching(`[A-Za-z0-9%._~!$&()*+,;=:@-]{6,30}`).Draw(t, "password")
		before := rapid.SampledFrom([]string{"", "dial ", `Get "`, "error: ", "x=1 "}).Draw(t, "before")
		scheme := rapid.SampledFrom([]string{"nats", "https", "postgres", "tls", "http+unix"}).Draw(t, "scheme")
		text := before + scheme + "://user:" + password + "@host.example/path"
		if got := logging.Clean(text); strings.Contains(got, password) {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

func TestAFormatThatIsUnknownIsRefused(t *testing.T) {
	if _, err := logging.New(new(bytes.Buffer), "xml", slog.LevelInfo); err == nil || !strings.Contains(err.Error(), "json or text") {
		t.Errorf("got %v", err)
	}
}

func FuzzClean(f *testing.F) {
	for _, text := range hostile() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := logging.Clean(text)
		if len(got) > 4096+64 {
			t.Errorf("%d bytes became %d", len(text), len(got))
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("%q became %q", text, got)
		}
	})
}
