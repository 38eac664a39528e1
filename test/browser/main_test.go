//go:build unix

// Package browser drives the dashboard in a real Chromium, as people use it: what they see, press and download. Most tests run on the whole
// of Braid, embedded, with a simulated service; those of what a small system does not show by itself run on a server that answers with
// the words of pkg/messages. Each leaves screenshots, in the folder that BRAID_SCREENSHOTS names or in screenshots.
package browser

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// demanded says that a machine without Chromium is an error: CI sets it.
const demanded = "BRAID_BROWSER"

// patience is for what takes seconds even on a busy machine; a test that reaches it has found something.
const patience = 45 * time.Second

// chromium is the browser that all tests share, each in tabs of its own. It is set by TestMain alone.
var chromium context.Context

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	path, err := findChromium()
	if err != nil {
		if os.Getenv(demanded) != "" {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run() // each test says why it is skipped
	}
	dir, err := os.MkdirTemp("", "braid-browser-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }() // the browser may still be writing its profile
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(path), chromedp.UserDataDir(dir), chromedp.Flag("headless", "new"), chromedp.Flag("no-sandbox", os.Geteuid() == 0),
		chromedp.WSURLReadTimeout(time.Minute))
	allocated, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	browser, cancel := chromedp.NewContext(allocated)
	defer cancel()
	if err := chromedp.Do(browser); err != nil {
		fmt.Fprintf(os.Stderr, "start %s: %v\n", path, err)
		return 1
	}
	chromium = browser
	return m.Run()
}

var errNoChromium = errors.New("there is no Chromium: install Debian's package chromium, or set CHROMIUM to its path")

func findChromium() (string, error) {
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errNoChromium
}

// tab is one page that a person looks at.
type tab struct {
	t    *testing.T
	ctx  context.Context //nolint:containedctx // chromedp keeps a tab in its context
	base string

	opened int // pages so far: each has an address of its own, so that each is loaded anew

	mu       sync.Mutex
	troubles []string // what the page complained of: errors, and breaches of its policy
	allowed  []string
}

// newTab opens a page of 1200 by 900 CSS pixels in the light theme. The test fails when the page throws, or breaks its policy.
func newTab(t *testing.T, base string) *tab {
	t.Helper()
	if chromium == nil {
		t.Skip(errNoChromium)
	}
	ctx, cancel := chromedp.NewContext(chromium, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx, base: base}
	// The first call makes the tab, which ends with its context: that has no time limit.
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatalf("open a page: %v", err)
	}
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	call(b, "hear of troubles", cdplog.Enable, cdp.Empty{})
	b.size(1200, 900)
	b.scheme("light")
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, trouble := range b.troubles {
			t.Errorf("the page says: %s", trouble)
		}
		if t.Failed() && ctx.Err() == nil {
			b.shoot("failed-" + strings.ReplaceAll(t.Name(), "/", "-"))
		}
	})
	return b
}

// hear notes what goes wrong in the page.
func (b *tab) hear(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if thrown := e.ExceptionDetails.Exception; thrown != nil {
			text += " " + thrown.Description
		}
		b.trouble("exception: " + text)
	case *cdplog.EventEntryAdded:
		if e.Entry.Level == cdplog.EntryLevelError {
			b.trouble(fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	}
}

func (b *tab) trouble(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, allowed := range b.allowed {
		if strings.Contains(text, allowed) {
			return
		}
	}
	b.troubles = append(b.troubles, text)
}

// allow says which complaints are the test's own doing, such as of a server that it stops.
func (b *tab) allow(texts ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.allowed = append(b.allowed, texts...)
}

// do carries out actions, and says which text was on the page when they come to no end.
func (b *tab) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatalf("%s: %v\nthe page shows:\n%s", what, err, b.shown())
	}
}

// call sends a command of the protocol.
func call[P, R any](b *tab, what string, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	answer, err := chromedp.Call(ctx, command, params)
	if err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
	return answer
}

func (b *tab) shown() string {
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.innerText`))
	if err != nil {
		return err.Error()
	}
	return text[:min(len(text), 3000)]
}

func (b *tab) size(width, height int64) {
	b.t.Helper()
	call(b, "set the size", emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1})
}

func (b *tab) scheme(name string) {
	b.t.Helper()
	call(b, "set the theme", emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}

// open goes to a page of the dashboard.
func (b *tab) open(hash string) {
	b.t.Helper()
	b.do("open "+hash, chromedp.Navigate(b.base+"/?"+strconv.Itoa(b.opened)+hash))
	b.opened++
	b.sees("the page has a heading", `document.querySelector("main h1") !== null`)
}

// sees waits until an expression of JavaScript is true. It is asked from outside: the page's policy forbids to make code of texts.
func (b *tab) sees(what, expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	tick := time.NewTicker(40 * time.Millisecond)
	defer tick.Stop()
	for {
		// A page that is just being left for another answers with an error: the next has what is looked for, or has not in time.
		seen, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("(() => { try { return Boolean("+expression+") } catch { return false } })()"))
		if seen {
			return
		}
		select {
		case <-ctx.Done():
			b.t.Fatalf("it did not come to be that %s (%v)\nthe page shows:\n%s", what, err, b.shown())
		case <-tick.C:
		}
	}
}

// reads waits until the page has a text.
func (b *tab) reads(text string) {
	b.t.Helper()
	b.sees(fmt.Sprintf("the page says %q", text), fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

func (b *tab) click(selector string) {
	b.t.Helper()
	b.sees(selector+" is there", fmt.Sprintf("document.querySelector(%q) !== null", selector))
	b.do("click "+selector, chromedp.ScrollIntoView(chromedp.CSS(selector)), chromedp.Click(chromedp.CSS(selector)))
}

// press finds a button or link by its words.
func (b *tab) press(words string) {
	b.t.Helper()
	path := chromedp.Search(fmt.Sprintf(`//*[self::button or self::a or self::summary][normalize-space(.)=%q and not(@disabled)]`, words))
	b.do("press "+words, chromedp.ScrollIntoView(path), chromedp.Click(path))
}

func (b *tab) keys(text string) {
	b.t.Helper()
	b.do("type", chromedp.KeyEvent(text))
}

func evaluate[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("evaluate %s: %v", expression, err)
	}
	return v
}

// shoot leaves a screenshot of the whole page.
func (b *tab) shoot(name string) {
	b.t.Helper()
	dir := os.Getenv("BRAID_SCREENSHOTS")
	if dir == "" {
		dir = "screenshots"
	}
	whole := true
	picture := call(b, "take a screenshot", page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: &whole})
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), picture.Data, 0o644)
	}
	if err != nil {
		b.t.Errorf("screenshot %s: %v", name, err)
	}
}

// fitsPhone checks that nothing is wider than a phone, and the grid not higher, and leaves a screenshot.
func (b *tab) fitsPhone(name string) {
	b.t.Helper()
	b.size(360, 780)
	b.sees("the page is as wide as the phone", `document.documentElement.scrollWidth <= document.documentElement.clientWidth`)
	b.sees("the grid is no higher than the screen", `(document.querySelector(".grid canvas")?.offsetHeight ?? 0) <= 264`)
	b.shoot(name + "-phone")
	b.size(1200, 900)
}
