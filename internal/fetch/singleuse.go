package fetch

import (
	"bytes"
	"io"
	"net/http"
)

// singleUse is a body that net/http does not know how to read a second time. Without it, net/http sends a GET again when
// a kept connection dies before the answer: a second request that no slot covers and no quota counts.
type singleUse struct{ io.Reader }

// Close does nothing.
func (singleUse) Close() error { return nil }

// setBody gives the request its body, also an empty one, as one that is sent once at most.
func setBody(r *http.Request, data []byte) {
	r.Body = singleUse{bytes.NewReader(data)}
	r.ContentLength = int64(len(data))
	switch {
	case len(data) > 0:
	case r.Method == http.MethodGet:
		// The length of a body that is there and empty counts as unknown. Identity keeps net/http from announcing chunks
		// of it, so that on the wire the request has no body at all.
		r.TransferEncoding = []string{"identity"}
	default:
		r.Body = http.NoBody // other methods are sent once anyway, and announce their length
	}
}
