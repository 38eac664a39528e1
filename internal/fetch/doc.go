// Package fetch speaks HTTP to the services that a definition declares. It turns one page of an item into exactly one
// request and the answer into rows or into a class of refusal; whether to try again, to wait or to split is the worker's
// to decide.
//
// Invariants:
//   - One call sends one request. Neither this package nor net/http sends a request again whose answer was lost. The one
//     exception is a redirect: up to five are followed, each to a host that the definition lists, and each is a request.
//   - A secret is sent to the hosts that the definition binds it to, under TLS or to this machine itself, and to nobody
//     else: it is added when a request is sent, looked up anew for each host, and taken out of redirects, of the cursor
//     of the next page and of every error.
//   - What a server sends is bounded: header, body after decompression, redirects, and the text that goes into errors; and so
//     are the bodies of all answers that are being read, together.
//
// A failure is a *service.ResponseError, except when the caller's context ended: then the error wraps the context's
// cause. A host name that does not exist and a certificate that is not valid are of class bad_request, because asking
// again gives the same; every other failure of the connection is transient.
package fetch
