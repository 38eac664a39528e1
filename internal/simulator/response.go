package simulator

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
)

// defaultStall is how long a slow body stalls when its fault names no delay.
const defaultStall = 2 * time.Second

// response is where an endpoint writes its answer. It holds the body back when a fault of the script concerns the body.
type response struct {
	w      http.ResponseWriter
	status int   // as in Counters.ByStatus
	bytes  int64 // body bytes sent
	err    error // the first write that went wrong

	charset  string // named in the content type
	zipAsked bool
	zip      *gzip.Writer
	held     *bytes.Buffer
}

// start sends status and headers; the body follows with Write and ends with finish.
func (o *response) start(status int, contentType string) {
	o.status = status
	h := o.w.Header()
	if o.charset != "" {
		contentType += "; charset=" + o.charset
	}
	h.Set("Content-Type", contentType)
	if o.zipAsked && status == http.StatusOK {
		h.Set("Content-Encoding", "gzip")
		h.Set("Vary", "Accept-Encoding")
		// The level is known to be valid, so the error is always nil.
		o.zip, _ = gzip.NewWriterLevel(rawBody{o}, gzip.BestSpeed)
	}
	if o.held == nil {
		o.w.WriteHeader(status)
	}
}

// Write sends a piece of the body.
func (o *response) Write(p []byte) (int, error) {
	if o.zip != nil {
		return o.zip.Write(p)
	}
	return rawBody{o}.Write(p)
}

// rawBody is the body as it travels, behind any compression.
type rawBody struct{ o *response }

func (b rawBody) Write(p []byte) (int, error) {
	if b.o.held != nil {
		return b.o.held.Write(p)
	}
	return b.o.send(p)
}

func (o *response) send(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(p)
	o.bytes += int64(n)
	o.err = err
	return n, err
}

// finish ends the body and delivers what was held, the way the fault wants it.
func (o *response) finish(ctx context.Context, f Fault) severing {
	if o.zip != nil {
		if err := o.zip.Close(); err != nil && o.err == nil {
			o.err = err
		}
	}
	if o.held == nil {
		return severNot
	}
	o.w.WriteHeader(o.status)
	body := spoiled(o.held.Bytes(), f.Kind)
	half := len(body) / 2
	_, _ = o.send(body[:half]) // send keeps the error
	switch f.Kind {
	case FaultTruncated:
		o.flush()
		return severAbort
	case FaultSlowBody:
		o.flush()
		stall := f.Delay
		if stall == 0 {
			stall = defaultStall
		}
		if err := pause(ctx, stall); err != nil {
			o.err = err
			return severAbort
		}
		_, _ = o.send(body[half:])
	case FaultCharset, FaultDeclaredCharset, FaultRaggedRows, FaultDoubleHeader:
		_, _ = o.send(body[half:])
	default: // the second half is lost without a sign
	}
	return severNot
}

func (o *response) flush() {
	if o.err == nil {
		o.err = http.NewResponseController(o.w).Flush()
	}
}

// text answers with a whole small body.
func (o *response) text(status int, contentType, body string) {
	o.start(status, contentType)
	_, _ = io.WriteString(o, body) // the response keeps the error
}

// html answers like a proxy that knows nothing of the service.
func (o *response) html(status int, title string) {
	o.text(status, "text/html", "<html>\r\n<head><title>"+title+"</title></head>\r\n<body>\r\n<center><h1>"+title+
		"</h1></center>\r\n</body>\r\n</html>\r\n")
}

// json answers with value as JSON.
func (o *response) json(status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		o.err = err
		status, body = http.StatusInternalServerError, nil
	}
	o.text(status, "application/json", string(body))
}

// serviceError is an error in the words of the service behind the gateway.
func (o *response) serviceError(status int, code, description string) {
	o.json(status, map[string]string{"code": code, "description": description})
}

// gatewayError is an error in the words of the gateway.
func (o *response) gatewayError(status int, code, message string) {
	o.json(status, map[string]map[string]string{"error": {"code": code, "message": message}})
}

// acceptsGzip reads an Accept-Encoding header.
func acceptsGzip(header string) bool {
	for coding := range strings.SplitSeq(header, ",") {
		name, quality, _ := strings.Cut(coding, ";")
		if strings.TrimSpace(name) == "gzip" {
			quality = strings.ReplaceAll(quality, " ", "")
			return strings.TrimRight(quality, ".0") != "q="
		}
	}
	return false
}

// pause waits, or returns the cause why the wait ended early.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
