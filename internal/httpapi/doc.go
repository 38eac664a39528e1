// Package httpapi serves Braid's HTTP API: queries and their results, plans, health, the OpenAPI description and a page
// that shows it. It translates between HTTP and the ports in ports.go and decides nothing itself.
//
// Every error is a problem document (RFC 9457) whose type names its kind; see package contract, which the client shares. A
// table is streamed; when its writing fails under way the connection is cut, so that no reader takes a part for the whole.
//
// This version has no authentication. It therefore listens on loopback alone, unless it is told that something in front
// of it authenticates; it refuses requests that a browser sends from pages of another origin, and requests for a host
// name that is not loopback's own, as DNS rebinding would send them.
package httpapi
