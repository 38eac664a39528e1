// Package testkit is what tests of several packages share: a real bus on a server of the test's own, an upstream whose
// answers are a script, and waiting for what has to happen. Only tests import it.
package testkit
