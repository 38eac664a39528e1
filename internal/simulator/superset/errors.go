package superset

import (
	"fmt"
	"net/http"
)

// message is the body of errors of the API's layer.
func message(format string, args ...any) map[string]string {
	return map[string]string{"message": fmt.Sprintf(format, args...)}
}

// msg is the body of errors of the layer that reads tokens.
func msg(text string) map[string]string { return map[string]string{"msg": text} }

// fault is an element of a body with errors.
type supersetError struct {
	Message string         `json:"message"`
	Type    string         `json:"error_type"`
	Level   string         `json:"level"`
	Extra   map[string]any `json:"extra,omitempty"`
}

// errorsBody is the body of errors that reach the application's handler.
func errorsBody(kind, format string, args ...any) map[string][]supersetError {
	return map[string][]supersetError{"errors": {{
		Message: fmt.Sprintf(format, args...), Type: kind, Level: "error",
		Extra: map[string]any{"issue_codes": []map[string]any{{"code": 1011, "message": "Issue 1011 - Superset encountered an unexpected error."}}},
	}}}
}

const genericError = "GENERIC_BACKEND_ERROR"

// faithful is the body that comes with a status (the table of errors). text replaces the usual words.
func (x *exchange) faithful(status int, text string, html bool) {
	if text == "" {
		text = usualWords(status)
	}
	if html || status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout {
		x.text(status, "text/html; charset=utf-8", fmt.Sprintf("<html>\n<head><title>%[1]d %[2]s</title></head>\n<body>\n<center><h1>%[1]d %[2]s</h1></center>\n"+
			"<hr><center>nginx</center>\n</body>\n</html>\n", status, http.StatusText(status)))
		return
	}
	switch {
	case status == http.StatusUnprocessableEntity:
		x.fail(status, msg(text))
	case status == http.StatusForbidden && x.st.config.Profile != Dev:
		x.fail(status, errorsBody("DATASOURCE_SECURITY_ACCESS_ERROR", "%s", text))
	case status == http.StatusTooManyRequests:
		x.fail(status, map[string][]supersetError{"errors": {{Message: text, Type: genericError, Level: "error"}}})
	case status == http.StatusRequestTimeout || status >= http.StatusInternalServerError:
		x.fail(status, errorsBody(genericError, "%s", text))
	default:
		x.fail(status, message("%s", text))
	}
}

func usualWords(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "Error: canceling statement due to statement timeout"
	case http.StatusUnauthorized:
		return "Not authorized"
	case http.StatusForbidden:
		return "Forbidden"
	case http.StatusNotFound:
		return "Not found"
	case http.StatusUnprocessableEntity:
		return "Not enough segments"
	case http.StatusTooManyRequests:
		return "429 Too Many Requests: 50 per 1 second"
	case http.StatusInternalServerError:
		return "Fatal error"
	default:
		return http.StatusText(status)
	}
}
