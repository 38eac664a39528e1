package messages

import "time"

// Request is the request that brought a page of rows, for people to cite and to check against.
type Request struct {
	Sent     time.Time     `json:"sent"` // the last of its tries, which brought the page
	Upstream time.Duration `json:"upstream_ns"`
	Status   int           `json:"status,omitempty"` // 0: the upstream speaks no HTTP
	Tries    int           `json:"tries"`            // requests sent for the page, those of attempts that are counted included
	Bytes    int64         `json:"bytes"`            // of the answer's body
	SHA256   string        `json:"sha256"`           // of the page's rows, in hex
}

func (m *Request) validate() error {
	if m == nil {
		return nil
	}
	return firstError(
		field("request.status", checkStatus(m.Status)),
		checkCount("request.tries", int64(m.Tries)),
		checkCount("request.bytes", m.Bytes),
		field("request.sha256", checkDigest(m.SHA256)),
	)
}
