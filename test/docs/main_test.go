// Package docs reads README.md and every page of docs/, and runs what a reader would run: each page in a shell of its own, from
// the first block to the last, against the real binaries, a simulated service and a real NATS server. A command that no
// longer works, output that is no longer said, a key that is no longer read, a link that leads nowhere and an error that no page explains
// fail here.
//
// What a page says of a block stands in an HTML comment above it, where readers do not see it:
//
//	<!-- exits 75 -->                           the block's last command ends with that code
//	<!-- stays running: 127.0.0.1:8089 -->      the block goes on beside the following ones; they begin when the address answers
//	<!-- stays running: says "ready" -->        the same; they begin when its output has the words
//	<!-- ends what runs -->                     what stays running of the page is told to end before the block begins
//	<!-- file: flow.yaml -->                    the block is the text of that file, for the following ones
//	<!-- part of: query -->                     keys of a query file, or of its where; a whole query is made of them and planned
//	<!-- not output -->                         a text block that is not what the command above it prints
//	<!-- not run: reason -->                    nobody runs it; excuses_test.go lists these
package docs

import (
	"os"
	"testing"

	"github.com/braidhq/braid/test/rig"
)

// root is the repository's, from here.
const root = "../.."

func TestMain(m *testing.M) { os.Exit(rig.Main(m)) }
