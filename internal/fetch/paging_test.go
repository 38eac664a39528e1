package fetch_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/service"
)

const linked = "{style: link, next: '$.next'}"

func TestPagesAreAskedForInTheStyleOfTheirCollection(t *testing.T) {
	for name, c := range map[string]struct {
		paging string
		want   []string
	}{
		"cursor": {"{style: cursor, next: '$.cursor', send: {after: '{}'}}", []string{"", "after=a%2Fb+c", "after=2"}},
		"offset": {"{style: offset, send: {offset: '{offset}'}, stop: empty_page}", []string{"offset=0", "offset=2", "offset=4"}},
		"page":   {"{style: page, send: {p: '{page}', n: '{page_rows}'}, stop: {pages: '$.pages'}}", []string{"p=1&n=2", "p=2&n=2", "p=3&n=2"}},
		"link":   {linked, []string{"", "n=1", "n=2"}},
	} {
		t.Run(name, func(t *testing.T) {
			var sent []string
			w := newWorld(t, map[string]http.HandlerFunc{"example.com": func(out http.ResponseWriter, r *http.Request) {
				sent = append(sent, strings.TrimSuffix(strings.TrimSuffix(r.URL.RawQuery, "key="+url.QueryEscape(topSecret)), "&"))
				last := len(sent)
				answers := []string{
					`{"items":[{"id":"1"},{"id":"2"}],"cursor":"a/b c","next":"/v1/things?n=1","pages":3}`,
					`{"items":[{"id":"3"},{"id":"4"}],"cursor":2,"next":"?n=2","pages":3}`,
					`{"items":[],"cursor":null,"pages":"3"}`,
				}
				fmt.Fprint(out, answers[last-1])
			}})
			keyed := collection(t, "keyed", linked, c.paging, "{header: X-Api-Key}", "{query: key}", "{url_bytes: 100}", "{page_rows: 2}")
			task, at := task(t, keyed), service.Walk{}
			for {
				page, err := w.client(t, keyed, topSecret).FetchPage(t.Context(), task, at) // a new one each time, as behind a crash
				if err != nil {
					t.Fatal(err)
				}
				noSecretIn(t, page.Next)
				at = service.Walk{Cursor: page.Next, Pages: at.Pages + 1, Rows: at.Rows + int64(page.Count)}
				if page.Next == "" {
					break
				}
			}
			if diff := cmp.Diff(c.want, sent); diff != "" || at.Rows != 4 {
				t.Errorf("%d rows, requests %s", at.Rows, diff)
			}
			for _, r := range w.requests() {
				if r.URL.Query().Get("key") != topSecret {
					t.Errorf("%s went without the credential", r.URL.RawQuery)
				}
			}
		})
	}
}

