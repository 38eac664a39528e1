package dashboard

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func ask(t *testing.T, method, target string, header map[string]string) *http.Response {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, target, nil)
	for name, value := range header {
		request.Header.Set(name, value)
	}
	recorder := httptest.NewRecorder()
	New().ServeHTTP(recorder, request)
	return recorder.Result()
}

func body(t *testing.T, response *http.Response) []byte {
	t.Helper()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestEachFileIsServedWithThePolicyThatKeepsThePageToItsServer(t *testing.T) {
	for target, kind := range map[string]string{
		"/": "text/html; charset=utf-8", "/assets/style.css": "text/css; charset=utf-8", "/assets/js/main.js": "text/javascript; charset=utf-8",
		"/assets/icon.svg": "image/svg+xml", "/assets/vendor/manifest.json": "application/json", "/assets/vendor/LICENSE.uplot": "text/plain; charset=utf-8",
	} {
		response := ask(t, http.MethodGet, target, nil)
		header := response.Header
		if response.StatusCode != http.StatusOK || header.Get("Content-Type") != kind || header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: %s %v", target, response.Status, header)
		}
		policy := header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
			t.Errorf("%s: policy %q", target, policy)
		}
		if len(body(t, response)) == 0 {
			t.Errorf("%s is empty", target)
		}
	}
}

func TestWhatIsNoFileIsNotFound(t *testing.T) {
	for _, target := range []string{"/assets/", "/assets", "/assets/js", "/assets/../handler.go", "/assets/js/../../handler.go", "/index.html", "/assets//style.css", "/assets/%2e%2e/handler.go"} {
		if response := ask(t, http.MethodGet, target, nil); response.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", target, response.Status)
		}
	}
	if response := ask(t, http.MethodPost, "/", nil); response.StatusCode != http.StatusMethodNotAllowed || response.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %s %v", response.Status, response.Header)
	}
}

func TestABrowserThatHasAFileIsNotSentItAgain(t *testing.T) {
	for _, coding := range []string{"", "gzip"} {
		first := ask(t, http.MethodGet, "/assets/style.css", map[string]string{"Accept-Encoding": coding})
		etag := first.Header.Get("ETag")
		for header, want := range map[string]int{etag: 304, "W/" + etag: 304, `"other", ` + etag: 304, "*": 304, `"other"`: 200, "": 200} {
			again := ask(t, http.MethodGet, "/assets/style.css", map[string]string{"Accept-Encoding": coding, "If-None-Match": header})
			if again.StatusCode != want || want == http.StatusNotModified && len(body(t, again)) > 0 {
				t.Errorf("coding %q, If-None-Match %q: %s", coding, header, again.Status)
			}
		}
	}
	head := ask(t, http.MethodHead, "/", nil)
	if head.StatusCode != http.StatusOK || head.Header.Get("Content-Length") == "" || len(body(t, head)) > 0 {
		t.Errorf("HEAD: %s %v", head.Status, head.Header)
	}
}

func TestFilesAreCompressedForWhoTakesThat(t *testing.T) {
	plain := ask(t, http.MethodGet, "/", nil)
	page := body(t, plain)
	for accept, want := range map[string]bool{
		"gzip": true, "br, gzip;q=0.5": true, "*": true, "GZIP": true, "gzip;q=0": false, "*, gzip;q=0": false, "br": false, "": false, "gzip;q=none": false,
	} {
		response := ask(t, http.MethodGet, "/", map[string]string{"Accept-Encoding": accept})
		if zipped := response.Header.Get("Content-Encoding") == "gzip"; zipped != want {
			t.Errorf("%q: compressed %t", accept, zipped)
			continue
		}
		if !want {
			continue
		}
		if response.Header.Get("ETag") == plain.Header.Get("ETag") {
			t.Errorf("%q: two representations have one tag", accept)
		}
		r, err := gzip.NewReader(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		if data, err := io.ReadAll(r); err != nil || !bytes.Equal(data, page) {
			t.Errorf("%q: another page, %v", accept, err)
		}
	}
}

// mostBytes is what the whole page may cost a browser that has nothing of it.
const mostBytes = 200_000

func TestThePageIsSmallAndLoadsNothingFromElsewhere(t *testing.T) {
	h, total := New(), 0
	elsewhere := regexp.MustCompile(`(?i)(src|href|from|import|url)\s*[=(]?\s*["']?(https?:)?//[a-z]`)
	for name, f := range h.files {
		if strings.HasPrefix(name, "vendor/LICENSE") || name == "vendor/manifest.json" {
			continue // nobody loads them
		}
		if total += len(f.content); f.zipped != nil {
			total += len(f.zipped) - len(f.content)
		}
		if !strings.HasPrefix(name, "vendor/") && elsewhere.Match(f.content) {
			t.Errorf("%s names another server: %s", name, elsewhere.Find(f.content))
		}
		if strings.HasPrefix(name, "js/") && regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerously|\beval\(|new Function`).Match(f.content) {
			t.Errorf("%s makes markup or code of text", name)
		}
	}
	if total == 0 || total > mostBytes {
		t.Errorf("the page has %d bytes compressed, at most %d", total, mostBytes)
	}
	page := string(h.files[page].content)
	if regexp.MustCompile(`<script(>|[^>]*[^"]>[^<])|<style|style=|\son[a-z]+=`).MatchString(page) {
		t.Error("there is script or style in the page itself, which the policy forbids")
	}
	// Whatever the page names is there.
	for _, reference := range regexp.MustCompile(`"/assets/([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if h.files[reference[1]] == nil {
			t.Errorf("the page names %s, which there is not", reference[1])
		}
	}
}
