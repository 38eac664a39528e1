//go:build unix

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/conf"
	"github.com/nats-io/nkeys"
)

// operated is NATS with an operator: accounts and users are signed tokens, and a process has a credentials file.
type operated struct {
	t       *testing.T
	dir     string
	url     string
	account nkeys.KeyPair
	roles   map[string]jwt.Permissions // as deploy/nats/users.conf gives them
	scopes  map[string]nkeys.KeyPair   // that sign a role's users: the account's token holds their permissions
}

func newOperated(t *testing.T) *operated {
	t.Helper()
	o := &operated{t: t, dir: t.TempDir(), roles: deployedRoles(t)}
	operator, system := newKey(t, nkeys.CreateOperator), newKey(t, nkeys.CreateAccount)
	o.account = newKey(t, nkeys.CreateAccount)
	o.scopes = map[string]nkeys.KeyPair{}

	about := jwt.NewOperatorClaims(public(t, operator))
	about.SystemAccount = public(t, system)
	braid := jwt.NewAccountClaims(public(t, o.account))
	braid.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: jwt.NoLimit, MemoryStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit}
	for role, may := range o.roles {
		o.scopes[role] = newKey(t, nkeys.CreateAccount)
		scope := jwt.NewUserScope()
		scope.Key, scope.Role, scope.Template.Permissions = public(t, o.scopes[role]), role, may
		braid.SigningKeys.AddScopedSigner(scope)
	}
	port := freePort(t)
	config := fmt.Sprintf("listen: 127.0.0.1:%s\noperator: %s\nsystem_account: %s\nresolver: MEMORY\n", port, signed(t, about, operator), about.SystemAccount)
	config += fmt.Sprintf("resolver_preload: { %s: %s, %s: %s }\njetstream: { store_dir: %q }\n", braid.Subject, signed(t, braid, operator),
		about.SystemAccount, signed(t, jwt.NewAccountClaims(about.SystemAccount), operator), filepath.Join(o.dir, "nats"))
	(&member{t: t, dir: o.dir, name: "nats-server", args: []string{"-c", o.write("server.conf", []byte(config))}}).start()
	o.url = "nats://127.0.0.1:" + port
	return o
}

func newKey(t *testing.T, create func() (nkeys.KeyPair, error)) nkeys.KeyPair {
	t.Helper()
	key, err := create()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func public(t *testing.T, key nkeys.KeyPair) string {
	t.Helper()
	text, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func signed(t *testing.T, claims jwt.Claims, by nkeys.KeyPair) string {
	t.Helper()
	token, err := claims.Encode(by)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func (o *operated) write(name string, data []byte) string {
	o.t.Helper()
	path := filepath.Join(o.dir, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		o.t.Fatal(err)
	}
	return path
}

// scoped writes the credentials file of a new user of a role, until a time (zero: for ever). Its scope gives it the permissions.
func (o *operated) scoped(role string, until time.Time) string {
	o.t.Helper()
	user := newKey(o.t, nkeys.CreateUser)
	claims := jwt.NewUserClaims(public(o.t, user))
	claims.UserPermissionLimits = jwt.UserPermissionLimits{}
	claims.IssuerAccount = public(o.t, o.account)
	if !until.IsZero() {
		claims.Expires = until.Unix()
	}
	return o.credentials(role, user, signed(o.t, claims, o.scopes[role]))
}

// laden writes the credentials file of a new user whose own token holds all permissions of a role. They are there three times: a server takes a
// line that is a little too long when it comes in one piece.
func (o *operated) laden(role string) string {
	o.t.Helper()
	user := newKey(o.t, nkeys.CreateUser)
	claims := jwt.NewUserClaims(public(o.t, user))
	claims.Permissions = o.roles[role]
	for _, subject := range o.roles[role].Pub.Allow {
		claims.Permissions.Pub.Allow = append(claims.Permissions.Pub.Allow, "b."+subject, "c."+subject)
	}
	return o.credentials(role, user, signed(o.t, claims, o.account))
}

func (o *operated) credentials(role string, user nkeys.KeyPair, token string) string {
	o.t.Helper()
	seed, err := user.Seed()
	if err != nil {
		o.t.Fatal(err)
	}
	file, err := jwt.FormatUserConfig(token, seed)
	if err != nil {
		o.t.Fatal(err)
	}
	return o.write(role+"-"+public(o.t, user)[:8]+".creds", file)
}

// deployedRoles reads the permissions of the users in deploy/nats/users.conf.
func deployedRoles(t *testing.T) map[string]jwt.Permissions {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "deploy", "nats", "users.conf"))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`\$BRAID_([A-Z]+)_NKEY`).ReplaceAllStringFunc(string(text), func(v string) string {
		return `"` + strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(v, "$BRAID_"), "_NKEY")) + `"`
	})
	config, err := conf.Parse(named)
	if err != nil {
		t.Fatal(err)
	}
	roles := map[string]jwt.Permissions{}
	account, _ := config["accounts"].(map[string]any)["BRAID"].(map[string]any)
	for _, u := range account["users"].([]any) {
		user := u.(map[string]any)
		may := user["permissions"].(map[string]any)
		roles[user["nkey"].(string)] = jwt.Permissions{Pub: allowed(may["publish"]), Sub: allowed(may["subscribe"])}
	}
	for _, role := range []string{"coordinator", "worker", "monitor", "admin"} {
		if may := roles[role]; len(may.Pub.Allow) == 0 || len(may.Sub.Allow) == 0 {
			t.Fatalf("users.conf gives %s no permissions: %v", role, may)
		}
	}
	return roles
}