func TestAPageByOffsetIsAskedForInTheBodyOfAForm(t *testing.T) {
	var sent []string
	w := newWorld(t, map[string]http.HandlerFunc{"example.com": func(out http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = append(sent, r.Method+" "+r.URL.RawQuery+" "+string(body))
		fmt.Fprint(out, onePage)
	}})
	for style, body := range map[string]string{"form": "q=1", "json": `{"q":1}`} {
		paged := collection(t, "keyed", linked, "{style: offset, send: {offset: '{offset}'}, stop: empty_page}",
			"{path: /things}", "{path: /things, method: POST, body: {as: "+style+"}}")
		client := w.client(t, paged, "")
		contentType := map[string]string{"form": "application/x-www-form-urlencoded", "json": "application/json"}[style]
		task := encode(t, service.Request{Method: "POST", URL: "https://example.com/v1/things", Header: map[string]string{"Content-Type": contentType}, Body: []byte(body)})
		for _, at := range []service.Walk{{}, {Cursor: `{"offset":2}`, Pages: 1, Rows: 2}} {
			if _, err := client.FetchPage(t.Context(), task, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, want := range []string{"POST  q=1&offset=0", "POST  q=1&offset=2", `POST  {"q":1,"offset":0}`, `POST  {"q":1,"offset":2}`} {
		if !strings.Contains(strings.Join(sent, "\n"), want) {
			t.Errorf("%q was not sent; sent was %q", want, sent)
		}
	}
}

func TestACursorThatWasDamagedIsNeverSent(t *testing.T) {
	for _, paging := range []string{
		"{style: cursor, next: '$.cursor', send: {after: '{}'}}", "{style: offset, send: {offset: '{offset}'}, stop: empty_page}",
		"{style: page, send: {p: '{page}'}, stop: empty_page}", "{style: none}",
	} {
		w := newWorld(t, map[string]http.HandlerFunc{"example.com": answer(200, onePage)})
		keyed := collection(t, "keyed", linked, paging)
		for _, cursor := range []string{"https://evil.example/", `{"offset":-1}`, `{"cursor":""}`, "{", `{"page":1,"offset":1}`} {
			_, err := w.client(t, keyed, "").FetchPage(t.Context(), task(t, keyed), service.Walk{Cursor: cursor, Pages: 1})
			refusal(t, err, service.ClassCursorGone)
		}
		if n := len(w.requests()); n > 0 {
			t.Errorf("%s: %d requests were sent", paging, n)
		}
	}
}

func TestNoDataBehindTheFirstPageIsAnEndOnlyWhereTheWalkLooksForOne(t *testing.T) {
	w := newWorld(t, map[string]http.HandlerFunc{"example.com": func(out http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery == "" || r.URL.RawQuery == "offset=0" {
			answer(200, `{"items":[{"id":"1"}],"total":2,"next":"/v1/things?after=1","cursor":"1"}`)(out, r)
			return
		}
		answer(204, "")(out, r)
	}})
	for paging, ends := range map[string]bool{
		"{style: offset, send: {offset: '{offset}'}, stop: {total: '$.total'}}":                      false,
		"{style: offset, send: {offset: '{offset}'}, stop: empty_page, count: {matched: '$.total'}}": false,
		"{style: offset, send: {offset: '{offset}'}, stop: empty_page}":                              true,
		"{style: link, next: '$.next'}":                                                              false,
		"{style: cursor, next: '$.cursor', send: {after: '{}'}}":                                     false,
	} {
		keyed := collection(t, "keyed", linked, paging)
		client := w.client(t, keyed, "")
		page, err := client.FetchPage(t.Context(), task(t, keyed), service.Walk{})
		if err != nil {
			t.Fatal(err)
		}
		page, err = client.FetchPage(t.Context(), task(t, keyed), service.Walk{Cursor: page.Next, Pages: 1, Rows: 1, Claimed: page.Claimed})
		if ends {
			if err != nil || page.Next != "" || page.Count != 0 || page.Status != 204 {
				t.Errorf("%s: page %+v, %v", paging, page, err)
			}
			continue
		}
		if refused := refusal(t, err, service.ClassBadPage); refused.Status != 204 {
			t.Errorf("%s: status %d", paging, refused.Status)
		}
	}
}

func TestATableIsFetchedWithItsLinkAndItsCharset(t *testing.T) {
	w := newWorld(t, map[string]http.HandlerFunc{"example.com": func(out http.ResponseWriter, r *http.Request) {
		out.Header().Set("Content-Type", "text/csv; charset=iso-8859-1")
		out.Header().Set("Content-Encoding", "gzip")
		out.Header().Set("Link", `<http://old.example.com:8080/v1/things?page=2>; rel="next"`)
		_, _ = out.Write(zipped(t, strings.NewReader("id\n"+r.Header.Get("Accept")[:8]+"\xe9\n")))
	}})
	keyed := collection(t, "keyed", linked, "{style: link, next: 'header:Link[rel=next]'}", "{format: json, at: '$.items[*]'}", "{format: csv}")
	page, err := w.client(t, keyed, "").FetchPage(t.Context(), task(t, keyed), service.Walk{})
	if err != nil || string(page.Rows) != "{\"id\":\"text/csvé\"}\n" || page.Next != "https://example.com/v1/things?page=2" {
		t.Errorf("rows %s, next %s, %v", page.Rows, page.Next, err)
	}
}
