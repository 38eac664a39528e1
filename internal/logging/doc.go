// Package logging makes the logs of all processes: one line a decision, as text or JSON, from which secrets are taken out before they
// are written, whoever wrote them and however.
package logging
