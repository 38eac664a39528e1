package access

import (
	"bytes"
	"fmt"
	"time"
)

// rosterFile is a roster as it is written.
type rosterFile struct {
	Schema string         `yaml:"schema,required"`
	Tokens []writtenEntry `yaml:"tokens,required"`
}

type writtenEntry struct {
	Name        string       `yaml:"name,required"`
	Team        string       `yaml:"team"`
	Role        Role         `yaml:"role,required"`
	Permissions []Permission `yaml:"permissions"`
	SHA256      Digest       `yaml:"sha256,required"`
	Expires     instant      `yaml:"expires"`
	Created     instant      `yaml:"created"`
}

// instant is a moment as RFC 3339 writes it, or a day, which begins at midnight UTC.
type instant time.Time

// UnmarshalText takes an instant.
func (i *instant) UnmarshalText(text []byte) error {
	t, err := ParseInstant(string(text))
	*i = instant(t)
	return err
}

// ParseInstant reads a moment such as 2027-01-31T12:00:00Z, or a day such as 2027-01-31, which is its midnight in UTC.
func ParseInstant(text string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil && !t.IsZero() {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%.40q is no moment; write 2027-01-31, or 2027-01-31T12:00:00Z", text)
}

// Encode writes the file of the roster. Equal rosters give equal bytes.
func (r *Roster) Encode() []byte {
	var file bytes.Buffer
	file.WriteString("# Written by braid token, which keeps no comments. It holds digests of tokens, from which no token can be told.\n")
	fmt.Fprintf(&file, "schema: %s\n", Schema)
	if len(r.entries) == 0 {
		file.WriteString("tokens: []\n")
		return file.Bytes()
	}
	file.WriteString("tokens:\n")
	for _, e := range r.entries {
		file.WriteString(e.Encode())
	}
	return file.Bytes()
}

// Encode writes the entry as it stands in the file of a roster.
func (e Entry) Encode() string {
	var text bytes.Buffer
	fmt.Fprintf(&text, "  - name: %s\n", quoted(e.Name))
	if e.Team != "" {
		fmt.Fprintf(&text, "    team: %s\n", quoted(e.Team))
	}
	fmt.Fprintf(&text, "    role: %s\n", e.Role)
	if len(e.Permissions) > 0 {
		fmt.Fprintf(&text, "    permissions: [%s]\n", quotedList(e.Permissions))
	}
	fmt.Fprintf(&text, "    sha256: %s\n", quoted(e.SHA256.String()))
	if !e.Expires.IsZero() {
		fmt.Fprintf(&text, "    expires: %s\n", quoted(e.Expires.UTC().Format(time.RFC3339Nano)))
	}
	if !e.Created.IsZero() {
		fmt.Fprintf(&text, "    created: %s\n", quoted(e.Created.UTC().Format(time.RFC3339Nano)))
	}
	return text.String()
}

// quoted writes a text that another reader of YAML might take for something else, such as null or a number.
func quoted(text string) string { return `"` + text + `"` }

func quotedList(permissions []Permission) string {
	var text bytes.Buffer
	for i, p := range permissions {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(quoted(string(p)))
	}
	return text.String()
}
