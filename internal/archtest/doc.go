// Package archtest holds the tests that keep the house in order: which package may import which, what pure packages and
// engines may reach, what no package may hold, how long files and functions may grow, and that the deployment files fit
// the program. It has no code of its own and nobody imports it.
//
// The rules are data in rules_test.go. A new package needs a line there, and a line whose package is gone must go too; a
// rule is changed for a reason that a reviewer accepts, never to make a build pass.
//
// The tests read every Go file and go.mod themselves, also where they ask the go command: what a child process reads is
// invisible to the test cache, which would then repeat an old pass after a bad import.
package archtest
