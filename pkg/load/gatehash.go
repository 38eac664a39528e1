package load

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/braidhq/braid/pkg/jcs"
)

// GateHash is what an approval is bound to: the SHA-256 of the inputs' canonical form (LR-10.3). A text that is not UTF-8 and a number beyond
// 2^53 − 1 are errors.
func GateHash(g GateInputs) (string, error) {
	for _, text := range []string{g.Profile, g.Environment, g.Fingerprint} {
		if !utf8.ValidString(text) { // it would be replaced, and two gates have one hash
			return "", fmt.Errorf("hash gate: %.60q is not UTF-8", text)
		}
	}
	text, err := json.Marshal(g)
	if err != nil {
		return "", fmt.Errorf("hash gate: %w", err)
	}
	hash, err := jcs.Hash(text)
	if err != nil {
		return "", fmt.Errorf("hash gate: %w", err)
	}
	return hash, nil
}
