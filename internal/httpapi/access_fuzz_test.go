package httpapi_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braidhq/braid/internal/httpapi"
)

// Whatever stands in the header, only the token that is known is let in, nothing breaks, and nothing of it comes back.
func FuzzAuthorization(f *testing.F) {
	file := filepath.Join(f.TempDir(), "tokens.yaml")
	writeTokens(f, file, people(f)...)
	who, err := httpapi.OpenAccess(httpapi.AccessConfig{Tokens: file})
	if err != nil {
		f.Fatal(err)
	}
	handler := (&desk{}).handler(httpapi.Config{Access: who})
	good := tokenOf(f, readerSeed)
	for _, value := range []string{"", "Bearer " + good, "bearer  " + good, "Bearer " + good[:54], "Basic x", "Bearer\x00" + good, good, "Bearer " + good + ","} {
		f.Add(value, "")
		f.Add("", "braid_session="+value)
	}
	f.Fuzz(func(t *testing.T, header, cookie string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/v1/whoami", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header["Authorization"] = []string{header}
		if header == "" {
			delete(request.Header, "Authorization")
			request.Header["Cookie"] = []string{cookie}
		}
		answer := newAnswer()
		handler.ServeHTTP(answer, request)
		scheme, token, _ := strings.Cut(header, " ")
		let := answer.status == 0 || answer.status == http.StatusOK
		if want := strings.EqualFold(scheme, "Bearer") && strings.Trim(token, " ") == good && len(header) <= 512; let != want || !let && answer.status != http.StatusUnauthorized {
			t.Errorf("%q and %q are answered by %d", header, cookie, answer.status)
		}
		if strings.Contains(answer.body.String(), good[:20]) {
			t.Errorf("the token comes back: %s", &answer.body)
		}
	})
}
