// Package service reads service definitions and speaks their language: what a service accepts, limits, meters and
// returns. A definition turns values into the request that is sent, says what a response means, and decodes a page into
// rows in the server's exact text.
//
// The package sends nothing. It decides without a clock, a socket or an environment, so a plan made today and a page
// decoded on another machine tomorrow mean the same. Credentials are named here and resolved where requests are sent.
//
// A parsed Definition is safe for concurrent use as long as nobody rebases it.
package service
