package access_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/access"
)

func tokenOf(t testing.TB, seed byte) string {
	t.Helper()
	token, err := access.NewToken(bytes.NewReader(bytes.Repeat([]byte{seed}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func digestOf(t testing.TB, seed byte) access.Digest {
	t.Helper()
	digest, err := access.ParseToken(tokenOf(t, seed))
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

func TestATokenIsWrittenTheSameWayForEver(t *testing.T) {
	// A change of the form would make every token that was given out malformed.
	for seed, want := range map[byte]string{
		0:    "braid_000000000000000000000000000000000000000000028aO66",
		0xff: "braid_yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp145WK3m",
	} {
		if got := tokenOf(t, seed); got != want {
			t.Errorf("of 32 bytes %#x: %s, want %s", seed, got, want)
		}
	}
}

func TestEveryTokenIsReadAndItsDigestIsThatOfItsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		token, err := access.NewToken(bytes.NewReader(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "random")))
		if err != nil {
			t.Fatal(err)
		}
		digest, err := access.ParseToken(token)
		if want := access.Digest(sha256.Sum256([]byte(token))); err != nil || digest != want {
			t.Fatalf("%s: %v, %s", token, err, digest)
		}
		if redacted := access.Redact("/v1/" + token + "/x"); strings.Contains(redacted, token[6:]) || !strings.HasSuffix(redacted, "/x") {
			t.Fatalf("redacted it is %s", redacted)
		}
	})
}

func TestNoOtherTextIsAToken(t *testing.T) {
	token := tokenOf(t, 7)
	for name, text := range map[string]string{
		"empty": "", "only the prefix": "braid_", "cut": token[:len(token)-1], "longer": token + "0", "blank behind": token[:54] + " ", "in front": " " + token,
		"another prefix": "Braid_" + token[6:], "a hyphen": token[:20] + "-" + token[21:], "high bytes": token[:20] + "é" + token[22:], "newline": token + "\n",
	} {
		if _, err := access.ParseToken(text); !errors.Is(err, access.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if strings.Contains(access.ErrMalformed.Error(), token) {
		t.Error("the error shows the token")
	}
}

func TestOneWrongLetterIsNoticed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		token, err := access.NewToken(bytes.NewReader(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "random")))
		if err != nil {
			t.Fatal(err)
		}
		at := rapid.IntRange(len(access.TokenPrefix), len(token)-1).Draw(t, "at")
		letter := rapid.SampledFrom([]byte("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")).Draw(t, "letter")
		wrong := token[:at] + string(letter) + token[at+1:]
		if _, err := access.ParseToken(wrong); (err == nil) != (wrong == token) {
			t.Fatalf("%s for %s: %v", wrong, token, err)
		}
	})
}

func TestTooLittleChanceMakesNoToken(t *testing.T) {
	if token, err := access.NewToken(strings.NewReader("31 bytes are not enough at all.")); err == nil || token != "" {
		t.Errorf("got %q, %v", token, err)
	}
}

func TestOnlyWhatMayBeATokenIsTakenOutOfAText(t *testing.T) {
	for text, want := range map[string]string{
		"/v1/queries/q1": "/v1/queries/q1", "braid_demo": "braid_demo", "": "",
		tokenOf(t, 1) + "," + tokenOf(t, 2): "braid_REDACTED,braid_REDACTED",
		tokenOf(t, 1)[:30]:                  "braid_REDACTED",
	} {
		if got := access.Redact(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add("")
	f.Add(tokenOf(f, 3))
	f.Add(tokenOf(f, 3)[:54] + "!")
	f.Fuzz(func(t *testing.T, text string) {
		digest, err := access.ParseToken(text)
		if err == nil && (len(text) != 55 || digest != sha256.Sum256([]byte(text))) {
			t.Errorf("%q is taken", text)
		}
		if err != nil && (!errors.Is(err, access.ErrMalformed) || digest != access.Digest{}) {
			t.Errorf("%q: %v and %s", text, err, digest)
		}
	})
}