func allowed(may any) jwt.Permission {
	section, is := may.(map[string]any)
	if !is {
		return jwt.Permission{Allow: jwt.StringList{may.(string)}}
	}
	var p jwt.Permission
	for _, subject := range section["allow"].([]any) {
		p.Allow.Add(subject.(string))
	}
	return p
}

func TestNATSWithAnOperatorRunsQueriesByCredentialsFiles(t *testing.T) {
	t.Parallel()
	up := lossUpstream(t)
	want := calmTable(t, up, lossSites, lossChunks)
	o := newOperated(t)
	api := "127.0.0.1:" + freePort(t)
	lead := launch(t, o.dir, nil, "coordinator", "--nats-url", o.url, "--nats-creds", o.scoped("coordinator", time.Time{}), "--listen", api,
		"--lease-ttl", "2s", "--in-flight", "4", "--service-url", service+"="+up.base, "--log-format", "text")
	work := launch(t, o.dir, nil, "worker", "--nats-url", o.url, "--nats-creds", o.scoped("worker", time.Time{}), "--log-format", "text")
	mustBeReady(t, lead, api)
	d := newDesk(t, nil)
	d.args = []string{"--server", "http://" + api}
	d.run("run", d.queryFile("q.yaml", lossSites, lossChunks), "-o", "t.parquet").mustExit(t, 0)
	d.mustEqual("t.parquet", want)
	mustShow(t, api)
	for _, p := range []*process{lead, work} {
		if text := p.Stderr.String(); strings.Contains(strings.ToLower(text), "permi") {
			t.Errorf("%s was not permitted something:\n%s", p.Name, tail(text))
		}
	}

	stranger := newOperated(t) // another operator's user
	none := filepath.Join(o.dir, "none.creds")
	for name, c := range map[string]struct{ file, says string }{
		"no file":                  {none, none},
		"no credentials":           {o.write("empty.creds", []byte("nothing\n")), "--nats-creds"},
		"a user of another server": {stranger.scoped("worker", time.Time{}), "--nats-creds"},
		"a user whose time is up":  {o.scoped("worker", time.Now().Add(-time.Minute)), "--nats-creds"},
		"a token that is too long": {o.laden("coordinator"), "scoped signing key"},
		"a user of another role":   {o.scoped("monitor", time.Time{}), "does not permit"},
	} {
		ended := launch(t, o.dir, nil, "worker", "--nats-url", o.url, "--nats-creds", c.file, "--nats-wait", "0s").wait(limit)
		if ended.code != 1 || !strings.Contains(ended.stderr, c.says) || strings.Contains(ended.stderr, "SU") && strings.Contains(ended.stderr, "SEED") {
			t.Errorf("%s: exit %d, %s; want 1 and %q", name, ended.code, ended.stderr, c.says)
		}
	}
}
