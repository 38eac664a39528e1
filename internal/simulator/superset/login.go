package superset

import (
	"crypto/hmac"
	"encoding/json"
	"fmt"
	"html"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// sessionTTL is how long a session lives.
const sessionTTL = 31 * 24 * time.Hour

// isJSON tells what the request says of its body.
func (x *exchange) isJSON() bool {
	kind, _, err := mime.ParseMediaType(x.r.Header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}

// login is POST /api/v1/security/login.
func (x *exchange) login() {
	var in struct {
		Username *string `json:"username"`
		Password *string `json:"password"`
		Provider *string `json:"provider"`
		Refresh  bool    `json:"refresh"`
	}
	if !x.isJSON() {
		x.fail(http.StatusBadRequest, message("Request payload is not JSON"))
		return
	}
	if err := json.Unmarshal(x.body, &in); err != nil {
		x.fail(http.StatusBadRequest, message("The browser (or proxy) sent a request that this server could not understand."))
		return
	}
	missing := map[string][]string{}
	for name, field := range map[string]*string{"username": in.Username, "password": in.Password, "provider": in.Provider} {
		if field == nil {
			missing[name] = []string{"Missing data for required field."}
		}
	}
	if in.Provider != nil && !slices.Contains([]string{"db", "ldap"}, *in.Provider) {
		missing["provider"] = []string{"Must be one of: db, ldap."}
	}
	if len(missing) > 0 {
		x.fail(http.StatusBadRequest, map[string]any{"message": missing})
		return
	}
	who := x.st.world.identity(*in.Username)
	if who == nil || who.Provider != *in.Provider || !hmac.Equal([]byte(who.Password), []byte(*in.Password)) {
		x.fail(http.StatusUnauthorized, message("Not authorized"))
		return
	}
	x.s.seen.note(func(s *Stats) { s.Logins[who.Username]++ })
	out := map[string]string{"access_token": x.access(who, true)}
	if in.Refresh {
		out["refresh_token"] = x.s.tokens.sign(claims{Type: refreshToken, Subject: who.ID}, who.Username, x.s.Now(), refreshTTL)
	}
	x.reply(http.StatusOK, out)
}

func (x *exchange) access(who *Identity, fresh bool) string {
	return x.s.tokens.sign(claims{Type: accessToken, Subject: who.ID, Fresh: fresh}, who.Username, x.s.Now(), x.st.config.AccessTTL)
}

// refresh is POST /api/v1/security/refresh.
func (x *exchange) refresh() {
	header := x.r.Header.Get("Authorization")
	if header == "" {
		x.refuse(anonymous())
		return
	}
	who, denied := x.bearer(header, refreshToken)
	if denied != nil {
		x.refuse(denied)
		return
	}
	x.s.seen.note(func(s *Stats) { s.Refreshes[who.Username]++ })
	x.reply(http.StatusOK, map[string]string{"access_token": x.access(who, false)})
}

// startSession sets the session's cookie, of the one that was sent if there is one. identity 0: of nobody yet.
func (x *exchange) startSession(identity int64, channel string) *claims {
	c := claims{Type: sessionToken, Subject: identity, Channel: channel}
	if old := x.session(); old != nil && (identity == 0 || identity == old.Subject) {
		c.ID = old.ID // and with it the CSRF token
		if c.Subject == 0 {
			c.Subject = old.Subject
		}
		if c.Channel == "" {
			c.Channel = old.Channel
		}
	}
	name := ""
	if who := x.st.world.identityByID(c.Subject); who != nil {
		name = who.Username
	}
	text := x.s.tokens.sign(c, name, x.s.Now(), sessionTTL)
	http.SetCookie(x, &http.Cookie{Name: "session", Value: text, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
	signed, err := x.s.tokens.read(text, x.s.Now(), x.st.callerName)
	if err != nil {
		panic(err) // it was signed a moment ago
	}
	x.fresh = signed
	return signed
}

// csrfToken is GET /api/v1/security/csrf_token/.
func (x *exchange) csrfToken() {
	if x.caller == nil {
		x.refuse(x.denied)
		return
	}
	session := x.session()
	if session == nil {
		session = x.startSession(0, "")
	}
	x.reply(http.StatusOK, map[string]string{"result": x.s.tokens.csrf(session.ID)})
}

// csrfHolds checks the token of a request that is not exempt, and answers if it does not hold.
func (x *exchange) csrfHolds(token string) bool {
	var why string
	session := x.session()
	switch {
	case token == "":
		why = "The CSRF token is missing."
	case session == nil:
		why = "The CSRF session token is missing."
	case !hmac.Equal([]byte(token), []byte(x.s.tokens.csrf(session.ID))):
		why = "The CSRF tokens do not match."
	case x.r.TLS != nil && !x.sameReferer():
		why = "The referrer does not match the host."
	default:
		return true
	}
	if x.isJSON() {
		x.fail(http.StatusBadRequest, errorsBody(genericError, "400 Bad Request: %s", why))
	} else {
		x.redirect("/login/")
	}
	return false
}

func (x *exchange) sameReferer() bool {
	referer, err := url.Parse(x.r.Referer())
	return err == nil && referer.Host == x.r.Host
}

// guestToken is POST /api/v1/security/guest_token/.
func (x *exchange) guestToken() {
	if !x.need(GrantGuestToken) || !x.csrfHolds(x.r.Header.Get("X-CSRFToken")) {
		return
	}
	var in struct {
		User      guestUser   `json:"user"`
		Resources []resource  `json:"resources"`
		Rules     []guestRule `json:"rls"`
	}
	if err := json.Unmarshal(x.body, &in); err != nil || len(in.Resources) == 0 || in.Rules == nil {
		x.fail(http.StatusBadRequest, map[string]any{"message": map[string][]string{"resources": {"Missing data for required field."}, "rls": {"Missing data for required field."}}})
		return
	}
	for _, r := range in.Resources {
		if r.Type != "dashboard" || x.st.world.embedded(r.ID) == nil {
			x.fail(http.StatusBadRequest, message("EmbeddedDashboard not found."))
			return
		}
	}
	if in.User.Username == "" {
		in.User.Username = "guest_user"
	}
	x.s.seen.note(func(s *Stats) { s.GuestTokens[x.caller.name]++ })
	c := claims{Type: guestToken, User: &in.User, Resources: in.Resources, Rules: in.Rules}
	x.reply(http.StatusOK, map[string]string{"token": x.s.tokens.sign(c, x.st.callerName(&c), x.s.Now(), x.st.config.GuestTTL)})
}

// loginPage is GET /login/.
func (x *exchange) loginPage() {
	session := x.session()
	if session == nil {
		session = x.startSession(0, "")
	}
	x.text(http.StatusOK, "text/html; charset=utf-8", fmt.Sprintf(`<!DOCTYPE html>
<html>
<head><title>Superset</title></head>
<body>
<form action="" method="post" name="login">
<input id="csrf_token" name="csrf_token" type="hidden" value="%s">
<input name="username" type="text"><input name="password" type="password"><input type="submit" value="Sign In">
</form>
</body>
</html>
`, html.EscapeString(x.s.tokens.csrf(session.ID))))
}

// loginForm is POST /login/.
func (x *exchange) loginForm() {
	form, err := url.ParseQuery(string(x.body))
	if err != nil || !x.csrfHolds(form.Get("csrf_token")) {
		return
	}
	who := x.st.world.identity(form.Get("username"))
	if who == nil || !hmac.Equal([]byte(who.Password), []byte(form.Get("password"))) {
		x.redirect("/login/")
		return
	}
	x.s.seen.note(func(s *Stats) { s.Logins[who.Username]++ })
	x.startSession(who.ID, "")
	x.redirect("/superset/welcome/")
}
