// Package rig is what the tests of whole systems share: the binaries, built once, and processes of theirs that can be killed,
// frozen and started again. Only tests import it.
package rig
