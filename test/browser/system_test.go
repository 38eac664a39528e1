//go:build unix

package browser

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/target"

	"github.com/braidhq/braid/internal/simulator"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/access"
	"github.com/braidhq/braid/pkg/braid"
)

// system is the whole of Braid in this process, with a service that is simulated.
type system struct {
	*simulator.Simulator
	t   *testing.T
	all *braid.Embedded
	url string

	tokens      string // file of those that the API asks for; empty: none
	stopServing func()
}

func newSystem(t *testing.T, config simulator.Config) *system {
	t.Helper()
	if chromium == nil {
		t.Skip(errNoChromium)
	}
	t.Parallel() // most of a test is waiting
	s := &system{t: t, Simulator: simulator.New(config)}
	ctx, stop := context.WithCancel(context.Background())
	address, wait, err := s.Serve(ctx, "127.0.0.1:0")
	if err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if err := wait(); err != nil {
			t.Error(err)
		}
	})
	s.all, err = braid.OpenEmbedded(t.Context(), braid.EmbeddedConfig{
		Dir: t.TempDir(), Durability: braid.Fast, Workers: 2, LeaseTTL: 2 * time.Second, Grace: time.Second, Version: "0.6.0",
		Definitions: braid.Definitions{Base: map[string]string{"usgs-waterdata": address + simulator.WaterDataBase}},
		Getenv:      func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	running := testkit.Run(t, s.all.Run)
	t.Cleanup(func() {
		s.stopServing()
		if err := running.Stop(t); err != nil {
			t.Error(err)
		}
		if err := s.all.Close(); err != nil {
			t.Error(err)
		}
	})
	s.serve("127.0.0.1:0")
	return s
}

// serve answers until stopServing is called.
func (s *system) serve(address string) {
	s.t.Helper()
	api, err := s.all.ListenAPI(s.t.Context(), braid.APIConfig{Listen: address, Version: "0.6.0", Tokens: s.tokens})
	if err != nil {
		s.t.Fatal(err)
	}
	s.url = "http://" + api.Address()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- api.Serve(ctx) }()
	s.stopServing = sync.OnceFunc(func() {
		stop()
		if err := <-ended; err != nil {
			s.t.Error(err)
		}
	})
}

// asksForTokens serves anew, to whoever has the token that it gives.
func (s *system) asksForTokens(name string, role access.Role) (token string) {
	s.t.Helper()
	token, err := access.NewToken(rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	digest, err := access.ParseToken(token)
	if err != nil {
		s.t.Fatal(err)
	}
	roster, err := access.NewRoster([]access.Entry{{Name: name, Role: role, SHA256: digest}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.tokens = filepath.Join(s.t.TempDir(), "tokens.yaml")
	if err := os.WriteFile(s.tokens, roster.Encode(), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.stopServing()
	s.serve("127.0.0.1:0")
	return token
}

func (s *system) change(change func(*simulator.Config)) {
	s.t.Helper()
	if err := s.Update(change); err != nil {
		s.t.Fatal(err)
	}
}

// body is what the API answers.
func (s *system) body(path string) []byte {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // all of it was read
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s %v\n%.500s", path, response.Status, err, data)
	}
	return data
}

// downloads lets a tab write what it downloads into a new folder.
func (b *tab) downloads() string {
	b.t.Helper()
	dir := b.t.TempDir()
	here := call(b, "ask for the tab", target.GetTargetInfo, target.GetTargetInfoParams{})
	call(b, "allow downloads", browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, BrowserContextID: here.TargetInfo.BrowserContextID, DownloadPath: dir,
	})
	return dir
}

// file waits for a download, which the server names by the query, and by its format.
func (b *tab) file(dir, format string) []byte {
	b.t.Helper()
	var data []byte
	testkit.Until(b.t, "a "+format+" file is downloaded", func() bool {
		found, err := filepath.Glob(filepath.Join(dir, "*."+format))
		if err != nil || len(found) == 0 {
			return false
		}
		data, err = os.ReadFile(found[0])
		coming, globErr := filepath.Glob(filepath.Join(dir, "*.crdownload"))
		return err == nil && globErr == nil && len(data) > 0 && len(coming) == 0 // the name is there before what stands under it
	})
	return data
}

// is waits until the query that is shown is in a state.
func (b *tab) is(state string) {
	b.t.Helper()
	b.sees("the query is "+state, `document.querySelector("article").dataset.state === "`+state+`"`)
}

// id of the query that is shown.
func (b *tab) id() string {
	b.t.Helper()
	return evaluate[string](b, `document.querySelector("article").dataset.query`)
}

// submit submits a query file by the form, and waits for its page.
func (b *tab) submit(text string) {
	b.t.Helper()
	b.open("#/submit")
	b.paste(text)
	b.press("Submit")
	b.sees("the query's page is there", `document.querySelector("article") !== null`)
}

// paste puts a text into the form, as the clipboard does.
func (b *tab) paste(text string) {
	b.t.Helper()
	b.click("textarea")
	evaluate[bool](b, `(document.querySelector("textarea").select(), document.execCommand("insertText", false, `+quoted(text)+`))`)
}
