package access_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/access"
	"github.com/braidhq/braid/pkg/strictyaml"
)

func noon() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

func entries(t testing.TB) []access.Entry {
	t.Helper()
	return []access.Entry{
		{Name: "ana", Team: "rivers", Role: access.Submitter, SHA256: digestOf(t, 1), Created: noon()},
		{Name: "ana", Team: "rivers", Role: access.Reader, SHA256: digestOf(t, 2), Expires: noon()},
		{Name: "null", Role: access.Reader, Permissions: []access.Permission{access.LoadRun, access.QueriesRead}, SHA256: digestOf(t, 3)},
		{Name: "007", Role: access.Admin, SHA256: digestOf(t, 4)},
	}
}

func roster(t testing.TB) *access.Roster {
	t.Helper()
	r, err := access.NewRoster(entries(t))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestATokenMakesItsOwnerKnownUntilItExpires(t *testing.T) {
	r := roster(t)
	for _, c := range []struct {
		seed byte
		now  time.Time
		want string
		err  error
	}{
		{1, noon(), "ana", nil},
		{2, noon().Add(-1), "ana", nil},
		{2, noon(), "", access.ErrExpired},
		{2, noon().Add(time.Hour), "", access.ErrExpired},
		{3, noon(), "null", nil},
		{4, noon(), "007", nil},
		{9, noon(), "", access.ErrUnknown},
	} {
		p, err := r.Find(digestOf(t, c.seed), c.now)
		if !errors.Is(err, c.err) || (p != nil) != (err == nil) || p != nil && (p.Name != c.want || p.Token != digestOf(t, c.seed).ID()) {
			t.Errorf("token %d at %s: %+v, %v", c.seed, c.now, p, err)
		}
		if err != nil && !errors.Is(err, access.ErrUnauthenticated) {
			t.Errorf("token %d: %v does not wrap ErrUnauthenticated", c.seed, err)
		}
	}
	if p, err := new(access.Roster).Find(access.Digest{}, noon()); err == nil {
		t.Errorf("an empty roster knows %+v", p)
	}
}

// The comparison must not end early, and must not use what ends early. That is a property of the text of Find, as no test can
// measure nanoseconds on a machine that does other things.
func TestFindComparesEveryEntryInConstantTime(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "roster.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var loop *ast.RangeStmt
	for _, declaration := range file.Decls {
		if f, ok := declaration.(*ast.FuncDecl); ok && f.Name.Name == "Find" {
			ast.Inspect(f, func(n ast.Node) bool {
				if r, ok := n.(*ast.RangeStmt); ok {
					loop = r
				}
				return true
			})
		}
	}
	if loop == nil {
		t.Fatal("Find has no loop")
	}
	var compares bool
	ast.Inspect(loop.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BranchStmt, *ast.ReturnStmt, *ast.IfStmt, *ast.BinaryExpr:
			t.Errorf("the loop has a %T, which may end it early", n)
		case *ast.SelectorExpr:
			compares = compares || n.Sel.Name == "ConstantTimeCompare"
		}
		return true
	})
	if !compares {
		t.Error("the loop does not compare in constant time")
	}
}

func TestPermissionsAreThoseOfTheRoleAndTheGrantedOnes(t *testing.T) {
	p, err := roster(t).Find(digestOf(t, 3), noon())
	if err != nil {
		t.Fatal(err)
	}
	if want := []access.Permission{access.QueriesRead, access.LoadRun}; !slices.Equal(p.Permissions, want) {
		t.Errorf("permissions are %v, want %v", p.Permissions, want)
	}
	if err := p.Require(access.QueriesSubmit); !errors.Is(err, access.ErrForbidden) || !strings.Contains(err.Error(), "queries:submit") {
		t.Errorf("the refusal does not name the permission: %v", err)
	}
}

func TestEachRoleHoldsWhatTheWeakerOnesHold(t *testing.T) {
	var weaker []access.Permission
	for _, role := range access.Roles() {
		held := role.Permissions()
		if len(held) <= len(weaker) || !slices.Equal(held[:len(weaker)], weaker) {
			t.Errorf("%s holds %v, the role before it %v", role, held, weaker)
		}
		weaker = held
	}
	if !slices.Equal(weaker, access.Permissions()) {
		t.Errorf("the strongest role holds %v", weaker)
	}
	if access.Role("root").Permissions() != nil {
		t.Error("an unknown role holds something")
	}
}

