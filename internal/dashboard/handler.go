package dashboard

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed assets
var assets embed.FS

// policy keeps the page to its own server: even a text that got into it as markup could load and send nothing.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

const (
	root = "assets"
	page = "index.html"
)

// file is one asset as it is sent.
type file struct {
	contentType string
	content     []byte
	zipped      []byte // nil: compressing does not make it smaller
	etag        string // strong, of the content, without its quotes
}

// Handler serves the page at / and its files below /assets/. It is safe for concurrent use.
type Handler struct {
	files map[string]*file // by their names below assets
}

// New reads the embedded files.
func New() *Handler {
	h := &Handler{files: map[string]*file{}}
	err := fs.WalkDir(assets, root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := assets.ReadFile(name)
		if err != nil {
			return err
		}
		name = strings.TrimPrefix(name, root+"/")
		h.files[name] = newFile(name, content)
		return nil
	})
	if err != nil {
		panic(err) // they are in the binary: a mistake here shows in every test
	}
	return h
}

func newFile(name string, content []byte) *file {
	sum := sha256.Sum256(content)
	f := &file{contentType: contentType(name), content: content, etag: hex.EncodeToString(sum[:16])}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write(content); err != nil {
		panic(err) // memory takes all
	}
	if err := w.Close(); err != nil {
		panic(err) // likewise
	}
	if zipped.Len() < len(content) {
		f.zipped = zipped.Bytes()
	}
	return f
}

// contentType does not ask the machine's tables: they differ.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".json":
		return "application/json"
	case ".svg":
		return "image/svg+xml"
	}
	return "text/plain; charset=utf-8"
}

// ServeHTTP answers GET and HEAD.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD are possible here", http.StatusMethodNotAllowed)
		return
	}
	name, below := strings.CutPrefix(r.URL.Path, "/assets/")
	if r.URL.Path == "/" {
		name, below = page, true
	}
	f := h.files[name]
	if !below || f == nil {
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	}
	f.serve(w, r)
}

func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", f.contentType)
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	// The browser keeps the files and asks each time whether they are still the same: after an upgrade no page is of two versions.
	header.Set("Cache-Control", "no-cache")
	header.Set("Vary", "Accept-Encoding")
	content, etag := f.content, `"`+f.etag+`"`
	if f.zipped != nil && acceptsGzip(r.Header.Get("Accept-Encoding")) {
		content, etag = f.zipped, `"`+f.etag+`-gzip"`
		header.Set("Content-Encoding", "gzip")
	}
	header.Set("ETag", etag)
	if matches(r.Header.Get("If-None-Match"), etag) {
		header.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("Content-Length", strconv.Itoa(len(content)))
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(content) // the reader is gone
}

// acceptsGzip reads Accept-Encoding as RFC 9110 has it: gzip, or what stands for all, unless its weight is zero.
func acceptsGzip(header string) bool {
	all := false
	for part := range strings.SplitSeq(header, ",") {
		coding, parameters, _ := strings.Cut(part, ";")
		switch strings.ToLower(strings.TrimSpace(coding)) {
		case "gzip", "x-gzip":
			return weighs(parameters)
		case "*":
			all = weighs(parameters)
		}
	}
	return all
}

func weighs(parameters string) bool {
	name, value, ok := strings.Cut(parameters, "=")
	if !ok || !strings.EqualFold(strings.TrimSpace(name), "q") {
		return true
	}
	weight, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	return err == nil && weight > 0
}

// matches compares weakly, as RFC 9110 asks of If-None-Match.
func matches(header, etag string) bool {
	for candidate := range strings.SplitSeq(header, ",") {
		candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
		if candidate == "*" || candidate == etag {
			return true
		}
	}
	return false
}