func TestOwnershipDecidesWhatASubmitterMayChange(t *testing.T) {
	who := func(role access.Role, name, team string) *access.Principal {
		return &access.Principal{Name: name, Team: team, Role: role, Permissions: role.Permissions()}
	}
	for _, c := range []struct {
		who             *access.Principal
		of              access.Ownership
		control, remove bool
	}{
		{who(access.Reader, "ana", "rivers"), access.Ownership{Owner: "ana", Team: "rivers"}, false, false},
		{who(access.Submitter, "ana", "rivers"), access.Ownership{Owner: "ana", Team: "rivers"}, true, true},
		{who(access.Submitter, "ana", "rivers"), access.Ownership{Owner: "ben", Team: "rivers"}, true, false},
		{who(access.Submitter, "ana", "rivers"), access.Ownership{Owner: "ben", Team: "lakes"}, false, false},
		{who(access.Submitter, "ana", ""), access.Ownership{Owner: "ben", Team: ""}, false, false},
		{who(access.Submitter, "ana", ""), access.Ownership{Owner: "ana", Team: "rivers"}, true, true}, // since then she left the team
		{who(access.Submitter, "ana", "rivers"), access.Ownership{}, false, false},
		{who(access.Submitter, "ana", "rivers"), access.Ownership{Team: "rivers"}, false, false},
		{who(access.Operator, "eva", ""), access.Ownership{Owner: "ben"}, true, true},
		{who(access.Admin, "eva", ""), access.Ownership{}, true, true},
	} {
		control, remove := c.who.MayControl(c.of), c.who.MayRemove(c.of)
		if (control == nil) != c.control || (remove == nil) != c.remove {
			t.Errorf("%s %s of %q, on %+v: control %v, remove %v", c.who.Role, c.who.Name, c.who.Team, c.of, control, remove)
		}
		for _, err := range []error{control, remove} {
			if err != nil && (!errors.Is(err, access.ErrForbidden) || !strings.Contains(err.Error(), "queries:control")) {
				t.Errorf("the refusal names no permission: %v", err)
			}
		}
	}
}

func TestARosterIsReadAsItWasWritten(t *testing.T) {
	want := roster(t)
	got, err := access.DecodeRoster("tokens.yaml", want.Encode())
	if err != nil {
		t.Fatalf("%v\n%s", err, want.Encode())
	}
	if diff := cmp.Diff(want.Entries(), got.Entries()); diff != "" {
		t.Error(diff)
	}
	empty, err := access.DecodeRoster("tokens.yaml", new(access.Roster).Encode())
	if err != nil || len(empty.Entries()) != 0 {
		t.Errorf("an empty one: %v, %v", empty, err)
	}
}

func TestAnyRosterIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var written []access.Entry
		for i := range rapid.IntRange(0, 20).Draw(t, "tokens") {
			e := access.Entry{
				Name:   fmt.Sprintf("%s%d", rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9_-]{0,30}`).Draw(t, "name"), i),
				Team:   rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9_-]{0,30}`)).Draw(t, "team"),
				Role:   rapid.SampledFrom(access.Roles()).Draw(t, "role"),
				SHA256: access.Digest{byte(i + 1)},
			}
			if rapid.Bool().Draw(t, "expires") {
				e.Expires = time.Unix(0, rapid.Int64Range(1, 1<<61).Draw(t, "when")).UTC()
			}
			if n := rapid.IntRange(0, 3).Draw(t, "granted"); n > 0 {
				e.Permissions = rapid.SliceOfN(rapid.SampledFrom(access.Permissions()), n, n).Draw(t, "permissions")
			}
			written = append(written, e)
		}
		r, err := access.NewRoster(written)
		if err != nil {
			t.Skip(err) // a name that looks like a token
		}
		got, err := access.DecodeRoster("tokens.yaml", r.Encode())
		if err != nil {
			t.Fatalf("%v\n%s", err, r.Encode())
		}
		if diff := cmp.Diff(r.Entries(), got.Entries(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestWhatIsWrongInARosterIsNamedWithItsLine(t *testing.T) {
	const sum = "sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	head := "schema: access/v1\ntokens:\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"nothing":           {"", []string{"schema"}},
		"no tokens":         {"schema: access/v1\n", []string{`"tokens" is missing`}},
		"another schema":    {"schema: access/v2\ntokens: []\n", []string{":1", "access/v2", "access/v1"}},
		"unknown key":       {head + "  - {name: a, rol: admin, role: admin, " + sum + "}\n", []string{":3", "rol", "role"}},
		"no role":           {head + "  - {name: a, " + sum + "}\n", []string{":3", "role"}},
		"a role of nobody":  {head + "  - {name: a, role: root, " + sum + "}\n", []string{":3", "root", "submitter"}},
		"a permission":      {head + "  - {name: a, role: reader, permissions: [sudo], " + sum + "}\n", []string{":3", "sudo", "load:run"}},
		"no digest":         {head + "  - {name: a, role: reader}\n", []string{":3", "sha256"}},
		"a short digest":    {head + "  - {name: a, role: reader, sha256: abc}\n", []string{":3", "64"}},
		"no hexadecimals":   {head + "  - {name: a, role: reader, sha256: " + strings.Repeat("g", 64) + "}\n", []string{":3", "hexadecimal"}},
		"a digest of zeros": {head + "  - {name: a, role: reader, sha256: \"" + strings.Repeat("0", 64) + "\"}\n", []string{":3", "sha256"}},
		"a name":            {head + "  - {name: a b, role: reader, " + sum + "}\n", []string{":3", "name"}},
		"a long name":       {head + "  - {name: " + strings.Repeat("a", 65) + ", role: reader, " + sum + "}\n", []string{":3", "name"}},
		"a team":            {head + "  - {name: a, team: a/b, role: reader, " + sum + "}\n", []string{":3", "team"}},
		"a day":             {head + "  - {name: a, role: reader, expires: soon, " + sum + "}\n", []string{":3", "expires", "soon"}},
		"the same token":    {head + "  - {name: a, role: reader, " + sum + "}\n  - {name: b, role: admin, " + sum + "}\n", []string{":4", "a's"}},
		"a name in two teams": {
			head + "  - {name: a, team: x, role: reader, " + sum + "}\n  - {name: a, role: reader, sha256: \"" + strings.Repeat("1", 64) + "\"}\n",
			[]string{":4", "team"},
		},
		"the token as a name":   {head + "  - {name: " + tokenOf(t, 1) + ", role: reader, " + sum + "}\n", []string{":3", "looks like a token"}},
		"the token as a digest": {head + "  - {name: a, role: reader, sha256: " + tokenOf(t, 1) + "}\n", []string{":3", "64"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := access.DecodeRoster("tokens.yaml", []byte(c.text))
			if !errors.Is(err, strictyaml.ErrInvalid) {
				t.Fatalf("got %v", err)
			}
			for _, want := range append(c.want, "tokens.yaml") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("it does not say %q: %v", want, err)
				}
			}
			if strings.Contains(err.Error(), tokenOf(t, 1)[:20]) {
				t.Errorf("it shows a token: %v", err)
			}
		})
	}
}

func TestARosterIsBounded(t *testing.T) {
	if _, err := access.NewRoster(make([]access.Entry, access.MaxTokens+1)); err == nil {
		t.Error("too many tokens are taken")
	}
	if _, err := access.DecodeRoster("tokens.yaml", []byte("schema: access/v1\ntokens: [] #"+strings.Repeat("x", access.MaxRosterBytes))); !errors.Is(err, strictyaml.ErrInvalid) {
		t.Errorf("too large a file: %v", err)
	}
}

func FuzzDecodeRoster(f *testing.F) {
	f.Add(string(roster(f).Encode()))
	f.Add("schema: access/v1\ntokens: []\n")
	f.Add("schema: access/v1\ntokens: [{name: a, role: admin, sha256: \"\"}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := access.DecodeRoster("tokens.yaml", []byte(text))
		if err != nil {
			if !errors.Is(err, strictyaml.ErrInvalid) {
				t.Errorf("%v does not wrap ErrInvalid", err)
			}
			return
		}
		again, err := access.DecodeRoster("tokens.yaml", r.Encode())
		if err != nil || !cmp.Equal(r.Entries(), again.Entries(), cmpopts.EquateEmpty()) {
			t.Errorf("it is not read as it was written: %v\n%s", err, r.Encode())
		}
	})
}
